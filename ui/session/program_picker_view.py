"""The list of programs at the head of every page."""

from __future__ import annotations

import streamlit as st

from ui.session import opening
from ui.session.state import Session


def program_picker(session: Session) -> None:
    """A list of all programs at hand; choosing one opens it.

    What the address says is about the last one: its move, its notes.
    """
    names = opening.program_names(session)
    chosen = st.selectbox("Program", names, index=names.index(session.program_name))
    if chosen != session.program_name and opening.try_open(session, chosen):
        st.query_params.clear()
        st.rerun()
