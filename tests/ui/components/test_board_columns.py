"""The memory map's columns say what the program and the plan say."""

import numpy as np
import pytest

from engine.game.move_list import moves
from engine.game.moves import COPY, DROP, NO_COPY
from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program
from tests.strategies import random_program
from tests.ui.builders import HUGE, enlarged, first_fit_plan
from tests.ui.network import residual_network
from ui.components.memory_map.board import NONE, board, heat, used_granules
from ui.components.memory_map.plan_actions import NO_ACTION, actions_of
from ui.components.packing import SINK, unpack

Columns = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def program() -> Program:
    return residual_network()


@pytest.fixture(scope="module")
def plan(program: Program) -> Plan:
    plan = first_fit_plan(program)
    assert check(program, plan) is None
    return plan


@pytest.fixture(scope="module")
def columns(program: Program, plan: Plan) -> Columns:
    message = board(program, plan, moves(program), simulate(program, plan), "one")
    header, columns = unpack(message)
    assert header["id"] == "one"
    assert header["fast_granules"] * header["granule"] == program.hardware.fast_bytes
    assert len(header["value_names"]) == len(program.values)
    assert header["regions"] == []
    return columns


def test_time_adds_up_to_the_latency(program: Program, plan: Plan, columns: Columns) -> None:
    simulation = simulate(program, plan)
    begin = columns["slot_begin"]
    assert begin[0] == 0
    assert begin[-1] == pytest.approx(simulation.latency_s)
    parts = columns["slot_fast"] + columns["slot_slow"] + columns["slot_stall"]
    assert np.allclose(np.diff(begin), parts, rtol=1e-5, atol=1e-12)


def test_sizes_and_addresses_may_have_more_than_32_bits(
    program: Program, plan: Plan, columns: Columns
) -> None:
    huge = enlarged(program)
    large = first_fit_plan(huge)
    _, found = unpack(board(huge, large, moves(huge), simulate(huge, large), "huge"))
    assert columns["stay_offset"].max() * HUGE > 2**32
    for name in ("group_granules", "stay_offset", "slot_used", "slot_reserved"):
        assert found[name].tolist() == (columns[name] * float(HUGE)).tolist(), name
    kept = columns["copy_offset"] != NONE
    assert (found["copy_offset"][kept] == columns["copy_offset"][kept] * float(HUGE)).all()


def test_stays_lie_within_fast_memory(program: Program, plan: Plan, columns: Columns) -> None:
    sizes = columns["group_granules"][columns["stay_group"]]
    assert len(sizes) == len(plan.stays) > 0
    capacity = program.hardware.fast_bytes // program.hardware.alignment
    assert np.all(columns["stay_offset"] + sizes <= capacity)
    assert np.all(columns["slot_used"] <= capacity)


def test_every_prefetch_arrives_in_a_stay(plan: Plan, columns: Columns) -> None:
    arrivals = columns["stay_arrival"]
    num_prefetches = sum(c.is_prefetch for c in plan.copies)
    assert np.count_nonzero(arrivals >= 0) == num_prefetches > 0
    assert np.all(columns["copy_offset"] >= 0)


def test_used_counts_each_slot(program: Program, plan: Plan) -> None:
    used = used_granules(program, plan.stays)
    for time in (0, 7, program.num_slots - 1):
        standing = [s for s in plan.stays if s.start <= time < s.end]
        expected = sum(program.groups[s.group].size_bytes for s in standing)
        expected += program.instructions[time].reserved_bytes
        assert abs(used[time] * program.hardware.alignment - expected) < len(standing) * 4096 + 1


def test_actions_follow_the_flags(program: Program, plan: Plan) -> None:
    every = moves(program)
    actions = actions_of(program, plan, every)
    for move, action in zip(every, actions, strict=True):
        if move.is_sink:
            assert action == NO_ACTION
        else:
            is_fast = plan.is_fast[program.touches[move.touch].accesses[0]]
            assert is_fast == (action in (COPY, NO_COPY))
    assert actions.count(COPY) == sum(c.is_prefetch for c in plan.copies)
    assert actions.count(DROP) > 0


def test_heat_orders_by_density() -> None:
    assert list(heat(np.array([0.0, 5.0, 1e-9, 5.0]))) == [0, 255, 127, 255]
    assert list(heat(np.array([]))) == []


@pytest.mark.parametrize("seed", range(6))
def test_any_program_can_be_drawn(seed: int) -> None:
    program = random_program(seed, 3 + 9 * seed)
    plan = first_fit_plan(program)
    every = moves(program)
    header, columns = unpack(board(program, plan, every, simulate(program, plan), "x"))
    assert [r[:2] for r in header["regions"]] == [[r.start, r.end] for r in program.regions]
    assert len(columns["move_time"]) == len(every)
    assert np.count_nonzero(columns["move_flags"] & SINK) == sum(m.is_sink for m in every)
    assert len(columns["service_start"]) == len(columns["service_prefetch"])
