"""A roofline of a plan's instructions: operations per byte against operations per second.

After Williams, Waterman and Patterson (2009), with a roof for each of the two memories. Bytes are
all that an instruction touches, wherever they lie, so that fast memory moves it straight up: from
where it is as planned to where it would be with everything fast.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from engine.analysis.attribution import Breakdown
from engine.analysis.layers import layers_of
from engine.errors import UnknownNameError
from engine.hardware.presets import Device, find_device
from engine.plan.model import Plan
from engine.program.model import Program
from ui.components.charts import COMPUTE, FAST, LINE, SLOW, escaped
from ui.components.units import count_text, share_text, size_text, time_text

BOUND_BY_SLOW, BOUND_BY_COMPUTE = "slow memory", "compute"
_NOTICED = 0.05
"""The share of its time from which on an instruction counts as bound by slow memory."""
_LEAST_SHARE = 2e-4
"""The share of the run from which on an instruction has to be within the chart's window."""
_LEAST_PX, _MOST_PX = 5.0, 26.0
_TERA, _MICRO, _MIB = 1e12, 1e-6, 2**20
Array = NDArray[np.float64]


def roofline_table(program: Program, plan: Plan, parts: Breakdown) -> pd.DataFrame:
    """One row per instruction, the longest first: µs, MiB, operations.

    - `now`, `fast`: its time as planned and with everything fast, waits left out (`stall`).
    - `slow_mib`, `all_mib`: bytes from and to slow memory, and all that it touches.
    - `operations` over one run; `intensity`: of them per byte; 0 where none is counted.
    - `needs`: the time that slow memory needs at least for its bytes. `bound`: slow memory, where
      that adds noticeably to `fast`.
    """
    slots = range(program.num_slots)
    slow_bytes, all_bytes = np.zeros(program.num_slots), np.zeros(program.num_slots)
    for touch in program.touches:
        all_bytes[touch.time] += touch.slow_bytes
        if not plan.is_fast[touch.accesses[0]]:
            slow_bytes[touch.time] += touch.slow_bytes
    flops = np.array([i.flops for i in program.instructions], dtype=float)
    fast_s = np.array(program.least_s, dtype=float)
    now_s = (parts.compute_s + parts.slow_s)[: program.num_slots]
    needs_s = slow_bytes / program.hardware.bandwidth
    paths = layers_of(program).paths
    table = pd.DataFrame(
        {
            "instruction": [i.name for i in program.instructions],
            "layer": [" / ".join(path) for path in paths],
            "now": now_s / _MICRO,
            "fast": fast_s / _MICRO,
            "gain": (now_s - fast_s) / _MICRO,
            "needs": needs_s / _MICRO,
            "bound": np.where(now_s - fast_s > _NOTICED * now_s, BOUND_BY_SLOW, BOUND_BY_COMPUTE),
            "slow_mib": slow_bytes / _MIB,
            "all_mib": all_bytes / _MIB,
            "operations": flops,
            "intensity": np.divide(flops, all_bytes, out=np.zeros_like(flops), where=all_bytes > 0),
            "stall": parts.stall_s[: program.num_slots] / _MICRO,
            "slot": list(slots),
        }
    )
    return table.sort_values("now", ascending=False, kind="stable", ignore_index=True)


