"""The referee on random programs: valid plans pass, damaged ones fail, nonsense never crashes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.plan.check import RULES, check
from engine.plan.model import Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import Program
from tests.strategies import (
    all_slow_plan,
    draw_plan,
    programs,
    programs_with_plans,
    random_program,
    touchwise_plan,
)

CONTENT_RULES = RULES[RULES.index("liveness") :]
Case = tuple[Program, Plan]
cases = programs_with_plans()
picks = st.integers(0, 10**6)
damage = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def rule_of(program: Program, plan: Plan) -> str | None:
    violation = check(program, plan)
    return violation.rule if violation else None


@damage
@given(programs())
def test_simple_plans_are_valid(program: Program) -> None:
    assert check(program, all_slow_plan(program)) is None
    assert check(program, touchwise_plan(program)) is None


@damage
@given(programs())
def test_touchwise_plans_need_all_their_copies(program: Program) -> None:
    """Each stay lasts one slot: without its prefetch there is nothing to read in it."""
    plan = touchwise_plan(program)
    for index, copy in enumerate(plan.copies):
        if copy.is_prefetch:
            left = plan.copies[:index] + plan.copies[index + 1 :]
            assert rule_of(program, replace(plan, copies=left)) == "liveness"


@damage
@given(programs())
def test_live_outs_need_their_write_backs(program: Program) -> None:
    plan = touchwise_plan(program)
    prefetches = tuple(copy for copy in plan.copies if copy.is_prefetch)
    last_write = {touch.group: touch.time for touch in program.touches if touch.writes}
    is_needed = any(
        program.groups[copy.group].is_live_out and copy.start == last_write[copy.group] + 1
        for copy in plan.copies
        if not copy.is_prefetch
    )
    # The next iteration, or later code, may miss the content before the program's end does.
    expected = ("live-out-lost", "copy-late", "copy-before-data")
    assert not is_needed or rule_of(program, replace(plan, copies=prefetches)) in expected


@damage
@given(cases, picks)
def test_a_stay_moved_onto_another_is_caught(case: Case, pick: int) -> None:
    program, plan = case
    pairs = [
        (i, other)
        for i, stay in enumerate(plan.stays)
        for other in plan.stays
        if other is not stay and stay.start < other.end and other.start < stay.end
    ]
    assume(pairs)
    index, other = pairs[pick % len(pairs)]
    stays = list(plan.stays)
    stays[index] = replace(stays[index], offset=other.offset)
    moved = replace(plan, stays=tuple(stays))
    assert rule_of(program, moved) in ("capacity", "reserved", "overlap")


@damage
@given(cases, picks, st.sampled_from([1, -1]))
def test_an_offset_between_granules_is_caught(case: Case, pick: int, shift: int) -> None:
    program, plan = case
    assume(plan.stays)
    index = pick % len(plan.stays)
    stays = list(plan.stays)
    stays[index] = replace(stays[index], offset=stays[index].offset + shift)
    assert rule_of(program, replace(plan, stays=tuple(stays))) in ("capacity", "alignment")


@damage
@given(cases, picks)
def test_a_stay_taken_away_is_caught(case: Case, pick: int) -> None:
    program, plan = case
    assume(plan.stays)
    index = pick % len(plan.stays)
    left = plan.stays[:index] + plan.stays[index + 1 :]
    # Every drawn stay serves at least one fast touch.
    assert rule_of(program, replace(plan, stays=left)) == "liveness"


@damage
@given(cases, picks)
def test_a_stay_cut_to_its_last_touch_or_before_it(case: Case, pick: int) -> None:
    program, plan = case
    served = [
        (i, touch.time)
        for i, stay in enumerate(plan.stays)
        for touch in program.touches
        if touch.group == stay.group and plan.is_fast[touch.accesses[0]]
        if stay.start < touch.time < stay.end
    ]
    assume(served)
    index, time = served[pick % len(served)]
    stays = list(plan.stays)
    stays[index] = replace(stays[index], end=time)
    assert rule_of(program, replace(plan, stays=tuple(stays))) == "liveness"


@damage
@given(cases, picks)
def test_a_flag_that_is_flipped_is_caught(case: Case, pick: int) -> None:
    program, plan = case
    split = [t for t in program.touches if len(t.accesses) > 1]
    homeless = [
        t
        for t in program.touches
        if not any(s.group == t.group and s.start <= t.time < s.end for s in plan.stays)
    ]
    barred = [t for t in homeless if t.must_be_slow]
    homeless = [t for t in homeless if not t.must_be_slow]
    assume(split or homeless or barred)
    kinds = ((split, "alias"), (homeless, "liveness"), (barred, "must-be-slow"))
    for candidates, expected in kinds:
        if candidates:
            touch = candidates[pick % len(candidates)]
            flipped = touch.accesses[:1] if expected == "alias" else touch.accesses
            flags = [f != (i in flipped) for i, f in enumerate(plan.is_fast)]
            assert rule_of(program, replace(plan, is_fast=tuple(flags))) == expected


@damage
@given(cases, picks)
def test_a_prefetch_taken_away_is_caught(case: Case, pick: int) -> None:
    program, plan = case
    prefetches = [i for i, copy in enumerate(plan.copies) if copy.is_prefetch]
    assume(prefetches)
    index = prefetches[pick % len(prefetches)]
    left = plan.copies[:index] + plan.copies[index + 1 :]
    assert rule_of(program, replace(plan, copies=left)) == "liveness"


@damage
@given(cases, picks)
def test_a_prefetch_one_slot_late_is_caught(case: Case, pick: int) -> None:
    """Drawn prefetches are due at the first touch of their stay."""
    program, plan = case
    late = [
        i for i, c in enumerate(plan.copies) if c.is_prefetch and c.deadline < program.num_slots
    ]
    assume(late)
    index = late[pick % len(late)]
    copies = list(plan.copies)
    copies[index] = replace(copies[index], deadline=copies[index].deadline + 1)
    violation = rule_of(program, replace(plan, copies=tuple(copies)))
    assert violation in CONTENT_RULES
    if not program.regions and violation != "copy-before-data":
        assert violation == "copy-late"


@damage
@given(programs(), st.data())
def test_nonsense_is_a_violation_and_never_an_exception(
    program: Program, data: st.DataObject
) -> None:
    small = st.integers(-3, program.num_slots + 3)
    number = st.one_of(small, st.integers(-(2**70), 2**70))
    groups = st.integers(0, len(program.groups) - 1)
    sane = st.integers(-1, program.num_slots)
    granule = program.hardware.alignment
    stays = st.one_of(
        st.builds(Stay, number, number, number, number),
        st.builds(Stay, groups, st.integers(0, 20).map(lambda n: n * granule), sane, sane),
    )
    copies = st.one_of(
        st.builds(Copy, number, st.booleans(), number, number),
        st.builds(Copy, groups, st.booleans(), sane, sane),
    )
    count = len(program.accesses)
    plan = Plan(
        content_hash(program),
        "nonsense",
        tuple(data.draw(st.lists(st.booleans(), min_size=count, max_size=count))),
        tuple(data.draw(st.lists(stays, max_size=4))),
        tuple(data.draw(st.lists(copies, max_size=4))),
    )
    violation = check(program, plan)
    assert violation is None or violation.rule in RULES


@pytest.mark.parametrize("seed", range(5))
def test_sane_intervals_in_any_order_never_crash(seed: int) -> None:
    """Shuffled ends of copies and stays reach the rules on content, loops included."""
    chance = random.Random(seed)
    program = random_program(seed, 20)
    plan = draw_plan(chance, program, attempts=40)
    found = set()
    for _ in range(60):
        copies = [
            replace(c, start=s, deadline=chance.randint(s, program.num_slots))
            for c in plan.copies
            for s in [chance.randint(0, program.num_slots)]
        ]
        found.add(rule_of(program, replace(plan, copies=tuple(copies))))
    assert found & set(CONTENT_RULES)


def test_random_programs_are_the_same_everywhere() -> None:
    hashes = [content_hash(random_program(seed, 20)) for seed in range(3)]
    assert hashes == [content_hash(random_program(seed, 20)) for seed in range(3)]
    assert len(set(hashes)) == 3


def test_random_programs_are_rich() -> None:
    many = [random_program(seed, 30) for seed in range(40)]
    touches = [touch for program in many for touch in program.touches]
    assert any(t.reads and t.writes for t in touches)
    assert any(t.saving_s == 0 for t in touches)
    assert any(len(t.accesses) > 2 for t in touches)
    assert any(r.parent >= 0 for p in many for r in p.regions)
    assert any(sink.region >= 0 for p in many for sink in p.sinks)
    assert any(g.is_input and g.is_written for p in many for g in p.groups)
    assert any(g.size_bytes > p.hardware.fast_bytes for p in many for g in p.groups)
    assert not random_program(0, 30, loops=False).regions
