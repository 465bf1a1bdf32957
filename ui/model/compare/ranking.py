"""Plans of one program side by side: what each costs, and how far from the best possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program
from ui.components.charts import LINE, SLOW, STALL, escaped
from ui.components.units import time_text

VALID = "valid"


@dataclass(frozen=True)
class Row:
    """One plan. `slow_s`: the cost of slow accesses, no stalls; `verdict`: `valid` or the rule.

    `remark`: whose plan it is, where that is not the solver's that was asked, and why.
    """

    solver: str
    latency_s: float
    slow_s: float
    stall_s: float
    verdict: str
    num_stays: int
    num_copies: int
    seconds: float | None
    remark: str = ""


def replaced_solver(plan: Plan) -> str:
    """The solver in place of whose own plan this one was given; empty if it was asked for."""
    asked = plan.notes.get("asked")
    return asked if isinstance(asked, str) and asked != plan.solver else ""


def _remark(plan: Plan) -> str:
    asked, own_s = replaced_solver(plan), plan.notes.get("own_latency_s")
    if not asked:
        return ""
    if isinstance(own_s, float):
        return f"{plan.solver}'s; {asked}'s takes {time_text(own_s)}"
    why = plan.notes.get("ended_early")
    return f"{plan.solver}'s" + (f"; {asked} has none: {why}" if isinstance(why, str) else "")


def _seconds_text(seconds: float) -> str:
    """In four digits, as all quantities.

    >>> [_seconds_text(seconds) for seconds in (0.25, 99.999, 109.32, 1234.5)]
    ['0.25 s', '100.0 s', '109.3 s', '1,234 s']
    """
    decimals = 2 if seconds < 99.995 else 1 if seconds < 999.95 else 0
    return f"{seconds:,.{decimals}f} s"


def _per_cent_over(latency_s: float, least_s: float) -> float:
    """As it is shown: a plan is below a bound by rounding alone, which is no negative zero.

    >>> _per_cent_over(1.0 - 1e-9, 1.0), _per_cent_over(0.9, 1.0), _per_cent_over(1.0612, 1.0)
    (0.0, -10.0, 6.12)
    """
    return round(100 * (latency_s / least_s - 1), 2) + 0.0 if least_s > 0 else 0.0


def row(program: Program, name: str, plan: Plan) -> Row:
    """The row of a plan, which is simulated and checked for it."""
    simulation = simulate(program, plan)
    violation = check(program, plan)
    seconds = plan.notes.get("seconds")
    return Row(
        solver=name,
        latency_s=simulation.latency_s,
        slow_s=simulation.compute_s - simulation.all_fast_s,
        stall_s=simulation.stall_s,
        verdict=violation.rule if violation else VALID,
        num_stays=len(plan.stays),
        num_copies=len(plan.copies),
        seconds=float(seconds) if isinstance(seconds, (int, float)) else None,
        remark=_remark(plan),
    )


def ranked(rows: Sequence[Row]) -> list[Row]:
    """The rows, best first; plans that break a rule come last, whatever they promise."""
    return sorted(rows, key=lambda r: (r.verdict != VALID, r.latency_s))


def least_s(program: Program, bound_s: float | None) -> float:
    """The best latency that cannot be excluded: the bound if it is known, else all fast."""
    return max(program.all_fast_s, bound_s or 0.0)


def share_saved(program: Program, latency_s: float, bound_s: float | None) -> float:
    """Part of the possible saving that a plan takes: 0 for all slow, 1 at the bound."""
    possible = program.all_slow_s - least_s(program, bound_s)
    return (program.all_slow_s - latency_s) / possible if possible > 0 else 1.0


def table(program: Program, rows: Sequence[Row], bound_s: float | None) -> pd.DataFrame:
    """The comparison, best plan first; the program's times in microseconds, shares in percent."""
    order = ranked(rows)
    least = least_s(program, bound_s)
    return pd.DataFrame(
        {
            "solver": [r.solver for r in order],
            "runtime": [r.latency_s * 1e6 for r in order],
            "saved": [100 * share_saved(program, r.latency_s, bound_s) for r in order],
            "over": [
                math.nan if bound_s is None else _per_cent_over(r.latency_s, least) for r in order
            ],
            "stalls": [r.stall_s * 1e6 for r in order],
            "checker": [r.verdict for r in order],
            "stays": [r.num_stays for r in order],
            "copies": [r.num_copies for r in order],
            "seconds": ["–" if r.seconds is None else _seconds_text(r.seconds) for r in order],
            "remark": [r.remark for r in order],
        }
    )


_BAR_PX = 38


def losses(program: Program, rows: Sequence[Row], bound_s: float | None) -> go.Figure:
    """What each plan loses to slow memory and stalls, in microseconds above all fast."""
    order = ranked(rows)[::-1]
    breaks = ["" if r.verdict == VALID else f" (breaks {r.verdict})" for r in order]
    names = [escaped(r.solver) + rule for r, rule in zip(order, breaks, strict=True)]
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
        least = 1e6 * (least_s(program, bound_s) - program.all_fast_s)
        figure.add_vrect(x0=0, x1=least, fillcolor=LINE, opacity=0.16, line_width=0, layer="below")
        _add_mark(figure, least, "lower bound", "dot")
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
