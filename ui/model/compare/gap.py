"""The gap between plans as pages show it: a sentence, a curve, a ranking, a chain of causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from htpy import Node, Renderable, b, code, div, i, li, ol, p, span
from numpy.typing import NDArray

from engine.analysis.causes import NOBODY, Cause, Chain, Why
from engine.analysis.gap import Opening
from engine.debugging.gap_account import Account
from engine.game.moves import ACTION_NAMES
from engine.plan.model import Stay
from engine.program.model import Program
from ui.components.charts import LINE, STALL, escaped
from ui.components.names import instruction_name, slots_text, tensor_name
from ui.components.units import (
    count_text,
    gain_text,
    noise_s,
    share_text,
    size_text,
    time_text,
    times_text,
)

FloatArray = NDArray[np.float64]
EXPLAINED, OPEN, OF_BOUND = "#2a9d80", "#e08a2c", "#8a94a3"
_PX = 250
_MOST_POINTS = 3000
_MOST_ROWS = 60
_MOST_LINKS = 14
DECISION, SLOT = "decision", "open"


def account_html(found: Account, is_looking: bool) -> str:
    """What the gap is made of, in a sentence and a bar.

    `is_looking`: whether decisions are being looked for.
    """
    gap, explained, open_, bounds = times_text(
        found.gap_s, found.explained_s, found.open_s, found.bounds_s
    )
    goal = "the best plan known" if found.bound_s is None else "the bound"
    if found.gap_s < noise_s(0.0):
        text: Node = [b["Nothing to gain."], f" The game is within {gap} of {goal}."]
        return str(div(".gap")[p[text]])
    parts: list[Node] = []
    if found.corrections:
        number = len(found.corrections)
        parts.append(
            [b(".explained")[explained], f" by {count_text(number, 'decision')} of the agent"]
        )
    if found.open_s >= noise_s(found.gap_s):
        more = ", which no decision that was tried explains alone" if found.corrections else ""
        parts.append([b(".open")[open_], f" open: the best plan known does something else{more}"])
    if found.bound_s is not None and found.bounds_s >= noise_s(found.gap_s):
        parts.append([b(".bounds")[bounds], " the bound's: no plan known does better"])
    joined: list[Node] = []
    for number, part in enumerate(parts):
        joined += ["; " if number else "", part]
    waits = span(".note")[" Single decisions are being looked for …"] if is_looking else None
    return str(
        div(".gap")[
            p[b[gap], f" to {goal}: ", joined, ".", waits],
            _bar(found),
            _regained(found),
        ]
    )


def _regained(found: Account) -> Node:
    """What the open slots lose and others regain, where the two are not the same."""
    in_all_s = lost_s(found.open)
    if in_all_s - found.open_s < noise_s(found.gap_s):
        return None
    lost, regained = times_text(in_all_s, in_all_s - found.open_s)
    return p(".note")[
        f"The open slots lose {lost} together; in others the game regains {regained}."
    ]


def _bar(found: Account) -> Renderable:
    parts = (
        ("explained", found.explained_s, "explained by decisions"),
        ("open", found.open_s, "open"),
        ("bounds", found.bounds_s, "the bound's"),
    )
    shares = [(kind, max(0.0, s) / found.gap_s, name) for kind, s, name in parts]
    label = ", ".join(f"{share_text(share)} {name}" for _, share, name in shares)
    return div(".gap-bar", role="img", aria_label=label)[
        (
            i(class_=kind, style=f"width:{100 * share:.2f}%", title=f"{name}: {share_text(share)}")
            for kind, share, name in shares
            if share > 0
        )
    ]


@dataclass(frozen=True)
class Row:
    """A part of the gap: a decision or an open slot. `number`: of the correction, or -1."""

    kind: str
    cost_s: float
    time: int
    group: int
    number: int
    text: str


def rows_of(program: Program, found: Account) -> list[Row]:
    """The parts of the gap, the largest first; what is noise is left out."""
    least_s = noise_s(found.gap_s)
    rows = [
        Row(
            DECISION,
            c.gain_s,
            c.time,
            c.group,
            number,
            f"{ACTION_NAMES[c.better]} in place of {ACTION_NAMES[c.played]}",
        )
        for number, c in enumerate(found.corrections)
    ]
    rows += opening_rows(program, found.open, least_s)
    return sorted(rows, key=lambda row: -row.cost_s)[:_MOST_ROWS]


def lost_s(found: Sequence[Opening]) -> float:
    """Seconds that slots lose together; what others regain is not taken off."""
    return sum(o.cost_s for o in found if o.cost_s > 0)


def opening_rows(program: Program, found: Sequence[Opening], least_s: float) -> list[Row]:
    """A row per slot in which at least so much is lost, the largest first."""
    return [
        Row(SLOT, o.cost_s, o.time, o.group, -1, _opening_text(program, o))
        for o in found
        if o.cost_s >= least_s
    ]


def _opening_text(program: Program, opening: Opening) -> str:
    first = opening.shares[0]
    what = "waits for it" if first.stall_s > first.slow_s else "takes it from slow memory"
    more = len([s for s in opening.shares[1:] if s.cost_s > 0])
    return what + (f", and {count_text(more, 'more tensor')}" if more else "")


def table_of(program: Program, rows: Sequence[Row], whole_s: float) -> pd.DataFrame:
    """The rows as a table, microseconds, with each one's share of what all of them lose."""
    return pd.DataFrame(
        {
            "part": [row.kind for row in rows],
            "cost": [1e6 * row.cost_s for row in rows],
            "share": [row.cost_s / whole_s if whole_s else 0.0 for row in rows],
            "tensor": [tensor_name(program, row.group) for row in rows],
            "slot": [row.time for row in rows],
            "where": [instruction_name(program, row.time) for row in rows],
            "what": [row.text for row in rows],
        }
    )


