"""The moves of `local` on random programs: valid plans, exact times, and undo to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program, Region
from engine.solvers.local.arrays import Ints
from engine.solvers.local.plans import key_of, place_stays, present_stays, spans_of, to_plan
from engine.solvers.local.recreate import objective, serve_group
from engine.solvers.local.ruin import ruin
from engine.solvers.local.search import Run
from engine.solvers.local.state import (
    COMPUTE_S,
    COPIES,
    GROUP,
    NUM_STAYS,
    STALL_S,
    START,
    State,
    set_mark,
)
from engine.solvers.local.stays import undo
from engine.solvers.local.timeline import settle, under_way
from tests.plan.cases import HARDWARE, Buffer, program_of
from tests.strategies import programs, random_program, with_empty_input

MOVES = 8


def simulated_s(state: State) -> float:
    """The latency that the search believes in."""
    return float(state.sums[COMPUTE_S] + state.sums[STALL_S])


def present_plan(program: Program, run: Run) -> tuple[Plan, bool]:
    """The plan of the present stays, and whether all of them found places.

    Where a stay found none it is given one that is taken: times do not depend on places.
    """
    stays = present_stays(run.state)
    places = place_stays(run.facts, stays, {})
    everywhere = {key_of(stay): places.get(key_of(stay), 0) for stay in stays}
    return to_plan(program, run.facts, stays, everywhere, {}), len(places) == len(stays)


def assert_is_exact(program: Program, run: Run) -> None:
    """The slots have room for the present stays, and the simulator agrees about their times.

    If they find places the checker takes them as a plan.
    """
    plan, is_placed = present_plan(program, run)
    if is_placed:
        assert check(program, plan) is None
    assert (run.state.free == room_left(run)).all()
    assert (run.state.free >= 0).all()
    result = simulate(program, plan)
    assert simulated_s(run.state) == pytest.approx(result.latency_s, rel=1e-9, abs=1e-15)
    stalls = [*result.timeline.stall_before_s, result.end_stall_s]
    assert run.state.stall_s == pytest.approx(np.array(stalls), rel=1e-6, abs=1e-12)


def room_left(run: Run) -> Ints:
    """Granules that are left in each slot, counted anew."""
    left = run.facts.capacity - run.facts.reserved
    for stay in present_stays(run.state):
        for start, end in spans_of(run.facts, stay):
            left[max(start, 0) : end] -= run.facts.size[stay[GROUP]]
    return left


def picture(state: State) -> tuple[object, ...]:
    """All that a move can change: stays, their copies under way, times."""
    rows = state.listed[: state.counts[NUM_STAYS]]
    stays = sorted(tuple(int(x) for x in state.stay[row][:12]) for row in rows)
    times = (state.duration_s, state.idle_s, state.used_s, state.stall_s, state.sums)
    under_way = [
        tuple(zip(state.pending[t, :num], state.left_s[t, :num], strict=True))
        for t, num in enumerate(state.num_pending)
    ]
    held = tuple(state.bucket.ravel()), tuple(state.free)
    return stays, [tuple(column) for column in times], under_way, held


@pytest.mark.parametrize("touches", ["w3 w6 r8", "w1 w3 r8", "w1 w3 r6 r8", "w1 r3 w6 r8"])
def test_a_stay_does_not_last_past_a_branch_where_another_may_run(touches: str) -> None:
    """The other buffer leaves room before, in or after one of the branches only."""
    branches = [
        Region("if[0]", 2, 5, 0.5, kind="branch"),
        Region("if[1]", 5, 7, 0.5, kind="branch"),
    ]
    for first, last in [(0, 1), (1, 2), (2, 4), (5, 6), (6, 8), (7, 8)]:
        buffers = [Buffer(768, touches), Buffer(1024, f"w{first} r{last}")]
        program = program_of(buffers, regions=branches)
        for seed in range(3):
            run = Run(program, seed)
            run.build(lambda: True)
            run.make_moves(20)
            run.settle_on_best()
            assert check(program, run.plan({})) is None


def test_the_place_of_an_empty_input_that_is_brought_back_is_held_in_a_slot() -> None:
    """Though the copy of nothing takes none."""
    program = with_empty_input(program_of([Buffer(256, "r1 r2", is_input=True)], fast_s=1.0))
    run = Run(program, 0)
    run.build(lambda: True)
    assert_is_exact(program, run)
    (stay,) = present_stays(run.state)
    assert spans_of(run.facts, stay) == ((-1, 3), (9, 10))


@settings(deadline=None)
@given(programs(40), st.integers(0, 2**20))
def test_after_every_move_the_plan_is_valid_and_its_times_are_the_simulators(
    program: Program, seed: int
) -> None:
    run = Run(program, seed)
    run.build(lambda: True)
    assert_is_exact(program, run)
    for most in range(1, MOVES + 1):
        run.make_moves(most)
        assert_is_exact(program, run)
    run.settle_on_best()
    plan = run.plan({})
    assert check(program, plan) is None
    assert simulated_s(run.state) == pytest.approx(simulate(program, plan).latency_s, rel=1e-9)


@settings(deadline=None)
@given(programs(40), st.integers(0, 2**20))
def test_undo_brings_back_every_number(program: Program, seed: int) -> None:
    run = Run(program, seed)
    run.build(lambda: True)
    facts, state = run.handles
    if not run.num_groups:
        return
    for _ in range(MOVES):
        before = picture(run.state)
        set_mark(state, 0)
        ruin(facts, state)
        assert settle(facts, state)
        assert_is_exact(program, run)
        for group in range(run.num_groups):
            serve_group(facts, state, group)
        assert_is_exact(program, run)
        undo(facts, state, 0)
        assert picture(run.state) == before
        run.make_moves(run.moves + 1)


def test_a_copy_whose_number_is_used_again_is_not_taken_for_the_one_before() -> None:
    """It is served in another order, so what is remembered of slots after its start is stale."""
    run = Run(random_program(3, 30), 0)
    run.build(lambda: True)
    state = run.handles[1]
    before = under_way(state, 2)
    assert before % COPIES == 2
    for times in (state.copy_end, state.copy_start):
        times[2] += 1
        assert under_way(state, 2) != before
        assert under_way(state, 2) % COPIES == 2
        times[2] -= 1
    assert under_way(state, 2) == before


@settings(deadline=None)
@given(programs(40), st.integers(0, 2**20))
def test_moves_never_lose_the_best(program: Program, seed: int) -> None:
    """Nor one that has places, though what the slots have room for may find none."""
    run = Run(program, seed)
    run.build(lambda: True)
    run.confirm()
    placed_s = best_s = run.best_s
    for most in range(1, MOVES + 1):
        run.make_moves(most)
        assert run.best_s <= best_s
        best_s = run.best_s
    run.settle_on_best()
    assert best_s * (1 - 1e-9) <= objective(run.state) <= placed_s * (1 + 1e-9)
    assert objective(run.state) == pytest.approx(run.best_s, rel=1e-9)


@settings(deadline=None)
@given(programs(40), st.integers(0, 2**20))
def test_a_plan_is_taken_up_as_it_is(program: Program, seed: int) -> None:
    run = Run(program, seed)
    run.build(lambda: True)
    plan = run.plan({})
    again = Run(program, seed + 1)
    again.load(plan)
    assert again.plan({}) == plan
    assert simulated_s(again.state) == pytest.approx(simulated_s(run.state), rel=1e-9)


def test_a_copy_may_begin_as_soon_as_there_is_room_for_it() -> None:
    """The slots that it may have are less than a third of its work."""
    filling = Buffer(512, "w0 r1 r2 r3 r4 r5 r6")
    late = Buffer(1024, "r9", is_input=True)
    program = program_of(
        [filling, late],
        fast_s=[1000.0] * 7 + [150.0] * 3,
        hardware=replace(HARDWARE, max_cross_program_prefetches=0),
    )
    run, starts = Run(program, 0), set[int]()
    set_mark(run.state, 0)
    for _ in range(50):
        for group in (0, 1):
            serve_group(run.facts, run.state, group)
        starts |= {int(stay[START]) for stay in present_stays(run.state) if stay[GROUP] == 1}
        undo(run.facts, run.state, 0)
    assert 7 in starts


@pytest.mark.parametrize("seed", range(3))
def test_a_stay_may_be_around_one_loop_and_inside_another(seed: int) -> None:
    """Slot 0 has no room, so that it cannot be around all three; in the inner two it is costly."""
    program = program_of(
        [Buffer(256, "r3 r4", is_input=True)],
        slots=8,
        regions=[
            Region("outer", 1, 7, 2.0),
            Region("middle", 2, 6, 16.0, parent=0),
            Region("inner", 3, 5, 128.0, parent=1),
        ],
        reserved={0: 1280},
        fast_s=10.0,
    )
    run = Run(program, seed)
    run.build(lambda: True)
    run.make_moves(100)
    run.settle_on_best()
    assert [(copy.start, copy.deadline) for copy in run.plan({}).copies] == [(1, 2)]
