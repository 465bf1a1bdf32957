"""Tables: how their numbers are written."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import streamlit as st

from ui.components.table_view import show_table

NBSP = "\N{NO-BREAK SPACE}"


def test_shares_are_written_as_in_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[str, Any] = {}

    def keep(styler: Any, **settings: Any) -> None:
        shown.update(settings, html=styler.to_html())

    monkeypatch.setattr(st, "dataframe", keep)
    columns = {
        "share": st.column_config.NumberColumn("Share", format="percent"),
        "cost": st.column_config.NumberColumn("Cost", format="%.3g"),
    }
    show_table(pd.DataFrame({"share": [0.6253], "cost": [1234.5]}), columns)
    assert f"62.5{NBSP}%" in shown["html"] or "62.5&nbsp;%" in shown["html"]
    formats = {
        name: about["type_config"]["format"] for name, about in shown["column_config"].items()
    }
    assert formats == {"share": None, "cost": "%.3g"}
