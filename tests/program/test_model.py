"""What a program derives from its tables: groups, touches, sinks, totals, levels."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from engine.program.model import TOP_LEVEL, Access, Program, Sink
from engine.program.teaching import HARDWARE, MICROSECOND, Draft
from tests.strategies import programs
from tests.synthetic import lines_run


def built(draft: Draft) -> Program:
    return draft.program("test", "", "")


def test_a_group_is_as_large_as_its_largest_value_and_fast_if_all_are() -> None:
    draft = Draft()
    old = draft.input("old", 8)
    draft.step("update", 1, [old])
    draft.update(old, "new", is_live_out=True)
    program = built(draft)
    (group,) = program.groups
    assert (group.values, group.size_bytes, group.may_be_fast) == ((0, 1), 8 * 1024, True)
    assert (group.is_input, group.is_live_out, group.is_written) == (True, True, True)
    small, large = program.values[0], replace(program.values[1], size_bytes=9 * 1024)
    assert replace(program, values=(small, large)).groups[0].size_bytes == 9 * 1024
    barred = replace(program.values[1], may_be_fast=False)
    assert not replace(program, values=(small, barred)).groups[0].may_be_fast
    huge = replace(program.values[1], size_bytes=HARDWARE.fast_bytes + 1)
    assert not replace(program, values=(small, huge)).groups[0].may_be_fast


def test_accesses_of_one_group_at_one_instruction_are_one_touch() -> None:
    draft = Draft()
    other, state = draft.input("other", 1), draft.input("state", 2)
    draft.step("update", 1, [state, state, other])
    draft.update(state, "next")
    program = built(draft)
    first, second = program.touches
    assert (first.group, first.reads, first.writes, first.accesses) == (1, True, True, (0, 1, 3))
    assert first.saving_s == pytest.approx(6 * MICROSECOND)
    assert first.slow_bytes == 6 * 1024
    assert (second.group, second.reads, second.writes, second.accesses) == (0, True, False, (2,))
    assert program.touches_of_group == ((1,), (0,))


def test_pure_writes_follow_the_reads_of_their_instruction() -> None:
    draft = Draft()
    draft.step("make", 1)
    value = draft.write("value", 1)
    draft.step("use", 1, [value])
    draft.write("result", 1)
    touches = built(draft).touches
    assert [(t.time, t.group, t.writes) for t in touches] == [
        (0, 0, True),
        (1, 0, False),
        (1, 1, True),
    ]


def sinks_of_loop(build: str) -> tuple[Sink, ...]:
    """A loop over slots 1 and 2 of a program of 4 slots; slot 1 writes (or updates) a value."""
    draft = Draft()
    state = draft.input("state", 1)
    draft.step("before", 1)
    draft.loop(num_steps=2, trips=3)
    if build == "carried":
        draft.step("update", 1, [state])
        draft.update(state, "next")
        draft.step("rest", 1)
    else:
        draft.step("make", 1)
        made = draft.write("made", 1, is_live_out=build == "live out")
        draft.step("use", 1, [made])
    draft.step("after", 1, [made] if build == "used after" else [])
    return built(draft).sinks


def test_sinks_stand_where_slow_copies_are_needed() -> None:
    assert sinks_of_loop("carried") == (Sink(3, 0, 0),)
    assert sinks_of_loop("used after") == (Sink(3, 1, 0),)
    assert sinks_of_loop("live out") == (Sink(3, 1, 0), Sink(4, 1, TOP_LEVEL))
    assert sinks_of_loop("temporary") == ()


def row_of_loops(count: int) -> Program:
    """So many loops, each of which makes a value and uses it."""
    draft = Draft()
    draft.step("before", 1)
    for number in range(count):
        draft.loop(num_steps=2, trips=3)
        draft.step(f"make {number}", 1)
        made = draft.write(f"made {number}", 1)
        draft.step(f"use {number}", 1, [made])
    return built(draft)


def test_sinks_take_as_much_longer_to_find_as_there_are_more_loops() -> None:
    few, many = (row_of_loops(count) for count in (40, 80))
    assert lines_run(lambda: many.sinks) < 2.5 * lines_run(lambda: few.sinks)


def test_totals_and_levels() -> None:
    draft = Draft()
    weight = draft.input("weight", 10)
    draft.step("before", 5)
    draft.loop(num_steps=1, trips=4)
    draft.step("use", 5, [weight])
    program = built(draft)
    assert program.all_fast_s == pytest.approx(25 * MICROSECOND)
    assert program.all_slow_s == pytest.approx(65 * MICROSECOND)
    assert [program.level_at(t) for t in (-1, 0, 1, 2)] == [TOP_LEVEL, TOP_LEVEL, 0, TOP_LEVEL]
    assert (program.level_end(0), program.level_end(TOP_LEVEL)) == (2, 2)
    assert (program.multiplicity(0), program.multiplicity(TOP_LEVEL)) == (4.0, 1.0)


@settings(max_examples=50)
@given(program=programs(16))
def test_touches_hold_every_access_once(program: Program) -> None:
    held = sorted(i for touch in program.touches for i in touch.accesses)
    assert held == list(range(len(program.accesses)))
    order = [(t.time, not t.reads) for t in program.touches]
    assert order == sorted(order)
    for touch in program.touches:
        accesses: list[Access] = [program.accesses[i] for i in touch.accesses]
        assert {a.time for a in accesses} == {touch.time}
        assert {program.values[a.value].group for a in accesses} == {touch.group}
        assert touch.writes == any(a.is_write for a in accesses)
    # Both are sums of the same numbers, in another order.
    assert program.all_slow_s >= program.all_fast_s * (1 - 1e-12)
    for sink in program.sinks:
        assert sink.time == program.level_end(sink.region)
