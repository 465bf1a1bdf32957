"""Learn: the map of the lessons, or one lesson on its board."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.errors import EngineError, UnknownNameError
from engine.lessons.catalogue import Catalogue, terms_of
from ui.components.markdown import plain
from ui.learn.classroom_view import show_class, show_teachers, take_class
from ui.learn.lesson_map_view import lesson_map
from ui.learn.lesson_view import show_lesson
from ui.learn.progress_view import keep_progress, progress_files, save_quietly
from ui.model.learn.classroom import CLASS_PARTS
from ui.model.learn.state import Learning
from ui.session import caching
from ui.session.jobs_view import with_jobs
from ui.session.last_view import View
from ui.session.link_query import unknown
from ui.session.state import current_session

_QUERY = "lesson"


@with_jobs
def render() -> None:
    """The page; `?lesson=NAME` opens one."""
    session = current_session()
    learning, lessons = session.learning, caching.lesson_catalogue()
    st.html(Path(__file__).with_name("learn.css"))
    keep_progress(learning)
    _follow(learning, lessons)
    take_class(learning, lessons)
    if odd := unknown(st.query_params.to_dict(), (_QUERY, *CLASS_PARTS)):
        st.warning(plain(odd), icon=":material/link_off:")
    name = st.query_params.get(_QUERY, "")
    if name:
        try:
            has_next = _lesson_after(learning, lessons, name) is not None
            show_lesson(lessons.find(name), lessons, learning, has_next)
        except UnknownNameError as error:
            st.warning(plain(error), icon=":material/link_off:")
            _overview(learning, lessons)
        except EngineError as error:
            st.error(plain(error), icon=":material/error:")
        else:
            caching.last_views().put(session.identity, View("learn", {_QUERY: name}))
        return
    _overview(learning, lessons)


def _follow(learning: Learning, lessons: Catalogue) -> None:
    """Open the lesson or the map that a command on the board asked for."""
    wanted, learning.wanted = learning.wanted, ""
    if wanted == "next":
        name = _lesson_after(learning, lessons, st.query_params.get(_QUERY, ""))
        wanted = "" if name else "map"
        if name:
            st.query_params.from_dict({_QUERY: name})
    if wanted == "map":
        st.query_params.clear()


def _lesson_after(learning: Learning, lessons: Catalogue, name: str) -> str | None:
    """The next lesson of the class that has set this one, else the next of all; None: no more."""
    wanted = learning.class_set
    if wanted is not None and name in wanted.lessons:
        return wanted.next_after(name, learning.progress)
    following = lessons.next_after(learning.progress.done | {name})
    return following.name if following else None


def _overview(learning: Learning, lessons: Catalogue) -> None:
    for complaint in lessons.broken:
        st.warning(f"A lesson cannot be read. {plain(complaint)}", icon=":material/error:")
    if not lessons.lessons:
        st.info("There are no lessons here: `sample_programs/lessons/` is empty.")
        return
    st.header("Learn", anchor=False)
    first, search, own = st.columns([2.2, 2, 1.1], vertical_alignment="bottom")
    with first:
        _continue(learning, lessons)
    text = search.text_input(
        "Search the lessons",
        key="lesson_search",
        placeholder="stall, loop, MCTS, knapsack …",
        icon=":material/search:",
        label_visibility="collapsed",
    )
    with own:
        progress_files(learning)
    wanted = show_class(learning, lessons)
    if wanted is not None:
        _open(wanted)
    matches = lessons.search(text) if text.strip() else None
    if matches is not None and not matches:
        st.info("No lesson has these words. Try fewer.", icon=":material/search_off:")
    elif told := synonyms_text(text):
        st.caption(told)
    _count(learning, lessons)
    chosen = lesson_map(lessons, learning.progress, matches, "lesson_map")
    if chosen is not None:
        _open(chosen)
    with st.container(horizontal=True, vertical_alignment="center", key="onward"):
        if st.button("Challenges", key="challenges", icon=":material/trophy:"):
            st.switch_page(current_session().pages["challenges"])
        st.caption(
            "Real programs against opponents, and positions in which the tempting move is wrong."
        )
    show_teachers(lessons)
    save_quietly(learning, "page")


def _continue(learning: Learning, lessons: Catalogue) -> None:
    following = lessons.next_after(learning.progress.done)
    if following is None:
        if st.button("To the challenges", key="to_challenges", type="primary", width="stretch"):
            st.switch_page(current_session().pages["challenges"])
        return
    verb = "Begin" if learning.progress.is_empty else "Go on"
    if st.button(
        f"{verb}: {following.title}",
        key="next_lesson",
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
    ):
        _open(following.name)


def _count(learning: Learning, lessons: Catalogue) -> None:
    names = {lesson.name for lesson in lessons.lessons}
    done = len(names & learning.progress.done)
    stars = sum(n for name, n in learning.progress.stars.items() if name in names)
    st.caption(
        f"{done} of {len(names)} lessons done, {stars} of {3 * len(names)} stars. A lesson opens"
        " those that build on it; you may begin with any, also with dashed ones."
    )


def _open(name: str) -> None:
    st.query_params.from_dict({_QUERY: name})
    st.rerun()


def synonyms_text(text: str) -> str:
    """What words of other fields were taken for; empty where there are none."""
    known = [words for words in terms_of(text) if len(words) > 1]
    return "; ".join(f"“{first}” is here: {', '.join(ours)}" for first, *ours in known)
