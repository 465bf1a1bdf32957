"""The chart of a program's demand: what wants to be in fast memory at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.program.model import Program
from ui.components.charts import STALL, Lines, Mark, memory_chart

_MIB = 2**20


def demand(program: Program) -> NDArray[np.int64]:
    """`[T]` bytes wanted at once: all that may be fast, from first to last touch."""
    change = np.zeros(program.num_slots + 1, dtype=np.int64)
    for group, touches in zip(program.groups, program.touches_of_group, strict=True):
        if touches and group.may_be_fast:
            change[program.touches[touches[0]].time] += group.size_bytes
            over = max(program.touches[i].end for i in touches)
            change[program.num_slots if group.is_live_out else over] -= group.size_bytes
    return np.cumsum(change)[:-1]


def pressure(program: Program) -> Lines:
    """What wants to be in fast memory at once, against how much there is, in MiB over the slots."""
    capacity = program.hardware.fast_bytes / _MIB
    line = Mark("y", capacity, f"{program.hardware.fast_name} {capacity:,.0f} MiB", STALL)
    return memory_chart(demand(program) / _MIB, line, "MiB wanted at once")
