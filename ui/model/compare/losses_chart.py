"""The chart of runtimes: what each plan loses to slow memory and to stalls."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from engine.program.model import Program
from ui.components.charts import LINE, SLOW, STALL
from ui.components.units import time_text
from ui.model.compare.ranking import VALID, Row, floor_s, ranked

_BAR_PX = 38


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