@dataclass(frozen=True)
class Curve:
    """A line of the chart: its name and what it takes in each slot, `[T + 1]` seconds."""

    name: str
    seconds: FloatArray
    colour: str
    dash: str = "solid"


def gap_chart(base_s: FloatArray, curves: Sequence[Curve], marks: Sequence[Row]) -> go.Figure:
    """How far each line is behind the base so far, slot by slot; `marks`: where it opens most."""
    figure = go.Figure()
    slots = np.arange(len(base_s))
    for curve in curves:
        behind = 1e6 * np.cumsum(curve.seconds - base_s)
        kept = _thinned(behind)
        figure.add_scatter(
            x=slots[kept],
            y=behind[kept],
            mode="lines",
            name=escaped(curve.name),
            line={"color": curve.colour, "width": 1.8, "shape": "hv", "dash": curve.dash},
            hovertemplate="slot %{x:,}: %{y:+,.4g} µs<extra>" + escaped(curve.name) + "</extra>",
        )
    if curves and marks:
        behind = 1e6 * np.cumsum(curves[0].seconds - base_s)
        figure.add_scatter(
            x=[m.time for m in marks],
            y=[float(behind[min(m.time, len(behind) - 1)]) for m in marks],
            mode="markers",
            name="opens most",
            marker={"color": STALL, "size": 8, "symbol": "circle-open", "line": {"width": 2}},
            text=[f"+{time_text(m.cost_s)}" for m in marks],
            hovertemplate="slot %{x:,}: %{text}<extra></extra>",
        )
    figure.add_hline(y=0, line={"color": LINE, "width": 1, "dash": "dot"})
    figure.update_layout(
        height=_PX,
        margin={"l": 10, "r": 12, "t": 28, "b": 36},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom"},
        xaxis={"title": "slot", "rangemode": "tozero"},
        yaxis={"title": "µs behind so far", "tickformat": ",.4~g"},
        hovermode="closest",
    )
    return figure


def _thinned(values: FloatArray) -> NDArray[np.int64]:
    """Indices to draw: all of a short line, of a long one those at which it changes most."""
    if len(values) <= _MOST_POINTS:
        return np.arange(len(values))
    steps = np.abs(np.diff(values, prepend=values[0]))
    steps[[0, -1]] = np.inf
    return np.sort(np.argsort(-steps, kind="stable")[:_MOST_POINTS])


def chain_html(program: Program, chain: Chain, names: tuple[str, str]) -> str:
    """The chain of causes as a tree. `names`: of the plan it is held against, and of the plan."""
    least_s = noise_s(abs(chain.total_s))
    kept = chain.telling(least_s)
    shown = set(_weightiest(chain, kept))
    children: dict[int, list[int]] = {}
    for number in sorted(shown):
        children.setdefault(chain.causes[number].by, []).append(number)

    def branch(parent: int) -> Node:
        rows = children.get(parent, [])
        return (
            ol[(li[_cause_html(program, chain, n, names), branch(n)] for n in rows)]
            if rows
            else None
        )

    rest_s = chain.total_s - sum(chain.causes[n].cost_s for n in shown)
    hidden = len(chain.causes) - len(shown)
    rest = (
        f"{count_text(hidden, 'other tensor')} of the chain, and all outside it: "
        if hidden
        else "All others: "
    )
    return str(
        div(".chain")[
            branch(NOBODY),
            p(".note")[rest, _cost_html(rest_s), ". In all ", _cost_html(chain.total_s), "."],
        ]
    )


def _weightiest(chain: Chain, kept: Sequence[int]) -> list[int]:
    """The heaviest causes, each with those that lead to it, about `_MOST_LINKS` of them."""
    shown: set[int] = set()
    for number in sorted(kept, key=lambda n: (n != 0, -abs(chain.causes[n].cost_s))):
        way, at = [], number
        while at != NOBODY and at not in shown:
            way.append(at)
            at = chain.causes[at].by
        if len(shown) + len(way) > _MOST_LINKS and shown:
            continue
        shown.update(way)
    return sorted(shown)


def _cause_html(program: Program, chain: Chain, number: int, names: tuple[str, str]) -> Node:
    cause = chain.causes[number]
    name = code[tensor_name(program, cause.group)]
    size = span(".note")[f" {size_text(program.groups[cause.group].size_bytes)} "]
    return [name, size, _cost_html(cause.cost_s), " ", span[_why(program, chain, cause, names)]]


def _why(program: Program, chain: Chain, cause: Cause, names: tuple[str, str]) -> str:
    if cause.why is Why.FIRST:
        return f"is served otherwise under {names[1]} than under {names[0]}"
    before = tensor_name(program, chain.causes[cause.by].group)
    if cause.why is Why.ROAD:
        return f"its copy shares the road with that of {before}"
    assert cause.mine is not None
    assert cause.theirs is not None
    if cause.why is Why.KEPT_OUT:
        return (
            f"is kept out: {before} stands there in {_stands(cause.theirs)}, where"
            f" {names[0]} has it in {_stands(cause.mine)}"
        )
    return (
        f"stands in {_stands(cause.mine)} there, where {names[0]} has {before}"
        f" in {_stands(cause.theirs)}"
    )


def _stands(stay: Stay) -> str:
    return slots_text(stay.start, stay.end)


def _cost_html(seconds: float) -> Renderable:
    is_noise = abs(seconds) < noise_s(0.0)
    kind = "" if is_noise else "worse" if seconds > 0 else "better"
    return b(class_=f"cost {kind}")["± 0" if is_noise else gain_text(seconds)]
