"""Attribution adds up: by slot to the latency, by group to the difference of two latencies."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.attribution import attribute, breakdown, slow_costs, stall_costs
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program
from tests.plan.cases import Buffer, plan_of, program_of
from tests.strategies import all_slow_plan, draw_plan, draw_program


def drawn(seed: int) -> tuple[Program, Plan, Plan]:
    chance = random.Random(seed)
    program = draw_program(chance, chance.randrange(2, 16))
    return program, draw_plan(chance, program), draw_plan(chance, program)


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_parts_add_up_to_the_latency(seed: int) -> None:
    program, plan, _ = drawn(seed)
    run = simulate(program, plan)
    parts = breakdown(program, run)
    assert parts.total_s.sum() == pytest.approx(run.latency_s)
    assert np.all(parts.slow_s >= 0)
    assert sum(slow_costs(program, plan).values()) == pytest.approx(parts.slow_s.sum())
    assert sum(stall_costs(program, plan, run).values()) == pytest.approx(run.stall_s)


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_costs_of_groups_add_up_to_the_difference(seed: int) -> None:
    program, one, other = drawn(seed)
    first, second = (one, simulate(program, one)), (other, simulate(program, other))
    costs = attribute(program, first, second)
    difference_s = second[1].latency_s - first[1].latency_s
    assert sum(c.total_s for c in costs) == pytest.approx(difference_s, abs=1e-15)
    back = {c.group: c.total_s for c in attribute(program, second, first)}
    assert back == pytest.approx({c.group: -c.total_s for c in costs})
    assert [abs(c.total_s) for c in costs] == sorted((abs(c.total_s) for c in costs), reverse=True)


def test_a_plan_differs_nowhere_from_itself() -> None:
    program, plan, _ = drawn(5)
    run = simulate(program, plan)
    assert attribute(program, (plan, run), (plan, run)) == []


def test_a_wait_is_charged_to_the_tensor_that_was_awaited() -> None:
    """Two inputs of 512 bytes at one byte per second, both awaited by instruction 1."""
    program = program_of(
        [Buffer(512, "r1", is_input=True), Buffer(512, "r1", is_input=True)], slots=2
    )
    stays = [(0, 0, 0, 2), (1, 512, 0, 2)]
    plan = plan_of(program, "0@1 1@1", stays, [(0, "in", 1, 1), (1, "in", 1, 1)])
    run = simulate(program, plan)
    found = stall_costs(program, plan, run)
    each_s = 512 / program.hardware.bandwidth
    assert found == pytest.approx({(1, 0): each_s, (1, 1): each_s})
    slow = all_slow_plan(program)
    costs = attribute(program, (slow, simulate(program, slow)), (plan, run))
    assert {c.group: c.stall_s for c in costs} == pytest.approx({0: each_s, 1: each_s})
    assert all(c.slow_s < 0 and c.time == 1 for c in costs)
