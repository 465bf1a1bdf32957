"""The chart of a program's demand: what wants to be in fast memory at once."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from engine.program.model import Program
from ui.components.charts import memory_chart

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


def pressure(program: Program) -> go.Figure:
    """What wants to be in fast memory at once, against how much there is, in MiB over the slots."""
    capacity = program.hardware.fast_bytes / _MIB
    figure = memory_chart(demand(program) / _MIB, capacity, "MiB wanted at once")
    figure.add_annotation(
        text=f"fast memory: {capacity:,.0f} MiB",
        x=1,
        y=capacity,
        xref="paper",
        xanchor="right",
        yanchor="bottom",
        showarrow=False,
    )
    figure.update_yaxes(rangemode="tozero")
    return figure
