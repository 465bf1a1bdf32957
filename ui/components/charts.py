"""Small charts as plain data: bars that are stacked, and lines, areas and points.

`ui.components.chart_view` shows them. They are drawn by a script of our own: the library that
could, four megabytes of it, kept the whole page blank for seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SLOW, STALL, FAST, LINE = "#e08a2c", "#d23b4e", "#3f7fd9", "#8a94a3"
COMPUTE = "#9aa6b5"
AREA, POINTS, PLAIN, STEPS = "area", "points", "plain", "steps"
DOTTED, SOLID = "dotted", "solid"
_MEMORY_PX = 225
_MOST_POINTS = 3000


@dataclass(frozen=True)
class Mark:
    """A line across the chart, at a value of the axis `x` or `y`, with a text at its end."""

    axis: str
    at: float
    text: str = ""
    colour: str = LINE
    dash: str = SOLID


@dataclass(frozen=True)
class Part:
    """One part of every bar; `values`: one per bar."""

    name: str
    colour: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Bars:
    """Horizontal bars of several parts, the first one on top; negative parts go to the left.

    `notes`: a text at the end of each bar. `shaded`: from the left edge to here, the ground is
    darker; None for nowhere. `unit`: of the values, as the axis and the hovered bar say it.
    """

    labels: tuple[str, ...]
    parts: tuple[Part, ...]
    title: str
    unit: str
    height: int
    notes: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    shaded: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The data of the view."""
        return {"kind": "bars", **asdict(self)}


@dataclass(frozen=True)
class Series:
    """Values over `x`; None is a gap. `style`: `AREA`, `POINTS`, `PLAIN` or `STEPS`."""

    name: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    colour: str
    style: str = PLAIN
    dash: str = SOLID


@dataclass(frozen=True)
class Lines:
    """Series over one axis. `top`: where the upper axis ends, None: where the values do.

    `is_log`: the values have a logarithmic axis, on which only what is positive is drawn.
    `x_name`, `unit`: how the hovered place is called, and what its values are.
    """

    series: tuple[Series, ...]
    x_title: str
    y_title: str
    x_name: str
    unit: str = ""
    height: int = 300
    marks: tuple[Mark, ...] = ()
    top: float | None = None
    is_log: bool = False

    def to_json(self) -> dict[str, Any]:
        """The data of the view."""
        return {"kind": "lines", **asdict(self)}


Chart = Bars | Lines


def finite(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """The values with a gap in place of what no chart can show."""
    return tuple(v if v is not None and math.isfinite(v) else None for v in values)


def memory_chart(
    mib: NDArray[np.float64], capacity: Mark, title: str, marks: tuple[Mark, ...] = ()
) -> Lines:
    """`mib` per slot as an area, with a line at the capacity."""
    stride = max(1, len(mib) // _MOST_POINTS)
    # The peak of each stretch: thinning must not hide the fullest moment.
    slots = np.arange(0, len(mib), stride)
    peaks = np.maximum.reduceat(mib, slots) if len(slots) else mib
    area = Series(
        title, tuple(slots.tolist()), tuple(np.round(peaks, 4).tolist()), FAST, style=AREA
    )
    return Lines((area,), "slot", title, "slot", "MiB", height=_MEMORY_PX, marks=(capacity, *marks))
