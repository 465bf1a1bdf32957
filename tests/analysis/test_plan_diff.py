"""Two plans side by side: marks of stays, how touches are served, where plans part."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.plan_diff import (
    Change,
    Mark,
    Source,
    first_divergence,
    marks,
    services,
    touch_differences,
)
from engine.plan.model import Plan
from engine.program.model import Program
from tests.plan.cases import Buffer, plan_of, program_of
from tests.strategies import all_slow_plan, draw_plan, draw_program

PROGRAM = program_of(
    [Buffer(128, "r2 r5 r8", is_input=True), Buffer(256, "w1 r4 r6"), Buffer(128, "w3 r7")]
)


def plan(
    fast: str, stays: list[tuple[int, int, int, int]], *copies: tuple[int, str, int, int]
) -> Plan:
    return plan_of(PROGRAM, fast, stays, copies)


def test_how_touches_are_served() -> None:
    found = plan("0@2 0@5 1@1 1@4", [(0, 0, 0, 9), (1, 256, 1, 5)], (0, "in", 0, 2))
    by_place = {
        (t.group, t.time): s for t, s in zip(PROGRAM.touches, services(PROGRAM, found), strict=True)
    }
    sources = {place: s.source for place, s in by_place.items()}
    assert sources[0, 2] is Source.PREFETCH
    assert sources[0, 5] is Source.KEPT
    assert sources[0, 8] is Source.SLOW
    assert sources[1, 1] is Source.MADE
    assert sources[1, 4] is Source.KEPT
    assert sources[2, 3] is Source.SLOW
    assert by_place[0, 2].copy is not None
    assert by_place[0, 2].copy.start == 0
    assert by_place[1, 4].offset == 256


def test_a_place_from_the_previous_run() -> None:
    early = plan("0@2 0@5 0@8", [(0, 0, -1, 10)])
    found = [s.source for s in services(PROGRAM, early) if s.is_fast]
    assert found == [Source.PREVIOUS_RUN, Source.KEPT, Source.KEPT]


def test_marks_of_stays() -> None:
    first = plan("", [(0, 0, 0, 3), (0, 0, 4, 6), (1, 256, 1, 5), (2, 512, 3, 8)])
    second = plan("", [(0, 0, 0, 3), (1, 512, 1, 5), (2, 768, 5, 8)])
    mine, theirs = marks(first, second)
    assert mine == [Mark.SAME, Mark.ONLY_HERE, Mark.MOVED, Mark.RETIMED]
    assert theirs == [Mark.SAME, Mark.MOVED, Mark.RETIMED]


def test_the_first_divergence_is_a_decision_before_it_is_an_address() -> None:
    first = plan("1@1 1@4 0@5", [(1, 256, 1, 5), (0, 0, 3, 6)], (0, "in", 3, 5))
    other_place = replace(first, stays=(replace(first.stays[0], offset=512), first.stays[1]))
    found = touch_differences(PROGRAM, first, other_place)
    assert [(d.time, d.change) for d in found] == [(1, Change.ADDRESS), (4, Change.ADDRESS)]
    assert first_divergence(PROGRAM, found) == found[0]
    later = replace(other_place, copies=(replace(first.copies[0], start=4),))
    assert first_divergence(PROGRAM, touch_differences(PROGRAM, first, later)).time == 5  # type: ignore[union-attr]
    dropped = plan("1@1 0@5", [(1, 512, 1, 2), (0, 0, 3, 6)], (0, "in", 3, 5))
    parting = first_divergence(PROGRAM, touch_differences(PROGRAM, first, dropped))
    assert parting is not None
    assert (parting.time, parting.change) == (4, Change.MEMORY)
    assert parting.first.is_fast and not parting.second.is_fast
    differences = touch_differences(
        PROGRAM, plan("", []), plan("0@2 1@1", [(0, 0, 0, 3), (1, 128, 1, 2)])
    )
    assert first_divergence(PROGRAM, differences).time == 1  # type: ignore[union-attr]
    assert first_divergence(PROGRAM, differences, 1e9) == differences[0]
    assert first_divergence(PROGRAM, differences[1:], 200.0) == differences[1]


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_differences_explain_every_flag(seed: int) -> None:
    program, one, other = _drawn(seed)
    found = touch_differences(program, one, other)
    told = {d.touch for d in found if d.change is Change.MEMORY}
    really = {
        index
        for index, touch in enumerate(program.touches)
        if one.is_fast[touch.accesses[0]] != other.is_fast[touch.accesses[0]]
    }
    assert told == really
    assert touch_differences(program, one, one) == []
    assert [(d.first, d.second) for d in found] == [
        (d.second, d.first) for d in touch_differences(program, other, one)
    ]
    times = [d.time for d in found]
    assert times == sorted(times)


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_every_fast_touch_of_a_valid_plan_lies_in_a_stay(seed: int) -> None:
    program, one, _ = _drawn(seed)
    for touch, service in zip(program.touches, services(program, one), strict=True):
        if service.is_fast:
            stay = one.stays[service.stay]
            assert stay.group == touch.group
            assert stay.start <= touch.time < stay.end
            reads_first = touch.reads and service.source is Source.MADE
            assert not reads_first
        else:
            assert not one.is_fast[touch.accesses[0]]


def test_nothing_in_common() -> None:
    program, one, _ = _drawn(3)
    mine, theirs = marks(one, all_slow_plan(program))
    assert set(mine) <= {Mark.ONLY_HERE}
    assert theirs == []


def _drawn(seed: int) -> tuple[Program, Plan, Plan]:
    chance = random.Random(seed)
    program = draw_program(chance, chance.randrange(2, 16))
    return program, draw_plan(chance, program), draw_plan(chance, program)
