"""Compiler, tune: a search for the options under which the compiler's own cycles are fewest."""

from __future__ import annotations

import streamlit as st

from ui.compiler.options_view import compiler, start
from ui.jobs.protocol import TUNE, Order
from ui.session.state import Session

TUNED = "tuned"
"""The name of the plan that the best options give."""
_COMPILES = (4, 6, 8, 12, 16, 24)
_MINUTES = (5, 10, 20, 40, 60)


def show(session: Session, hindrance: str) -> None:
    """Show the form that orders a search.

    `hindrance`: why nothing can be compiled here, or empty.
    """
    st.subheader("Tune", anchor=False)
    st.markdown(
        "Plans, exports, random orders and pass options are tried by early stops; the most"
        " promising are compiled whole; what these say corrects the costs, and the solver plans"
        " anew. The answer is never worse than the default. As many random options are tried"
        " beside it."
    )
    with st.form("tune", border=False):
        compiles = st.select_slider("Whole compiles", _COMPILES, value=12)
        minutes = st.select_slider("Minutes at most", _MINUTES, value=20)
        is_sent = st.form_submit_button(
            "Tune", icon=":material/tune:", disabled=bool(hindrance), width="stretch"
        )
    if is_sent:
        details: tuple[tuple[str, int | str], ...] = (("compiles", int(compiles)), *compiler())
        start(session, Order(TUNE, TUNED, 60.0 * minutes, details=details))
        st.rerun()
