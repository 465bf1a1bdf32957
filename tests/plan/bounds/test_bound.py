"""The lower bound: below every valid plan, equal to known optima, safe against the LP solver."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import UsageError
from engine.game.reference.game import ReferenceGame
from engine.plan.bounds import Bound, linear, lower_bound
from engine.plan.bounds.bound import METHODS, _relaxed, formulate
from engine.plan.bounds.branching import Branching
from engine.plan.bounds.linear import LinearProgram
from engine.plan.bounds.shared_rows import idle_envelope
from engine.plan.check import check
from engine.plan.model import Copy, Plan, Stay
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.io import content_hash
from engine.program.model import Program, Region
from engine.program.provenance import FASTEST_COMPILE
from engine.program.teaching import HARDWARE, LESSONS, MICROSECOND, Draft, Lesson
from tests.chosen import seeds
from tests.game.tiny_programs import Buffer
from tests.game.tiny_programs import program_of as program_of_buffers
from tests.plan import cases
from tests.plan.bounds.changes import walk
from tests.plan.bounds.every_plan import optimum_s, tiny_program
from tests.strategies import programs, random_program
from tests.synthetic import lines_run, shared

SLACK = 1 + 1e-9
"""Relative room for the rounding of the simulator's sums."""

ONE_KEPT = replace(HARDWARE, max_cross_program_prefetches=1)


def built(draft: Draft) -> Program:
    return draft.program("test", "", "")


def microseconds(program: Program) -> float:
    return lower_bound(program).bound_s / MICROSECOND


def play(program: Program, chance: random.Random) -> Plan:
    game = ReferenceGame(program)
    while not game.is_over:
        game.step(chance.choice(game.legal_actions()))
    return game.plan("random play")


# Below every valid plan


@settings(max_examples=60)
@given(program=programs(12), seed=st.integers(0, 2**32))
def test_no_game_beats_the_bound(program: Program, seed: int) -> None:
    plan = play(program, random.Random(seed))
    assert check(program, plan) is None
    latency_s = simulate(program, plan).latency_s
    assert lower_bound(program).bound_s <= latency_s * SLACK
    assert lower_bound(program, 20.0, "mip").bound_s <= latency_s * SLACK


@pytest.mark.parametrize("seed", seeds(24, 8))
def test_no_plan_found_by_changing_plans_beats_the_bound(seed: int) -> None:
    """Reaches what the game cannot: copies into branches, early deadlines, odd stays."""
    program = random_program(seed, 3 + seed % 3)
    floor_s = lower_bound(program, 20.0, method="mip").bound_s
    assert floor_s >= lower_bound(program).bound_s
    for plan in walk(program, random.Random(seed), 600):
        assert floor_s <= simulate(program, plan).latency_s * SLACK


# Equal to what is known


@pytest.mark.parametrize("seed", seeds(30, 3))
def test_no_plan_of_a_tiny_program_beats_the_bound(seed: int) -> None:
    """Every plan is looked at: loops, branches, work in flight, scratch, slow accesses."""
    program = tiny_program(seed)
    relaxed, whole = (lower_bound(program, 20.0, method).bound_s for method in METHODS)
    assert relaxed <= whole * SLACK
    assert whole <= optimum_s(program) * SLACK


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_teaching_programs_have_their_stated_bound(lesson: Lesson) -> None:
    """Their optimum is that of all games: tests/contracts/test_teaching_optima.py."""
    assert microseconds(lesson.program()) == pytest.approx(lesson.bound_us, rel=1e-5)
    assert lesson.bound_us <= lesson.optimum_us


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_branching_ends_between_the_relaxed_bound_and_the_optimum(lesson: Lesson) -> None:
    program = lesson.program()
    relaxed, whole = lower_bound(program), lower_bound(program, method="mip")
    assert whole.method in ("mip", "all-fast")
    assert relaxed.bound_s <= whole.bound_s <= lesson.optimum_us * MICROSECOND * SLACK
    known_s = lesson.optimum_us * MICROSECOND
    assert lower_bound(program, method="mip", target_s=known_s).bound_s == pytest.approx(
        min(whole.bound_s, known_s), rel=1e-6
    )


