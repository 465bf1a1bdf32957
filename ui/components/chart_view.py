"""A small chart on a page (`ui.components.charts`), drawn by `chart.js`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui.components.charts import Chart

_FOLDER = Path(__file__).parent
_CHART = st.components.v2.component(
    "chart",
    css=(_FOLDER / "chart.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "chart.js").read_text(encoding="utf-8"),
)


def show_chart(chart: Chart, key: str) -> None:
    """Show a chart as wide as its place."""
    _CHART(key=key, data=chart.to_json())
