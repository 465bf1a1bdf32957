"""What a use is worth at an instruction with a floor."""

from __future__ import annotations

import pytest

from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program.floors import has_floor, loss_s, slow_s, worth_s
from engine.program.model import Touch
from tests.program.floored import FAST_S, FLOOR_S, LARGE_S, SMALL_S, SPARE_S, floored, kept
from tests.strategies import all_slow_plan

PROGRAM = floored()


def touch(group: int, time: int) -> Touch:
    return next(t for t in PROGRAM.touches if (t.group, t.time) == (group, time))


def test_a_use_is_worth_what_the_floor_leaves_of_its_saving() -> None:
    assert [has_floor(PROGRAM, time) for time in (0, 1)] == [True, False]
    assert slow_s(PROGRAM, 0) == FAST_S + LARGE_S + SMALL_S
    assert worth_s(PROGRAM, touch(0, 0)) == worth_s(PROGRAM, touch(1, 0)) == SPARE_S
    assert worth_s(PROGRAM, touch(0, 1)) == LARGE_S


@pytest.mark.parametrize("groups", [(0,), (1,), (0, 1)])
def test_a_loss_is_what_the_simulator_says(groups: tuple[int, ...]) -> None:
    """With both fast neither is missed at the first instruction: one is enough for the floor."""
    plan = kept(PROGRAM, *groups)
    assert check(PROGRAM, plan) is None
    before_s = simulate(PROGRAM, plan).latency_s
    for group in groups:
        without = kept(PROGRAM, *(g for g in groups if g != group))
        lost_s = sum(loss_s(PROGRAM, plan.is_fast, t) for t in PROGRAM.touches if t.group == group)
        assert before_s + lost_s == simulate(PROGRAM, without).latency_s
    both = kept(PROGRAM, 0, 1)
    assert loss_s(PROGRAM, both.is_fast, touch(0, 0)) == 0.0
    assert loss_s(PROGRAM, kept(PROGRAM, 0).is_fast, touch(0, 0)) == SPARE_S


def test_totals_know_the_floor() -> None:
    assert PROGRAM.all_fast_s == FLOOR_S + FAST_S
    assert PROGRAM.all_slow_s == simulate(PROGRAM, all_slow_plan(PROGRAM)).latency_s
    assert simulate(PROGRAM, kept(PROGRAM, 0, 1)).latency_s == PROGRAM.all_fast_s