def test_branching_knows_that_tensors_are_whole() -> None:
    """Three tensors of 400 KiB in 1 MiB: half of one saves nothing."""
    draft = Draft()
    draft.step("make", 0)
    values = [draft.write(f"v{n}", 400) for n in range(3)]
    draft.step("use", 0, [*values])
    program = replace(built(draft), hardware=replace(HARDWARE, fast_bytes=900 * 1024))
    assert lower_bound(program, method="mip").bound_s / MICROSECOND == pytest.approx(800, rel=1e-6)


def test_what_does_not_fit_beside_the_scratch_stays_slow_whole() -> None:
    """A share of it would fit, which the linear program must not use."""
    draft = Draft()
    weight = draft.input("weight", 900)
    draft.step("before", 2000)
    draft.step("use", 10, [weight])
    program = built(draft)
    assert microseconds(program) == pytest.approx(2010, rel=1e-6)
    scratch = [replace(i, reserved_bytes=200 * 1024) for i in program.instructions]
    assert microseconds(replace(program, instructions=tuple(scratch))) == pytest.approx(2910)


def test_branching_stopped_early_is_still_a_bound() -> None:
    program = random_program(3, 20)
    relaxed = lower_bound(program)

    def has_more_to_do(share: float, bound_s: float) -> bool:
        return bound_s < relaxed.bound_s * (1 - 1e-9)

    hurried = lower_bound(program, method="mip", progress=has_more_to_do)
    assert hurried.method == "mip-unfinished"
    assert hurried.bound_s == pytest.approx(relaxed.bound_s, rel=1e-9)
    told: list[float] = []
    full = lower_bound(program, 20.0, "mip", progress=lambda s, bound_s: not told.append(bound_s))
    assert told == sorted(told)
    assert relaxed.bound_s <= told[-1] <= full.bound_s


def test_the_integer_form_is_left_alone_without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "ASK_EVERY_S", 0.0)
    program, told = random_program(3, 60), list[float]()
    asked = Mock(side_effect=Branching)
    monkeypatch.setattr("engine.plan.bounds.bound.Branching", asked)
    over = lower_bound(program, 0.0, "mip")
    unwanted = lower_bound(program, 60.0, "mip", progress=lambda *_: bool(told.append(0.0)))
    assert not asked.called
    assert over.method == unwanted.method == "mip-unfinished"
    assert len(told) == 1


def test_the_share_of_the_time_never_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "ASK_EVERY_S", 0.0)
    shares: list[float] = []
    program = random_program(3, 60)
    lower_bound(program, 0.5, "mip", progress=lambda share, _: not shares.append(share))
    assert shares == sorted(shares)


def test_a_latency_and_its_objective_stand_for_each_other() -> None:
    """So branching ends at the latency of a known plan."""
    program = contested(600)
    formulation = formulate(program)
    assert formulation is not None
    assert formulation.objective(program.all_slow_s) == 0.0
    for latency_s in (program.all_fast_s, 2 * program.all_slow_s):
        assert formulation.seconds(formulation.objective(latency_s)) == pytest.approx(latency_s)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(UsageError, match="no method"):
        lower_bound(random_program(1, 3), method="guess")


def test_content_may_stay_beside_a_read_that_must_be_slow() -> None:
    """Read fast, slow and fast again: the second fast read needs no second copy."""
    draft = Draft()
    weight = draft.input("weight", 100)
    draft.step("before", 100)
    for name in ("first", "barred", "again"):
        draft.step(name, 0, [weight])
    program = built(draft)
    barred = replace(program.accesses[1], saving_s=0.0, must_be_slow=True)
    program = replace(program, accesses=(program.accesses[0], barred, program.accesses[2]))
    plan = Plan(
        content_hash(program),
        "by hand",
        (True, False, True),
        (Stay(0, 0, 0, 4),),
        (Copy(0, True, 0, 1),),
    )
    assert check(program, plan) is None
    latency_s = simulate(program, plan).latency_s
    assert latency_s / MICROSECOND == pytest.approx(100)
    assert lower_bound(program).bound_s <= latency_s * SLACK


def test_a_copy_without_time_before_it_gains_nothing() -> None:
    draft = Draft()
    weight = draft.input("weight", 100)
    draft.step("use", 50, [weight])
    assert microseconds(built(draft)) == pytest.approx(150)


