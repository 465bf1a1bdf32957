"""Where the time goes: per instruction and kind, for one plan or as the difference of two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from engine.analysis.attribution import Breakdown
from engine.program.model import Program
from ui.components.charts import COMPUTE, SLOW, STALL, escaped
from ui.components.names import instruction_name

_MOST_BARS = 24
_KINDS = (("compute", COMPUTE), ("slow", SLOW), ("stall", STALL))
_LABELS = {"compute": "compute", "slow": "slow accesses", "stall": "stalls before it"}


def time_table(
    program: Program,
    first: Breakdown,
    second: Breakdown | None,
    uncounted_s: Sequence[float] = (),
) -> pd.DataFrame:
    """One row per instruction that takes time, in microseconds, largest first.

    With `second` the columns are the differences `second - first`, and only rows that differ are
    kept. `slot` `T` is the end of the program. `uncounted_s` `[T]`: how much an instruction's
    placement may save beyond what counts (`engine.program.provenance`).
    """
    columns = {
        "compute": first.compute_s,
        "slow": first.slow_s,
        "stall": first.stall_s,
    }
    if second is not None:
        columns = {
            "compute": second.compute_s - first.compute_s,
            "slow": second.slow_s - first.slow_s,
            "stall": second.stall_s - first.stall_s,
        }
    total = sum(columns.values(), np.zeros(program.num_slots + 1))
    size = sum((np.abs(c) for c in columns.values()), np.zeros(program.num_slots + 1))
    uncounted = np.zeros(program.num_slots + 1)
    uncounted[: len(uncounted_s)] = uncounted_s
    order = [int(k) for k in np.argsort(-np.abs(total), kind="stable") if size[k] > 1e-15]
    return pd.DataFrame(
        {
            "instruction": [instruction_name(program, k) for k in order],
            "opcode": [_opcode(program, k) for k in order],
            "slot": order,
            "total": 1e6 * total[order],
            **{name: 1e6 * column[order] for name, column in columns.items()},
            "uncounted": 1e6 * uncounted[order],
            "source": [_source(program, k) for k in order],
        }
    )


def time_chart(table: pd.DataFrame, is_difference: bool, height: int = 420) -> go.Figure:
    """The largest rows of `time_table` as stacked bars."""
    shown = table.head(_MOST_BARS).iloc[::-1]
    labels = [
        f"{escaped(n)}  · {s}" for n, s in zip(shown["instruction"], shown["slot"], strict=True)
    ]
    figure = go.Figure()
    for name, colour in _KINDS:
        if is_difference and not np.any(np.abs(shown[name]) > 1e-9):
            continue
        figure.add_bar(
            y=labels,
            x=shown[name],
            name=_LABELS[name],
            orientation="h",
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate="%{y}: %{x:,.2f} µs of " + _LABELS[name] + "<extra></extra>",
        )
    figure.update_layout(
        barmode="relative",
        height=height,
        bargap=0.25,
        margin={"l": 10, "r": 16, "t": 34, "b": 40},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom"},
        xaxis={"title": "µs more (right) or less (left)" if is_difference else "µs"},
        yaxis={"tickfont": {"size": 11}},
    )
    return figure


def totals(parts: Breakdown) -> dict[str, float]:
    """Seconds of each kind over the whole run."""
    return {
        "compute": float(parts.compute_s.sum()),
        "slow": float(parts.slow_s.sum()),
        "stall": float(parts.stall_s.sum()),
    }


def kinds_table(names: Sequence[str], parts: Sequence[Breakdown]) -> pd.DataFrame:
    """One row per plan: microseconds of compute, slow accesses and stalls."""
    rows = [totals(p) for p in parts]
    return pd.DataFrame(
        {
            "plan": list(names),
            **{kind: [1e6 * row[kind] for row in rows] for kind in ("compute", "slow", "stall")},
            "total": [1e6 * sum(row.values()) for row in rows],
        }
    )


def _opcode(program: Program, slot: int) -> str:
    return program.instructions[slot].opcode if slot < program.num_slots else ""


def _source(program: Program, slot: int) -> str:
    return program.instructions[slot].op_name if slot < program.num_slots else ""
