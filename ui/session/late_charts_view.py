"""A visit's first charts, drawn once the browser has drawn the rest of the page.

The library that draws charts has 5 MB of script. A browser that loads it does nothing else for a
second or more, so what is beside the charts has to be on the screen before.
"""

from __future__ import annotations

from pathlib import Path

import plotly.graph_objects as go
import streamlit as st
from htpy import div

from ui.components.charts import CHART_CONFIG
from ui.session.state import Session, current_session

_USUAL_PX = 450
"""Height of a chart that does not say its own."""
_PAINTED = st.components.v2.component(
    "painted",
    js=(Path(__file__).parents[1] / "components" / "painted.js").read_text(encoding="utf-8"),
)


def late_chart(session: Session, figure: go.Figure, key: str) -> None:
    """Show a chart; the first of a visit when the page is drawn, its room is kept till then."""
    if session.has_charts:
        st.plotly_chart(figure, key=key, config=CHART_CONFIG)
    else:
        _when_painted(figure, key)


@st.fragment
def _when_painted(figure: go.Figure, key: str) -> None:
    told = f"{key}_painted"
    _PAINTED(key=told, on_painted_change=_ignore)
    if st.session_state.get(told, {}).get("painted"):
        current_session().has_charts = True
        st.plotly_chart(figure, key=key, config=CHART_CONFIG)
    else:
        height = figure.layout.height or _USUAL_PX
        st.html(str(div(".chart-waits", style=f"height:{height}px")))


def _ignore() -> None:
    """The fragment reads the state on its next run; Streamlit asks for a callback all the same."""