@pytest.mark.parametrize(("compute", "expected"), [(100, 150), (70, 150), (30, 150)])
def test_a_copy_is_paid_by_idle_time_or_by_a_stall(compute: float, expected: float) -> None:
    draft = Draft()
    weight = draft.input("weight", 100)
    draft.step("before", compute)
    draft.step("use", 50, [weight])
    hidden = min(compute, 100)
    assert microseconds(built(draft)) == pytest.approx(compute + expected - hidden, rel=1e-6)


def test_slow_accesses_leave_no_idle_time_for_copies() -> None:
    draft = Draft()
    huge = draft.input("huge", 2000)
    weight = draft.input("weight", 100)
    draft.step("before", 0, [huge])
    draft.step("use", 50, [weight])
    assert microseconds(built(draft)) == pytest.approx(2150, rel=1e-6)


def contested(kib: int, kept: int = 0) -> Program:
    """Two inputs of that size, both read at once, twice."""
    draft = Draft()
    left, right = draft.input("left", kib), draft.input("right", kib)
    draft.step("first", 10, [left, right])
    draft.step("again", 10, [left, right])
    hardware = replace(HARDWARE, max_cross_program_prefetches=kept)
    return replace(built(draft), hardware=hardware)


def test_what_stays_takes_its_place() -> None:
    both, one = microseconds(contested(500)), microseconds(contested(600))
    assert both == pytest.approx(20 + 2 * 500, rel=1e-6)
    assert one == pytest.approx(20 + 2 * 600 + 600, rel=1e-6)


def test_scratch_takes_place() -> None:
    program = contested(500)
    scratch = [replace(i, reserved_bytes=100 * 1024) for i in program.instructions]
    assert microseconds(replace(program, instructions=tuple(scratch))) == pytest.approx(
        20 + 2 * 500 + 500, rel=1e-6
    )


def test_only_so_many_inputs_are_there_before_the_start() -> None:
    assert microseconds(contested(400, kept=1)) == pytest.approx(20 + 400, rel=1e-6)
    assert microseconds(contested(400, kept=2)) == pytest.approx(20, rel=1e-6)


def test_what_must_be_made_slow_is_copied_in() -> None:
    """A share of the content is copied in, as much as the idle time takes of the copy's 10 s."""
    for idle in (4.0, 30.0):
        made = Buffer(10, writes={0: 0.0}, reads={2: 8.0}, slow_writes=frozenset({0}))
        program = program_of_buffers([0.0, idle, 0.0], [made])
        expected = program.all_fast_s + 8.0 * max(0.0, 1.0 - idle / 10.0)
        assert lower_bound(program).bound_s == pytest.approx(expected)
    write = replace(program.accesses[0], must_be_slow=False)
    free = replace(program, accesses=(write, *program.accesses[1:]))
    assert lower_bound(free).bound_s == pytest.approx(free.all_fast_s)


def test_a_live_out_is_written_back_at_the_end() -> None:
    draft = Draft()
    draft.step("make", 0)
    draft.write("result", 300, is_live_out=True)
    assert microseconds(built(draft)) == pytest.approx(300, rel=1e-6)
    draft.step("rest", 200)
    assert microseconds(built(draft)) == pytest.approx(300, rel=1e-6)


def test_a_copy_inside_a_loop_is_paid_in_every_iteration() -> None:
    draft = Draft()
    draft.loop(num_steps=2, trips=10)
    draft.step("wait", 0)
    draft.step("make", 0)
    state = draft.write("state", 100)
    draft.step("use", 0, [state])
    # Carried out of the loop: written back ten times, or written slow ten times.
    slow = built(draft)
    assert slow.all_slow_s / MICROSECOND == pytest.approx(1100)
    assert microseconds(slow) == pytest.approx(1100, rel=1e-6)


def test_a_stay_may_begin_with_a_loop_and_outlast_it() -> None:
    """Made in the first slot of the body, it may keep its place past the end: no copy at all."""
    draft = Draft()
    draft.loop(num_steps=1, trips=10)
    draft.step("make", 0)
    state = draft.write("state", 100)
    draft.step("use", 0, [state])
    program = built(draft)
    flags = (True,) * len(program.accesses)
    plan = Plan(content_hash(program), "by hand", flags, (Stay(0, 0, 0, 2),), ())
    assert check(program, plan) is None
    assert lower_bound(program).bound_s <= simulate(program, plan).latency_s == 0


