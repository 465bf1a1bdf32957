"""The visitor's progress: kept by the browser, saved to a file and read from one."""

from __future__ import annotations

import streamlit as st

from engine.errors import LessonError
from ui.components.browser_store_view import browser_store
from ui.components.markdown import plain
from ui.model.learn.progress import MOST_BYTES
from ui.model.learn.state import Learning
from ui.session.state import current_session

STORE = "mallocmuzero-progress"
"""The name under which the browser keeps the progress."""
KEY = "progress"


def keep_progress(learning: Learning) -> None:
    """Let the browser keep the progress, and take up what it has; every page of it calls this."""
    with st.container(key="progress_store"):
        stored = browser_store(STORE, learning.text, learning.token, KEY)
    if stored is not None:
        learning.is_kept = stored.is_kept
        _warn(learning)
        if learning.take(stored.text):
            st.rerun()


def _warn(learning: Learning) -> None:
    """Say once that progress is lost with the tab, where the browser does not keep it."""
    is_lost = not (learning.is_kept or learning.progress.is_empty)
    if is_lost and not learning.is_warned:
        text = "cannot be kept by this browser: save it to a file, or it is lost with this tab."
        current_session().news.tell("Your progress", text, is_error=True)
    learning.is_warned = is_lost


def progress_files(learning: Learning) -> None:
    """Show a popover in which progress is saved, loaded, and forgotten."""
    with st.popover("Your progress", icon=":material/save:", width="stretch"):
        if not learning.is_kept:
            st.warning("This browser cannot keep your progress. Save it to a file.")
        else:
            st.caption("Your browser keeps it. A file takes it to another one.")
        st.download_button(
            "Save to a file",
            data=learning.file_text,
            file_name="mallocmuzero-progress.json",
            mime="application/json",
            icon=":material/download:",
            on_click="ignore",
            disabled=learning.progress.is_empty,
            key="progress_file",
            width="stretch",
        )
        given = st.file_uploader(
            "Load from a file", type="json", key="progress_upload", max_upload_size=1
        )
        if given is not None and st.button("Add it to mine", key="progress_add", width="stretch"):
            _add(learning, given.getvalue(), given.name)
        _forget(learning)


def save_quietly(learning: Learning, where: str) -> None:
    """Let the browser keep what was done since `keep_progress`; nothing runs anew for it.

    `where`: the part of the page that does so.
    """
    with st.container(key=f"progress_store_{where}"):
        browser_store(STORE, learning.text, learning.token, f"{KEY}_{where}", is_quiet=True)


def _forget(learning: Learning) -> None:
    """Show a button that forgets everything, once that is confirmed, and one that takes it back."""
    if learning.forgotten is not None:
        st.caption(
            "Your progress is forgotten; it can be taken back until the page is loaded anew."
        )
        if st.button(
            "Take it back", key="progress_remember", icon=":material/undo:", width="stretch"
        ):
            learning.remember()
            st.rerun()
        return
    if learning.progress.is_empty:
        return
    sure = st.checkbox("I want to lose all of it", key="progress_sure")
    if st.button("Forget everything", key="progress_forget", width="stretch", disabled=not sure):
        learning.forget()
        st.rerun()


def _add(learning: Learning, data: bytes, name: str) -> None:
    if len(data) > MOST_BYTES:
        st.error(f"{plain(name)}: larger than {MOST_BYTES // 1024} KiB")
        return
    try:
        learning.add(data.decode("utf-8", errors="replace"), name)
    except LessonError as error:
        st.error(plain(error), icon=":material/error:")
        return
    st.rerun()
