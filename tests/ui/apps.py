"""Views run without a browser (AppTest)."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.ui.waiting import SECONDS


def open_view(script: object, **query: str) -> AppTest:
    """The view that a function renders, from a link with this query."""
    at = AppTest.from_function(script, default_timeout=SECONDS)
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    return at