def test_a_stay_may_begin_within_a_branch_and_outlast_it() -> None:
    either = [Region("if[0]", 1, 3, 0.5, kind="branch"), Region("if[1]", 3, 4, 0.5, kind="branch")]
    program = cases.program_of([cases.Buffer(256, "w2 w3 r5")], 6, either)
    plan = cases.plan_of(program, "0@2 0@3 0@5", [(0, 0, 2, 6)])
    assert check(program, plan) is None
    assert lower_bound(program).bound_s <= simulate(program, plan).latency_s == 0


def busy(time: int) -> cases.Buffer:
    """A write of 10,240 bytes that is always slow: its instruction leaves no idle time."""
    return cases.Buffer(10_240, f"w{time}", may_be_fast=False)


def assert_is_no_bound_above(program: Program, plan: Plan) -> None:
    assert check(program, plan) is None
    latency_s = simulate(program, plan).latency_s
    for method in METHODS:
        assert lower_bound(program, 20.0, method).bound_s <= latency_s * SLACK


def test_a_copy_may_run_in_a_branch_that_has_no_code_but_loops() -> None:
    loops = [Region(f"loop.{n}", n, n + 1, 2.5, parent=0) for n in (1, 2, 3)]
    regions = [Region("if[0]", 1, 4, 0.5, kind="branch"), *loops]
    program = cases.program_of([cases.Buffer(1024, "w0 r3"), *map(busy, range(4))], 4, regions)
    accesses = (
        replace(a, saving_s=0.0, must_be_slow=True) if a.value == 0 and not a.is_write else a
        for a in program.accesses
    )
    program = replace(program, accesses=tuple(accesses))
    plan = cases.plan_of(program, "0@0", [(0, 0, 0, 4)], [(0, "out", 1, 3)])
    assert simulate(program, plan).stall_s == pytest.approx(512)
    assert_is_no_bound_above(program, plan)


def test_a_prefetch_may_run_in_the_loop_of_the_last_write() -> None:
    loop = Region("loop", 1, 4, 5.0)
    buffers = [cases.Buffer(1024, "w2 r5", is_input=True), *map(busy, (0, 1, 2, 4, 5))]
    program = cases.program_of(buffers, 6, [loop], fast_s=[0, 0, 0, 10_000, 0, 0])
    program = cases.with_slow_writes(program, 0, 1, 2, 4, 5)
    for start in (0, 1):
        plan = cases.plan_of(program, "0@5", [(0, 0, start, 6)], [(0, "in", 3, 4)])
        assert_is_no_bound_above(program, plan)


def test_an_input_may_come_back_within_a_loop_that_ends_the_program() -> None:
    loop = Region("loop", 2, 5, 5.0)
    buffers = [cases.Buffer(1024, "r0", is_input=True), cases.Buffer(1024, "w2 r3")]
    buffers += map(busy, range(4))
    program = cases.program_of(buffers, 5, [loop], fast_s=[0, 0, 0, 0, 10_000])
    stays = [(0, 0, -1, 1), (1, 0, 2, 4), (0, 0, 4, 5)]
    plan = cases.plan_of(program, "0@0 1@2 1@3", stays, [(0, "in", 4, 5)])
    assert_is_no_bound_above(program, plan)


def test_a_weight_is_copied_once_before_its_loop() -> None:
    draft = Draft()
    weight = draft.input("weight", 100)
    draft.step("before", 60)
    draft.loop(num_steps=1, trips=10)
    draft.step("use", 0, [weight])
    assert microseconds(built(draft)) == pytest.approx(60 + 40, rel=1e-6)


# Prices, limits, and degenerate programs


def test_prices_are_positive_where_memory_and_copies_are_contested() -> None:
    bound = lower_bound(contested(600))
    assert len(bound.memory_price) == len(bound.copy_price) == 2
    assert min(bound.memory_price) >= 0
    assert min(bound.copy_price) >= 0
    draft = Draft()
    weight = draft.input("weight", 100)
    draft.step("before", 30)
    draft.step("use", 50, [weight])
    # One more second of idle time before the use saves one second.
    assert lower_bound(built(draft)).copy_price[0] == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize(("number", "kib"), [(8, 150), (4, 300), (2, 600)])
