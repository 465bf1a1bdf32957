"""`local` and `density` as solvers: seeds, options, progress, and known optima."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from engine.errors import ConfigError, PlanError
from engine.plan.check import check
from engine.plan.model import Plan, Stay
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program, Region
from engine.solvers import Budget, solve
from engine.solvers.local import search, solver
from engine.solvers.local.arrays import encode
from engine.solvers.local.recreate import objective
from engine.solvers.local.search import Run
from engine.solvers.local.state import MOVES
from engine.solvers.rounded import Rounding
from tests.chosen import chosen
from tests.plan.cases import HARDWARE, Buffer, plan_of, program_of
from tests.strategies import draw_plan, random_program
from tests.synthetic import idle_touches

TEACHING = [e.name for e in library.index() if e.best_solver == "exhaustive"]
"""Programs whose optimum over all games is known."""


@pytest.fixture(scope="module")
def program() -> Program:
    return random_program(5, 60)


def moved(program: Program, seed: int, moves: int, start: Plan | None = None) -> Plan:
    """The plan after so many moves, whatever time they take."""
    options: dict[str, object] = {"moves": moves}
    if start is not None:
        options["start"] = start
    return solve("local", program, Budget(600.0, seed, options=options))


def test_seed_and_moves_decide(program: Program) -> None:
    assert moved(program, 1, 50) == moved(program, 1, 50)
    assert moved(program, 1, 50) != moved(program, 2, 50)


def test_a_search_that_stands_still_begins_anew_and_the_best_run_counts(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[int, float]] = []
    heats: list[float] = []

    class Still(Run):
        """Finds nothing, but for the third, which finds all that the greedy finds."""

        def __init__(self, program: Program, seed: int, **options: Any) -> None:
            super().__init__(program, seed, **options)
            self.seed = seed

        def make_moves(self, most: int) -> None:
            self.state.counts[MOVES] = most
            if most > 100 and (not begun or begun[-1][0] != self.seed):
                if len(begun) == 2:
                    self.build(lambda: True)
                begun.append((self.seed, self.best_s))
                heats.append(self._schedule.hot / search.Schedule().hot)

    def half_built(self: Rounding, goes_on: object) -> Iterator[Run]:
        run = Still(program, 7)
        run.build(lambda: False)
        yield run

    ticks = count()
    monkeypatch.setattr(solver, "Run", Still)
    monkeypatch.setattr(Rounding, "by_rules", half_built)
    monkeypatch.setattr(solver, "QUICK_TOUCHES_PER_S", {})
    monkeypatch.setattr(search, "GROUPS_AT_ONCE", 2)
    monkeypatch.setattr(search, "STALE_MOVES_PER_GROUP", 10)
    plan = solver.search_locally(program, Budget(1.0, seed=7), lambda: next(ticks) / 200)
    seeds, found_s = zip(*begun, strict=True)
    assert len(seeds) > 3 and list(seeds) == [7 + solver.SEEDS * n for n in range(len(seeds))]
    # The first begins from what there is, the fourth from that again, the others from nothing.
    assert found_s[2] < found_s[0] == found_s[3] < found_s[1]
    assert heats[:4] == pytest.approx([1.0, 10.0, 100.0, 1.0])
    assert simulate(program, plan).latency_s == pytest.approx(found_s[2], rel=1e-3)


@pytest.mark.parametrize(("touches_per_s", "least", "most"), [(1e-9, 0.9, 0.95), (1e9, 1.0, 1.05)])
def test_it_leaves_the_time_that_its_end_takes(
    program: Program,
    monkeypatch: pytest.MonkeyPatch,
    touches_per_s: float,
    least: float,
    most: float,
) -> None:
    ticks = count()
    monkeypatch.setattr(solver, "END_TOUCHES_PER_S", touches_per_s)
    solver.search_locally(program, Budget(1.0), lambda: next(ticks) / 1000)
    assert least <= next(ticks) / 1000 <= most


def test_it_is_never_behind_what_it_begins_from(program: Program) -> None:
    for seconds in (0.0, 0.05):
        plan = solve("local", program, Budget(seconds))
        quick = simulate(program, next(Rounding(program, 0).by_rules()).plan({})).latency_s
        assert simulate(program, plan).latency_s <= quick * (1 + 1e-9)


@pytest.mark.parametrize("name", chosen(TEACHING))
def test_it_finds_at_least_the_optimum_of_all_games(name: str) -> None:
    program = library.load_sample(name)
    latency = simulate(program, moved(program, 0, 2000)).latency_s
    assert latency <= library.find_sample(name).best_s * (1 + 1e-6)


@pytest.mark.parametrize("touches", ["w0 r1 r2", "r1 r2"])
def test_a_shorter_stay_is_found_where_a_longer_one_pays_too(touches: str) -> None:
    """Fast all the time the group saves something; copied in for the last read it saves most.

    The write takes longer into fast memory. Where there is none, no time hides the copy for the
    first read.
    """
    saving_s = {(0, True): -200.0, (1, False): 10.0, (2, False): 256.0}
    plain = program_of(
        [Buffer(256, touches, is_input="w" not in touches)],
        3,
        fast_s=[220.0, 700.0, 20.0],
        hardware=replace(HARDWARE, max_cross_program_prefetches=0),
    )
    accesses = [replace(a, saving_s=saving_s[a.time, a.is_write]) for a in plain.accesses]
    program = replace(plain, accesses=tuple(accesses))
    best = moved(program, 0, 300)
    assert simulate(program, best).latency_s == program.all_slow_s - 256.0


def test_some_stays_go_on_over_touches_that_save_nothing() -> None:
    program, least_s = idle_touches()
    runs = [Run(program, seed) for seed in range(40)]
    for run in runs:
        search.serve_runs(*run.handles, np.array([[0, 0]]))
    found_s = [objective(run.state) for run in runs]
    assert min(found_s) == pytest.approx(least_s)
    assert max(found_s) == pytest.approx(program.all_slow_s)


def test_moves_improve_on_the_greedy_start() -> None:
    program = random_program(10, 120)
    greedy = simulate(program, solve("density", program, Budget(1.0, 0))).latency_s
    assert simulate(program, moved(program, 0, 0)).latency_s == greedy
    assert simulate(program, moved(program, 0, 200)).latency_s < greedy


def test_it_begins_from_a_plan(program: Program) -> None:
    good = moved(program, 3, 100)
    begun = moved(program, 0, 0, good)
    assert simulate(program, begun).latency_s <= simulate(program, good).latency_s * (1 + 1e-9)


def test_any_valid_plan_will_do_to_begin_from(program: Program) -> None:
    for seed in range(20):
        start = draw_plan(random.Random(seed), program)
        assert check(program, moved(program, 0, 5, start)) is None


def test_a_stay_that_the_search_cannot_say_is_left_out() -> None:
    """Its copy runs in the loop at whose start the stay begins, which outlasts the loop."""
    loop = Region("body", 0, 7, 5.0)
    one = program_of([Buffer(256, "r0 r8", is_input=True)], regions=[loop])
    start = plan_of(one, "0@0 0@8", [(0, 0, 0, 9)], [(0, "in", 0, 0)])
    assert check(one, start) is None
    run = Run(one, 0)
    run.load(start)
    assert check(one, run.plan({})) is None


def test_a_plan_that_can_be_taken_up_in_part_counts_whole() -> None:
    """A slow touch between two fast ones of its stay cannot be said."""
    hardware = replace(HARDWARE, max_cross_program_prefetches=0)
    buffers = [Buffer(1024, "r1 r2 r3 r4", is_input=True)]
    one = program_of(buffers, 5, fast_s=[2000.0, 0, 0, 0, 0], hardware=hardware)
    slow = (replace(a, saving_s=0.0, must_be_slow=True) if a.time == 2 else a for a in one.accesses)
    one = replace(one, accesses=tuple(slow))
    start = plan_of(one, "0@1 0@3 0@4", [(0, 0, 0, 5)], [(0, "in", 0, 1)])
    assert check(one, start) is None
    for moves in (0, 50):
        found = moved(one, 0, moves, start)
        assert simulate(one, found).latency_s <= simulate(one, start).latency_s


def test_a_broken_plan_to_begin_from_is_refused(program: Program) -> None:
    plan = solve("density", program)
    broken = replace(plan, stays=(*plan.stays, Stay(0, -1, 0, 1)))
    with pytest.raises(PlanError, match="begin from breaks the rule capacity"):
        moved(program, 0, 1, broken)


def test_an_unknown_option_is_refused(program: Program) -> None:
    with pytest.raises(ConfigError, match="no option 'movs'; near it: moves"):
        solve("local", program, Budget(1.0, options={"movs": 3}))


def test_fewer_moves_than_none_are_refused(program: Program) -> None:
    with pytest.raises(ConfigError, match="local: -5 moves; name 0 or more"):
        moved(program, 0, -5)


def test_a_number_of_moves_is_made_whatever_the_clock_says_and_told_of(program: Program) -> None:
    told: list[tuple[float, str]] = []
    budget = Budget(0.0, 1, lambda *word: not told.append(word), options={"moves": 50})
    assert solve("local", program, budget).notes["moves"] == 50
    shares = [share for share, _ in told]
    assert shares == sorted(shares) and 0.0 < max(shares) <= 1.0
    assert told[-1] == (1.0, "50 moves")
    told.clear()
    no_moves = replace(budget, options={"moves": 0})
    assert solve("local", program, no_moves).notes["moves"] == 0
    assert told[-1] == (1.0, "0 moves")


def test_density_tells_how_many_groups_it_has_served_and_can_be_ended() -> None:
    program, told = random_program(3, 60), list[tuple[float, str]]()
    plan = solve("density", program, Budget(progress=lambda *word: not told.append(word)))
    assert [share for share, _ in told] == sorted({share for share, _ in told})
    assert len(told) > 2 and told[-1][0] == 1.0
    told.clear()
    ended = solve("density", program, Budget(progress=lambda *word: bool(told.append(word))))
    assert len(told) == 1
    assert len(ended.stays) < len(plan.stays)


def test_progress_tells_and_cancels(program: Program) -> None:
    told: list[tuple[float, str]] = []

    def stop_after_three(share: float, message: str) -> bool:
        told.append((share, message))
        return sum("moves" in words for _, words in told) < 3

    plan = solve("local", program, Budget(600.0, 0, stop_after_three))
    assert check(program, plan) is None
    assert sum("moves" in words for _, words in told) <= 4
    assert all(0.0 <= share <= 1.0 for share, _ in told)


def test_a_touch_that_must_be_slow_is_served_by_no_stay(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = encode(program)
    greedy = solve("density", program)
    served = [i for i, a in enumerate(facts.touch_index) if _is_fast(program, greedy, int(a))]
    facts.may_be_fast[served] = False
    monkeypatch.setattr("engine.solvers.local.search.encode", lambda _: facts)
    plan = moved(program, 0, 200)
    assert served
    assert not any(_is_fast(program, plan, int(facts.touch_index[i])) for i in served)


def _is_fast(program: Program, plan: Plan, touch: int) -> bool:
    return plan.is_fast[program.touches[touch].accesses[0]]


def test_what_is_told_is_of_all_beginnings_however_they_take_turns(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, float]] = []

    def listen(share: float, message: str) -> bool:
        del share
        found = re.match(r"([\d,]+) moves, ([\d,.]+) us", message)
        assert found is not None
        moves, best = (text.replace(",", "") for text in found.groups())
        told.append((int(moves), float(best)))
        return len(told) < 100

    monkeypatch.setattr(solver, "TRIAL_MOVES", 20)
    solve("local", program, Budget(600.0, 0, listen))
    assert len({moves for moves, _ in told}) > 3
    assert [moves for moves, _ in told] == sorted(moves for moves, _ in told)
    assert [best for _, best in told] == sorted((best for _, best in told), reverse=True)
