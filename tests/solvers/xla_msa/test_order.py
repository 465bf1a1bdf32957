"""Memory boundedness by hand, and the order of placement."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from engine.hardware.presets import DEVICES
from engine.program.model import Program, Region
from engine.solvers.xla_msa.order import memory_boundedness, placement_order
from engine.solvers.xla_msa.slots import ElapsedTimes, Levels, MsaOptions
from tests.solvers.xla_msa.programs import Tensor, program_of


def times_of(program: Program) -> ElapsedTimes:
    return ElapsedTimes(program, Levels(program), 5.0)


def order_of(program: Program, options: MsaOptions | None = None) -> list[int]:
    return placement_order(program, times_of(program), options or MsaOptions())


def test_boundedness_is_the_sum_of_benefits_over_the_root_of_the_size() -> None:
    tensors = [
        Tensor(16, [(0, "w", 3.0), (1, "r", 5.0), (2, "rw", 0.0)]),
        Tensor(25, [(3, "w", 0.6), (4, "r", 0.0)], drawn=0.2),
    ]
    program = program_of(tensors, 5)
    assert memory_boundedness(program, times_of(program)) == pytest.approx([64 / 4, 10 / 5])


def test_a_loop_counts_five_times_whatever_its_trip_count() -> None:
    regions = [Region("outer", 1, 5, 7.0), Region("inner", 2, 4, 21.0, 0)]
    tensors = [Tensor(16, [(0, "w", 1.0), (1, "r", 1.0), (3, "r", 1.0)])]
    program = program_of(tensors, 6, regions)
    scores = memory_boundedness(program, times_of(program))
    assert scores[0] == pytest.approx(16.0 * (1 + 5 + 25) / 4)


def test_instructions_bound_by_compute_rank_below_those_bound_by_memory() -> None:
    # A byte a second; slot 1 computes 20 s, slot 2 100 s. Slot 1 draws 16 bytes, slot 2 41.
    tensors = [
        Tensor(16, [(0, "w", 3.0), (1, "r", 5.0), (2, "r", 5.0)]),
        Tensor(25, [(2, "r", 1.0)], is_input=True),
        Tensor(4, [(3, "r", 1.0)], is_input=True),
    ]
    program = program_of(tensors, 4)
    peak = DEVICES["tpu-v5e"].peak_flops
    counts = [0.0, 20 * peak, 100 * peak, 1 * peak]
    counted = replace(
        program,
        hardware=replace(program.hardware, name="tpu-v5e"),
        instructions=tuple(
            replace(i, flops=n) for i, n in zip(program.instructions, counts, strict=True)
        ),
    )
    scores = memory_boundedness(counted, times_of(counted))
    assert scores == pytest.approx([16 / 4, (41 - 100) / 5, 4 / 2])
    # Hardware of unknown speed computes in no time.
    elsewhere = replace(counted, hardware=program.hardware)
    assert memory_boundedness(elsewhere, times_of(elsewhere)) == pytest.approx([12, 5, 2])


def test_order_is_boundedness_then_size_then_length_then_first_last_use() -> None:
    tensors = [
        Tensor(16, [(2, "w", 4.0), (3, "r", 4.0)]),
        Tensor(16, [(0, "w", 4.0), (3, "r", 4.0)]),
        Tensor(64, [(2, "w", 8.0), (3, "r", 4.0)], drawn=0.5),
        Tensor(16, [(2, "w", 5.0), (3, "r", 4.0)], drawn=2.0),
        Tensor(16, [(5, "r", 4.0)], is_input=True, drawn=2.0),
        Tensor(16, [(4, "r", 4.0)], is_input=True, drawn=2.0),
    ]
    assert order_of(program_of(tensors, 6)) == [3, 2, 5, 4, 1, 0]


def test_releases_of_a_slot_come_after_its_allocations() -> None:
    # Both live for two slots, but slot 2 releases other values while only the second one lives.
    tensors = [
        Tensor(16, [(0, "w", 4.0), (2, "r", 4.0)]),
        Tensor(16, [(2, "w", 4.0), (4, "r", 4.0)]),
        Tensor(4, [(2, "rw", 4.0)], is_input=True),
    ]
    assert order_of(program_of(tensors, 5))[:2] == [1, 0]


def test_priorities_go_before_boundedness() -> None:
    tensors = [Tensor(16, [(0, "w", 1.0), (1, "r", 1.0)], drawn=n + 1.0) for n in range(4)]
    program = program_of(tensors, 2)
    assert order_of(program) == [3, 2, 1, 0]
    assert order_of(program, MsaOptions(priorities={0: -1, 3: 1})) == [0, 2, 1, 3]


def test_groups_that_cannot_be_fast_are_left_out() -> None:
    tensors = [
        Tensor(101, [(0, "w", 9.0)]),
        Tensor(0, [(0, "w", 9.0)]),
        Tensor(5, [], is_input=True),
        Tensor(math.isqrt(100), [(0, "w", 1.0)]),
    ]
    assert order_of(program_of(tensors, 1)) == [3]