def test_the_price_of_memory_is_what_a_byte_saves(number: int, kib: int) -> None:
    draft = Draft()
    draft.step("make", 0)
    values = [draft.write(f"v{n}", kib) for n in range(number)]
    draft.step("use", 0, values)
    price = sum(lower_bound(built(draft)).memory_price)
    # One more byte holds one more byte of a tensor that saves its write and its read; where only
    # whole tensors fit, the bytes beyond them are worth nothing, and the price is lower.
    whole = 2**20 // (kib * 2**10) * kib * 2**10 / 2**20 if kib > 256 else 1.0
    assert price == pytest.approx(whole * 2 / HARDWARE.bandwidth, rel=1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_the_relaxed_optimum_serves_as_much_as_its_bound_says(seed: int) -> None:
    program = random_program(seed, 40)
    bound = lower_bound(program)
    assert len(bound.served) == len(program.touches)
    assert all(0 <= share <= 1 for share in bound.served)
    assert min(bound.served) < 0.5 < max(bound.served)
    saved_s = sum(t.saving_s * s for t, s in zip(program.touches, bound.served, strict=True))
    # What it saves less its stalls, none of which is negative, is the bound.
    assert saved_s >= program.all_slow_s - bound.bound_s - 1e-6 * program.all_slow_s


@pytest.mark.parametrize("seed", range(6))
def test_what_stays_was_served_before(seed: int) -> None:
    """Row 1 of docs/bound.md; what is not there cannot stay."""
    program = random_program(seed, 40)
    bound = lower_bound(program)
    before: dict[int, int] = {}
    for index, touch in enumerate(program.touches):
        last = before.get(touch.group)
        if last is not None and not program.touches[last].must_be_slow:
            assert bound.stayed[index] <= bound.served[last] + 1e-6
        before[touch.group] = index
    assert any(share > 0 for share in bound.stayed)


def test_the_linear_program_can_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "ASK_EVERY_S", 0.0)
    program = random_program(3, 60)
    ended = lower_bound(program, progress=lambda share, bound_s: False)
    assert ended.method in ("lp-unfinished", "all-fast")
    assert ended.bound_s <= lower_bound(program).bound_s * (1 + 1e-6)


@pytest.mark.parametrize(("is_optimal", "method"), [(True, "lp"), (False, "lp-unfinished")])
def test_a_bound_says_whether_its_linear_program_was_solved(is_optimal: bool, method: str) -> None:
    formulation = formulate(contested(600))
    assert formulation is not None
    solution = formulation.linear.solve(60.0, lambda: True)
    told = _relaxed(formulation, replace(solution, is_optimal=is_optimal), 0.0)
    assert (told.method, solution.is_optimal) == (method, True)


def test_it_can_be_ended_before_its_linear_program_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(linear, "ASK_EVERY_S", 0.0)
    monkeypatch.setattr(LinearProgram, "solve", Mock(side_effect=AssertionError))
    program, asked = random_program(3, 60), list[float]()
    unwanted = lower_bound(program, progress=lambda *_: bool(asked.append(0.0)))
    for ended in (unwanted, lower_bound(program, 0.0)):
        assert (ended.bound_s, ended.method) == (program.all_fast_s, "lp-unfinished")
        assert not any(ended.served) and len(ended.served) == len(program.touches)
    assert len(asked) == 1


def test_a_weight_that_all_read_makes_as_much_work_per_read_as_one_that_few_do() -> None:
    few, many = shared(100), shared(400)
    assert lines_run(lambda: formulate(many)) < 5 * lines_run(lambda: formulate(few))


def test_stopped_early_it_is_still_a_bound() -> None:
    program = random_program(3, 60)
    hurried, full = lower_bound(program, time_limit_s=0.0), lower_bound(program)
    assert full.method == "lp"
    assert hurried.method in ("lp", "lp-unfinished", "all-fast")
    assert program.all_fast_s <= hurried.bound_s <= full.bound_s * (1 + 1e-6)
    assert full.bound_s > 1.01 * program.all_fast_s


def test_programs_without_choices() -> None:
    draft = Draft()
    draft.step("alone", 5)
    assert microseconds(built(draft)) == pytest.approx(5)
    draft = Draft()
    huge = draft.input("huge", 5000)
    draft.step("use", 5, [huge])
    bound = lower_bound(built(draft))
    assert (bound.method, bound.bound_s) == ("all-slow", built(draft).all_slow_s)
    assert bound.served == bound.stayed == (0.0,)
    empty = Program("empty", HARDWARE, (), (), ())
    assert lower_bound(empty).bound_s == 0
    assert lower_bound(empty).memory_price == ()


