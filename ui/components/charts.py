"""Common parts of charts: colours, the button that saves them, memory over the slots."""

from __future__ import annotations

import html

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

SLOW, STALL, FAST, LINE = "#e08a2c", "#d23b4e", "#3f7fd9", "#8a94a3"
COMPUTE = "#9aa6b5"
CHART_CONFIG = {
    "displaylogo": False,
    "toImageButtonOptions": {"format": "svg"},
    "modeBarButtons": [["toImage"]],
}
"""Charts show one button, which saves them as SVG."""
_MEMORY_PX = 225
_MOST_POINTS = 3000


def escaped(text: str) -> str:
    """A name as Plotly shows it, in labels and hovers: its markup is never obeyed."""
    return html.escape(text, quote=False)


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
