"""Challenges: beat an opponent on a real program, or find the move in a mined position."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.errors import EngineError
from ui.challenges.match_view import show_match, show_programs
from ui.challenges.question_view import show_questions
from ui.components.markdown import plain
from ui.learn.classroom_view import take_class
from ui.learn.progress_view import keep_progress, progress_files, save_quietly
from ui.model.learn.classroom import CLASS_PARTS
from ui.session import caching
from ui.session.jobs_view import with_jobs
from ui.session.last_view import View
from ui.session.link_query import unknown
from ui.session.state import Session, current_session

_PROGRAM, _TAB = "program", "tab"
_BEAT, _FIND = "Beat an opponent", "Find the move"
_LEARN = Path(__file__).resolve().parent.parent / "learn"


@with_jobs
def render() -> None:
    """The page; `?program=NAME` opens a board, `?tab=find` the positions."""
    session = current_session()
    learning = session.learning
    st.html(_LEARN / "learn.css")
    st.html(Path(__file__).with_name("challenges.css"))
    keep_progress(learning)
    take_class(learning, caching.lesson_catalogue())
    if learning.wanted == "all":
        learning.wanted = ""
        st.query_params.clear()
    name = st.query_params.get(_PROGRAM, "")
    if name and _match(session, name):
        return
    _overview(session)


def _match(session: Session, name: str) -> bool:
    """Show a program's board; returns False if there is none, and the overview says so."""
    try:
        show_match(name, session.learning, session.challenges)
    except EngineError as error:
        session.challenges.lost = str(error)
        return False
    session.challenges.lost = ""
    caching.last_views().put(session.identity, View("challenges", {_PROGRAM: name}))
    return True


def _overview(session: Session) -> None:
    # Kept: the address is that of the overview from here on.
    odd = unknown(st.query_params.to_dict(), (_PROGRAM, _TAB, *CLASS_PARTS))
    session.challenges.lost = odd or session.challenges.lost
    notice = st.container()
    head, tabs, own = st.columns([1.2, 2.2, 1.1], vertical_alignment="bottom")
    head.header("Challenges", anchor=False)
    is_find = st.query_params.get(_TAB, "") == "find"
    chosen = tabs.segmented_control(
        "Kind",
        [_BEAT, _FIND],
        default=_FIND if is_find else _BEAT,
        required=True,
        key="challenge_tab",
        label_visibility="collapsed",
    )
    if (chosen == _FIND) != is_find or session.learning.wanted:
        session.challenges.lost = ""
    if session.challenges.lost:
        notice.warning(plain(session.challenges.lost), icon=":material/link_off:")
    with own:
        progress_files(session.learning)
    if chosen == _FIND:
        st.query_params.from_dict({_TAB: "find"})
        show_questions(session.learning, session.challenges)
        save_quietly(session.learning, "page")
        return
    st.query_params.clear()
    save_quietly(session.learning, "page")
    name = show_programs(session.learning)
    if name is not None:
        st.query_params.from_dict({_PROGRAM: name})
        st.rerun()
