"""Plotly figures, without any page around them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from engine.program.model import Program
from ui.viewmodel.ranking import VALID, Row, floor_s, ranked
from ui.viewmodel.units import time_text

SLOW, STALL, FAST, LINE = "#e08a2c", "#d23b4e", "#3f7fd9", "#8a94a3"
COMPUTE = "#9aa6b5"
_BAR_PX = 38
_MEMORY_PX = 225
_MIB = 2**20
_MOST_POINTS = 3000


def losses(program: Program, rows: Sequence[Row], bound_s: float | None) -> go.Figure:
    """What each plan loses to slow memory and stalls, in microseconds above all fast."""
    order = ranked(rows)[::-1]
    names = [r.solver if r.verdict == VALID else f"{r.solver} (breaks {r.verdict})" for r in order]
    figure = go.Figure()
    _add_bars(figure, names, "slow memory", SLOW, [r.slow_s for r in order])
    _add_bars(figure, names, "stalls", STALL, [r.stall_s for r in order])
    for name, row in zip(names, order, strict=True):
        figure.add_annotation(
            y=name,
            x=1e6 * (row.latency_s - program.all_fast_s),
            text=f" {time_text(row.latency_s)}",
            showarrow=False,
            xanchor="left",
        )
    if bound_s is not None:
        floor = 1e6 * (floor_s(program, bound_s) - program.all_fast_s)
        figure.add_vrect(x0=0, x1=floor, fillcolor=LINE, opacity=0.16, line_width=0, layer="below")
        _add_mark(figure, floor, "lower bound", "dot")
    _add_mark(figure, 1e6 * (program.all_slow_s - program.all_fast_s), "all slow", "solid")
    figure.update_layout(
        barmode="stack",
        bargap=0.35,
        height=130 + _BAR_PX * max(1, len(order)),
        margin={"l": 10, "r": 40, "t": 30, "b": 72},
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "traceorder": "normal"},
        xaxis={
            "title": f"µs above all fast ({time_text(program.all_fast_s)})",
            "rangemode": "tozero",
            "tickformat": ",~r",
        },
        yaxis={"tickfont": {"size": 14}},
    )
    return figure


def _add_bars(
    figure: go.Figure, names: list[str], label: str, colour: str, seconds: list[float]
) -> None:
    figure.add_bar(
        y=names,
        x=[1e6 * s for s in seconds],
        name=label,
        orientation="h",
        marker={"color": colour, "line": {"width": 0}},
        hovertemplate="%{y}: %{x:,.1f} µs of " + label + "<extra></extra>",
    )


def _add_mark(figure: go.Figure, x: float, text: str, dash: str) -> None:
    figure.add_vline(
        x=x,
        line={"color": LINE, "width": 2, "dash": dash},
        annotation={"text": text, "yref": "paper", "y": 1.0, "yanchor": "bottom"},
    )


def demand(program: Program) -> NDArray[np.int64]:
    """`[T]` bytes wanted at once: all that may be fast, from first to last touch."""
    change = np.zeros(program.num_slots + 1, dtype=np.int64)
    for group, touches in zip(program.groups, program.touches_of_group, strict=True):
        if touches and group.may_be_fast:
            change[program.touches[touches[0]].time] += group.size_bytes
            last = program.num_slots if group.is_live_out else program.touches[touches[-1]].time + 1
            change[last] -= group.size_bytes
    return np.cumsum(change)[:-1]


def pressure(program: Program) -> go.Figure:
    """What wants to be in fast memory at once, against how much there is, in MiB over the slots."""
    capacity = program.hardware.fast_bytes / _MIB
    figure = memory_chart(demand(program) / _MIB, capacity, "MiB wanted at once")
    figure.add_annotation(
        text=f"{program.hardware.fast_name} {capacity:,.0f} MiB",
        x=1,
        y=capacity,
        xref="paper",
        xanchor="right",
        yanchor="bottom",
        showarrow=False,
    )
    figure.update_yaxes(rangemode="tozero")
    return figure


def memory_chart(mib: NDArray[np.float64], capacity: float, title: str) -> go.Figure:
    """`mib` per slot as an area, with a line at the capacity."""
    stride = max(1, len(mib) // _MOST_POINTS)
    # The peak of each stretch: thinning must not hide the fullest moment.
    slots = np.arange(0, len(mib), stride)
    peaks = np.maximum.reduceat(mib, slots) if len(slots) else mib
    figure = go.Figure()
    figure.add_scatter(
        x=slots,
        y=peaks,
        mode="lines",
        fill="tozeroy",
        line={"color": FAST, "width": 1.2, "shape": "hv"},
        hovertemplate="slot %{x:,}: %{y:,.2f} MiB<extra></extra>",
    )
    figure.add_hline(y=capacity, line={"color": STALL, "width": 1.5})
    figure.update_layout(
        height=_MEMORY_PX,
        margin={"l": 10, "r": 10, "t": 12, "b": 36},
        showlegend=False,
        xaxis={"title": "slot"},
        yaxis={"title": title},
    )
    return figure
