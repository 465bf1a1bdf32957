"""The form that takes a plan of the program in use as a file: where plans are saved, or made."""

from __future__ import annotations

import streamlit as st

from engine.errors import EngineError
from ui.components.markdown import plain
from ui.model.programs import uploads
from ui.session import opening
from ui.session.state import Session


def plan_file_form(session: Session) -> str:
    """Show the form; the name of a plan that has just been listed, else an empty text."""
    opened = session.open
    file = st.file_uploader(
        "A plan file of this program",
        type=["json", "gz"],
        key=f"plan_file_{opened.identity}",
        max_upload_size=uploads.MOST_MIB,
    )
    if not st.button("Open", key="open_plan_file", disabled=file is None, width="stretch"):
        return ""
    assert file is not None
    try:
        with st.spinner("Reading …"):
            plan = uploads.read_plan(file.name, file.getvalue(), opened.program)
    except EngineError as error:
        st.error(plain(error), icon=":material/error:")
        return ""
    name = opening.keep_plan(session, uploads.plan_name(file.name, opened.name), plan)
    session.news.tell(name, "is listed among the plans")
    return name
