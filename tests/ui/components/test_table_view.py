"""Tables: how their numbers are written, and how long a row is chosen."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.ui.apps import key_of
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


def _page() -> None:
    import pandas as pd
    import streamlit as st

    from ui.components.table_view import chosen_row

    names = st.session_state.names
    columns = {"name": st.column_config.TextColumn("Name")}
    st.session_state.chosen = chosen_row(pd.DataFrame({"name": names}), columns, "table", 300)


def test_a_row_is_chosen_as_long_as_its_table_has_the_same_rows() -> None:
    at = AppTest.from_function(_page)
    at.session_state["names"] = ["a", "b", "c"]
    key = key_of(at.run().dataframe[0])
    at.session_state[key] = {"selection": {"rows": [2], "columns": [], "cells": []}}
    assert at.run().session_state["chosen"] == 2
    assert at.run().session_state["chosen"] == 2
    at.session_state["names"] = ["d"]
    assert at.run().session_state["chosen"] is None
    assert not at.exception


def test_a_table_too_large_to_be_written_cell_by_cell_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = {
        "name": st.column_config.TextColumn("Name", width=100),
        "share": st.column_config.NumberColumn("Share", format="percent"),
        "cost": st.column_config.NumberColumn("Cost"),
        "slot": st.column_config.NumberColumn("Slot"),
    }
    rows = range(70_000)
    table = pd.DataFrame(
        {
            "name": [f"fusion.{n}" for n in rows],
            "share": [0.5] * len(rows),
            "cost": [12.345] * len(rows),
            "slot": list(rows),
        }
    )
    show_table(table, columns)
    shown: dict[str, Any] = {}
    monkeypatch.setattr(st, "dataframe", lambda data, **settings: shown.update(settings, data=data))
    show_table(table, columns)
    assert shown["data"] is table
    formats = {
        name: about["type_config"].get("format") for name, about in shown["column_config"].items()
    }
    assert formats == {"name": None, "share": "percent", "cost": "%.2f", "slot": None}
