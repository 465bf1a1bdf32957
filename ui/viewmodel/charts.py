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
_MOST_POINTS = 1500


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
    """What wants to be in fast memory at once, against how much there is, in MiB over the steps."""
    bytes_wanted = demand(program) / 2**20
    capacity = program.hardware.fast_bytes / 2**20
    stride = max(1, len(bytes_wanted) // _MOST_POINTS)
    # The peak of each stretch: thinning must not hide what overflows.
    steps = np.arange(0, len(bytes_wanted), stride)
    peaks = np.maximum.reduceat(bytes_wanted, steps) if len(steps) else bytes_wanted
    figure = go.Figure()
    figure.add_scatter(
        x=steps,
        y=peaks,
        mode="lines",
        fill="tozeroy",
        line={"color": FAST, "width": 1.2, "shape": "hv"},
        name="wanted",
        hovertemplate="slot %{x:,}: %{y:,.1f} MiB<extra></extra>",
    )
    figure.add_hline(
        y=capacity,
        line={"color": STALL, "width": 2},
        annotation={
            "text": f"{program.hardware.fast_name} {capacity:,.0f} MiB",
            "xanchor": "right",
            "x": 1,
            "yanchor": "bottom",
        },
    )
    figure.update_layout(
        height=230,
        margin={"l": 10, "r": 10, "t": 10, "b": 36},
        showlegend=False,
        xaxis={"title": "slot"},
        yaxis={"title": "MiB wanted at once", "rangemode": "tozero"},
    )
    return figure