def drawn(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that have a place in the chart: with operations, bytes and time."""
    return table[(table["intensity"] > 0) & (table["now"] > 0) & (table["fast"] > 0)]


def roofline_chart(program: Program, table: pd.DataFrame, height: int = 520) -> go.Figure:
    """The instructions as discs (as planned) and rings (all fast), with the roofs of the chip."""
    shown = drawn(table)
    figure = go.Figure()
    if shown.empty:
        return figure
    x = shown["intensity"].to_numpy(float)
    as_is = shown["operations"].to_numpy(float) / (shown["now"].to_numpy(float) * _MICRO) / _TERA
    all_fast = (
        shown["operations"].to_numpy(float) / (shown["fast"].to_numpy(float) * _MICRO) / _TERA
    )
    matters = shown["now"].to_numpy(float) >= _LEAST_SHARE * table["now"].sum()
    if not matters.any():
        matters = np.ones(len(shown), dtype=bool)
    span = (x[matters].min() / 2, x[matters].max() * 2)
    _add_roofs(figure, program, span)
    figure.add_scatter(
        x=np.column_stack([x, x, np.full(len(x), np.nan)]).ravel(),
        y=np.column_stack([as_is, all_fast, np.full(len(x), np.nan)]).ravel(),
        mode="lines",
        line={"color": LINE, "width": 0.8},
        opacity=0.6,
        hoverinfo="skip",
        showlegend=False,
    )
    sizes = _sizes(shown["now"].to_numpy(float))
    texts = [_hover(row) for row in shown.to_dict("records")]
    figure.add_scatter(
        x=x,
        y=all_fast,
        mode="markers",
        name="all fast",
        marker={"symbol": "circle-open", "size": sizes, "color": FAST, "line": {"width": 1.2}},
        hovertext=texts,
        hovertemplate="%{hovertext}<extra>all fast</extra>",
    )
    for bound, colour in ((BOUND_BY_COMPUTE, COMPUTE), (BOUND_BY_SLOW, SLOW)):
        mine = (shown["bound"] == bound).to_numpy()
        figure.add_scatter(
            x=x[mine],
            y=as_is[mine],
            mode="markers",
            name=f"as planned, bound by {bound}",
            marker={
                "size": sizes[mine],
                "color": colour,
                "opacity": 0.8,
                "line": {"width": 0},
            },
            customdata=shown["slot"].to_numpy()[mine],
            hovertext=[text for text, is_mine in zip(texts, mine, strict=True) if is_mine],
            hovertemplate="%{hovertext}<extra>as planned</extra>",
        )
    figure.update_layout(
        height=height,
        margin={"l": 10, "r": 16, "t": 34, "b": 44},
        legend={
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1,
            "yanchor": "bottom",
            "itemsizing": "constant",
        },
        xaxis={
            "title": "operations per byte that it touches",
            "type": "log",
            "dtick": 1,
            "range": [math.log10(end) for end in span],
        },
        yaxis={
            "title": "trillions of operations per second",
            "type": "log",
            "dtick": 1,
            "exponentformat": "none",
            "range": _range(figure, as_is[matters]),
        },
    )
    return figure


def _range(figure: go.Figure, speeds: Array) -> list[float]:
    """From the slowest instruction that matters to a little above the highest roof, as powers."""
    top = max(max(trace.y) for trace in figure.data if trace.name and trace.mode == "lines")
    return [math.log10(speeds.min() / 2), math.log10(1.6 * max(top, speeds.max()))]


def _sizes(now: Array) -> Array:
    """Diameters: areas as the shares of time."""
    scaled: Array = _MOST_PX * np.sqrt(now / now.max())
    return np.maximum(_LEAST_PX, scaled)


def _add_roofs(figure: go.Figure, program: Program, span: tuple[float, float]) -> None:
    """A line for what each memory lets through, as far as the peak of the compute units."""
    device = _device(program)
    peak = device.peak_flops if device else np.inf
    roofs: list[tuple[str, float, str]] = [("slow memory", program.hardware.bandwidth, "solid")]
    if device is not None:
        roofs.append(("fast memory", device.fast_bandwidth, "dash"))
    for name, bandwidth, dash in roofs:
        points = sorted({span[0], span[1], *([peak / bandwidth] if peak < np.inf else [])})
        x = np.array([p for p in points if span[0] <= p <= span[1]])
        figure.add_scatter(
            x=x,
            y=np.minimum(peak, bandwidth * x) / _TERA,
            mode="lines",
            name=f"{name}, {bandwidth / 1e9:,.0f} GB/s",
            line={"color": LINE, "width": 2, "dash": dash},
            hoverinfo="skip",
        )


def _device(program: Program) -> Device | None:
    try:
        return find_device(program.hardware.name)
    except UnknownNameError:
        return None


def _hover(row: Mapping[Hashable, Any]) -> str:
    micro = {name: row[name] * _MICRO for name in ("now", "fast", "stall")}
    lines = [
        f"<b>{escaped(row['instruction'])}</b>, slot {row['slot']}",
        escaped(row["layer"]),
        f"{time_text(micro['now'])} as planned, {time_text(micro['fast'])} all fast",
        f"{size_text(row['slow_mib'] * _MIB)} of"
        f" {size_text(row['all_mib'] * _MIB)} from and to slow memory",
        f"bound by {row['bound']}",
    ]
    if micro["stall"] > 0:
        lines.insert(3, f"waits {time_text(micro['stall'])} before it")
    return "<br>".join(line for line in lines if line)


def summary(table: pd.DataFrame) -> str:
    """A sentence on what binds the instructions, and on what the chart leaves out."""
    total = float(table["now"].sum())
    slow = table[table["bound"] == BOUND_BY_SLOW]
    text = (
        f"{count_text(len(slow), 'instruction')} of {len(table):,} are bound by slow memory as"
        f" planned: {share_text(_share(slow, total))} of the time. With everything in fast memory"
        f" the run would be {time_text(float(table['gain'].sum()) * _MICRO)} shorter, waits left"
        " out."
    )
    left = table.drop(drawn(table).index)
    if len(left):
        text += (
            f" {count_text(len(left), 'instruction')} without counted operations or bytes"
            f" ({share_text(_share(left, total))} of the time) are in the table alone."
        )
    return text


def _share(rows: pd.DataFrame, total: float) -> float:
    return float(rows["now"].sum()) / total if total else 0.0
