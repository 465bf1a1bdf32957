"""One lesson: its story, the board, the panel, and where more is said."""

from __future__ import annotations

import streamlit as st
from htpy import div

from engine.lessons.catalogue import Catalogue
from engine.lessons.lesson import Lesson, pass_sinks
from ui.components.glossary import term_html
from ui.components.memory_map.component import HOW_TO_READ
from ui.learn import board_view
from ui.model.learn.attempt import Attempt
from ui.model.learn.lesson import LessonScene, stars_html
from ui.model.learn.state import Learning
from ui.session import caching


def show_lesson(lesson: Lesson, lessons: Catalogue, learning: Learning, has_next: bool) -> None:
    """Show a lesson with the visitor's game on its board; `has_next`: another is to follow it."""
    judge = caching.judge_of(lesson)
    seat = learning.seat(f"lesson {lesson.name}", Attempt.from_start(lesson.begin(), pass_sinks))
    scene = LessonScene(judge, learning, has_next)
    left, right = st.columns([2.6, 1], gap="medium")
    with left:
        _head(lesson, lessons, learning)
        if not lesson.needs:
            st.caption(HOW_TO_READ)
        with st.container(key="lesson_text"):
            st.markdown(lesson.text)
    board_view.show(scene, seat, left, right)
    # Below both columns: on a phone it is not to stand between the board and its panel.
    _more(lesson, lessons)


def _head(lesson: Lesson, lessons: Catalogue, learning: Learning) -> None:
    back, title = st.columns([1, 5.4], vertical_alignment="center")
    if back.button("All lessons", key="all_lessons", icon=":material/arrow_back:"):
        learning.wanted = "map"
        st.rerun()
    number = lessons.lessons.index(lesson) + 1
    stars = learning.progress.stars.get(lesson.name, 0)
    with title:
        st.subheader(lesson.title, anchor=False)
    place = f"Lesson {number} of {len(lessons.lessons)} · {lesson.minutes} minutes · "
    terms = [(", " if n else "", term_html(word)) for n, word in enumerate(lesson.concepts)]
    st.html(str(div(".note")[place, terms, " · ", stars_html(stars)]))


def _more(lesson: Lesson, lessons: Catalogue) -> None:
    """Show the lessons before and after, our own pages, and reading."""
    with st.expander("More on this", icon=":material/menu_book:"):
        opened = lessons.opens(lesson.name)
        if lesson.needs:
            titles = ", ".join(f"*{lessons.find(need).title}*" for need in lesson.needs)
            st.markdown(f"**Comes after** {titles}")
        if opened:
            st.markdown(f"**Opens** {', '.join(f'*{other.title}*' for other in opened)}")
        if lesson.docs:
            st.markdown("**In our documentation:** " + ", ".join(f"`{d}`" for d in lesson.docs))
        for reading in lesson.reading:
            title = f"[{reading.title}]({reading.url})" if reading.url else reading.title
            st.markdown(f"- {title}: {reading.source}")
