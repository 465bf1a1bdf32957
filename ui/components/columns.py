"""Columns that several packed messages have in common: granules, moves, times, kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.game.moves import Move
from engine.plan.simulate import Simulation
from engine.program.model import Program
from ui.components.kinds import kind_of_group

READS, WRITES, SINK = 1, 2, 4
"""Flags of a move."""

Column = NDArray[Any]


def granules(program: Program, num_bytes: int) -> int:
    """Bytes in whole granules, rounded up."""
    return -(-num_bytes // program.hardware.alignment)


def fast_granules(program: Program) -> int:
    """Granules of the whole fast memory."""
    return program.hardware.fast_bytes // program.hardware.alignment


def reserved_granules(program: Program) -> NDArray[np.int64]:
    """`[T]` granules of scratch per slot."""
    return np.array(
        [granules(program, i.reserved_bytes) for i in program.instructions], dtype=np.int64
    )


def group_granules(program: Program) -> NDArray[np.uint32]:
    """`[G]` size of each group."""
    return np.array([granules(program, g.size_bytes) for g in program.groups], "u4")


def group_kinds(program: Program) -> NDArray[np.uint8]:
    """`[G]` kind of each group (`ui.components.kinds`)."""
    return np.array([kind_of_group(g) for g in program.groups], "u1")


def slot_begin(simulation: Simulation) -> NDArray[np.float64]:
    """`[T + 1]` seconds at which each slot begins, the stall before it included; then the end."""
    timeline = simulation.timeline
    return np.append(timeline.start_s - timeline.stall_before_s, simulation.latency_s)


def move_columns(moves: Sequence[Move]) -> dict[str, Column]:
    """Slot, group and flags of each move."""
    flags = [READS * m.reads + WRITES * m.writes + SINK * m.is_sink for m in moves]
    return {
        "move_time": np.array([m.time for m in moves], "i4"),
        "move_group": np.array([m.group for m in moves], "i4"),
        "move_flags": np.array(flags, "u1"),
    }