@pytest.mark.parametrize("loops", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_a_program_of_a_thousand_touches_takes_seconds(loops: bool) -> None:
    bound = lower_bound(random_program(1, 400, loops))
    assert bound.method == "lp"
    assert bound.seconds < 40


# The pieces


@given(
    base=st.floats(-4, 4),
    gains=st.lists(st.floats(-4, 4), max_size=5),
)
def test_idle_time_is_bounded_at_every_corner(base: float, gains: list[float]) -> None:
    constant, slopes = idle_envelope(base, np.array(gains))
    for corner in itertools.product((0.0, 1.0), repeat=len(gains)):
        idle = max(0.0, base + float(np.dot(gains, corner)))
        assert constant + float(np.dot(slopes, corner)) >= idle - 1e-9
    total = base + sum(max(g, 0.0) for g in gains)
    assert constant + float(np.maximum(slopes, 0).sum()) <= max(0.0, total) + 1e-9


def knapsack(values: list[float], sizes: list[float], room: float) -> tuple[LinearProgram, float]:
    linear, left, best = LinearProgram(), room, 0.0
    items = [linear.add_variable(1.0, -value) for value in values]
    linear.add_row(zip(items, sizes, strict=True), high=room)
    for value, size in sorted(zip(values, sizes, strict=True), key=lambda i: -i[0] / i[1]):
        share = min(1.0, left / size)
        best, left = best + share * value, left - share * size
    return linear, -best


ITEMS = st.lists(st.tuples(st.floats(0, 10), st.floats(0.1, 10)), min_size=1, max_size=6)


@given(items=ITEMS, room=st.floats(0, 20), dual=st.floats(-5, 5))
def test_any_multipliers_bound_a_linear_program(
    items: list[tuple[float, float]], room: float, dual: float
) -> None:
    linear, optimum = knapsack([v for v, _ in items], [s for _, s in items], room)
    assert linear.dual_bound(np.array([dual])) <= optimum + 1e-12
    solution = linear.solve(10.0)
    assert solution.is_optimal
    assert solution.bound == pytest.approx(optimum, abs=1e-5)
    assert solution.bound <= optimum


@pytest.mark.parametrize(
    ("name", "gap"),
    [
        ("lstm-v5e-b128", 2e-4),
        pytest.param("resnet50-v5e-b64", 7e-4, marks=pytest.mark.nightly),
    ],
)
def test_copies_that_hold_their_whole_places_prove_the_best_plan(name: str, gap: float) -> None:
    """Of the first it takes prefetches, of the second write-backs (0.9 % without)."""
    entry = library.find_sample(name)
    assert entry.best_s is not None
    found = lower_bound(library.load_entry(entry), 300.0, "mip", entry.best_s)
    assert found.bound_s > entry.best_s * (1 - gap)


def test_what_is_in_flight_holds_its_place() -> None:
    """Each is larger than half of the memory, and the first is read until the second is done."""
    other = cases.Buffer(768, "w3 r5")
    apart = cases.program_of([cases.Buffer(768, "w1 r2"), other], fast_s=10.0)
    in_flight = cases.program_of([cases.Buffer(768, "w1 r2+5"), other], fast_s=10.0)
    assert lower_bound(apart).bound_s == pytest.approx(apart.all_fast_s)
    bound = lower_bound(in_flight)
    assert bound.bound_s > in_flight.all_fast_s + 768
    plan = cases.plan_of(in_flight, "1@3 1@5", [(1, 0, 3, 6)])
    assert check(in_flight, plan) is None
    assert bound.bound_s <= simulate(in_flight, plan).latency_s * (1 + 1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_no_bound_is_above_a_compile_that_was_observed(method: str) -> None:
    program = random_program(3, 12)
    proven = lower_bound(program, method=method)

    def after(seconds: float) -> Bound:
        kept = {FASTEST_COMPILE: {"name": "plan-1", "seconds": seconds}}
        return lower_bound(replace(program, provenance=kept), method=method)

    faster = after(0.9 * proven.bound_s)
    assert (faster.bound_s, faster.method) == (0.9 * proven.bound_s, "observed")
    slower = after(1.1 * proven.bound_s)
    assert (slower.bound_s, slower.method) == (proven.bound_s, proven.method)
