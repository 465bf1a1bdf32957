"""Learn, a class: the teacher's set and its link, the student's list, the table of all students."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import streamlit as st

from engine.errors import EngineError, LessonError
from engine.lessons.catalogue import Catalogue
from ui.components.markdown import plain
from ui.components.table_view import show_table
from ui.model.challenges.practice import Asked, positions_of
from ui.model.learn.classroom import (
    MOST_ITEMS,
    TITLE,
    ClassSet,
    class_table,
    csv_of,
    file_name_of,
    set_of,
)
from ui.model.learn.progress import MOST_BYTES, Progress, name_of, progress_of
from ui.model.learn.state import Learning
from ui.session import caching
from ui.session.state import current_session

_MOST_FILES = 200
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_ONLY_HERE = (
    "This address is for this machine alone. Students on your network reach the explorer by the"
    " machine's name in place of it; those who run their own keep the address, with their port."
)
_COLUMNS = {
    "name": st.column_config.TextColumn("Name", width="medium"),
    "solved": st.column_config.NumberColumn("Solved"),
    "stars": st.column_config.NumberColumn("Stars"),
    "right": st.column_config.NumberColumn("Positions right"),
    "wrong": st.column_config.NumberColumn("Positions wrong"),
    "tries": st.column_config.NumberColumn("Tries"),
    "minutes": st.column_config.NumberColumn("Minutes", format="%.1f"),
    "rating": st.column_config.NumberColumn("Rating"),
}


def positions() -> dict[str, Asked]:
    """All positions by key, the easiest first; none where they cannot be read."""
    try:
        found = positions_of(caching.mined_positions())
    except EngineError:
        return {}
    return dict(sorted(found.items(), key=lambda item: item[1].rating.points))


def position_title(asked: Asked) -> str:
    """A position as a teacher looks for it: what it is about, how hard it is, and where it is."""
    where = f"{asked.mined.program}, move {asked.move + 1:,}"
    if asked.about is None:
        return where
    about = asked.about
    return f"{about.rating.points:,.0f} · {', '.join(about.themes) or 'no theme'} · {where}"


def take_class(learning: Learning, lessons: Catalogue) -> None:
    """Take up the set of the link with which a student came, else of the one before.

    The address may still be that of a class that was left since, here or in another tab.
    """
    query = st.query_params.to_dict()
    linked = _class_of(query, lessons) if TITLE in query else None
    if linked is not None and linked != learning.followed:
        learning.join(linked.query)
        learning.class_set = learning.followed = linked
    if learning.class_set is None and learning.progress.class_query:
        stored = dict(parse_qsl(learning.progress.class_query))
        learning.class_set = _class_of(stored, lessons)


def _class_of(query: Mapping[str, str], lessons: Catalogue) -> ClassSet | None:
    """The set that a link names, None for none; says what of it is not here."""
    found, missing = set_of(query, [lesson.name for lesson in lessons.lessons], positions())
    if found is not None and missing:
        text = f"Not here, and left out of the class: {', '.join(missing[:5])}"
        st.warning(plain(text), icon=":material/link_off:")
    return found


def standing(wanted: ClassSet, learning: Learning) -> str:
    """The class and how much of it is solved."""
    solved = wanted.num_solved(learning.progress)
    return f"{plain(wanted.title)}: {solved} of {wanted.num_items} solved"


def show_class(learning: Learning, lessons: Catalogue) -> str | None:
    """Show the student's list; returns the lesson just chosen, or None."""
    wanted = learning.class_set
    if wanted is None:
        return None
    chosen = None
    with st.container(border=True):
        solved = wanted.solved(learning.progress)
        st.markdown(f"##### {standing(wanted, learning)}")
        with st.container(horizontal=True, key="class_items"):
            for name in wanted.lessons:
                done = "✓ " if name in solved else ""
                if st.button(f"{done}{plain(lessons.find(name).title)}", key=f"class_{name}"):
                    chosen = name
            for number, key in enumerate(wanted.positions, 1):
                done = "✓ " if key in solved else ""
                if st.button(f"{done}Position {number}", key=f"class_{key}", help=key):
                    current_session().challenges.open_position(key)
                    st.switch_page(
                        current_session().pages["challenges"], query_params={"tab": "find"}
                    )
        person, file, leave = st.columns([2, 1.4, 0.8], vertical_alignment="bottom")
        given = person.text_input(
            "Your name, for your teacher", learning.progress.name, max_chars=60
        )
        learning.name(name_of(given))
        file.download_button(
            "Save for your teacher",
            data=learning.file_text,
            file_name=file_name_of(learning.progress.name),
            mime="application/json",
            icon=":material/download:",
            on_click="ignore",
            key="class_file",
            width="stretch",
        )
        if leave.button("Leave", key="class_leave", width="stretch"):
            learning.join("")
            st.query_params.clear()
            st.rerun()
    return chosen


def show_teachers(lessons: Catalogue) -> None:
    """Show what makes a class, and what merges the students' files; nothing leaves the machine."""
    with st.expander("For teachers: a class", icon=":material/school:"):
        st.caption(
            "Choose what your class should do and give them the link. They send back the file that"
            " *Save for your teacher* gives. No accounts; the files stay in this browser's session."
        )
        titles = {lesson.name: lesson.title for lesson in lessons.lessons}
        title = name_of(
            st.text_input("Name of the class", "My class", max_chars=60, key="class_title")
        )
        left, right = st.columns(2)
        chosen = left.multiselect(
            "Lessons", list(titles), format_func=titles.__getitem__, max_selections=MOST_ITEMS,
            key="class_lessons",
        )  # fmt: skip
        known = positions()
        keys = right.multiselect(
            f"Positions, the easiest first (at most {MOST_ITEMS})", list(known),
            format_func=lambda key: position_title(known[key]), max_selections=MOST_ITEMS,
            key="class_positions", placeholder="a theme, a rating, a program",
        )  # fmt: skip
        wanted = ClassSet(title or "My class", tuple(chosen), tuple(keys))
        if wanted.num_items:
            st.code(f"{_address()}?{wanted.query}", language=None, wrap_lines=True)
            if urlsplit(_address()).hostname in _THIS_MACHINE:
                st.caption(_ONLY_HERE)
        _merge(wanted if wanted.num_items else None)


def _item_columns(wanted: ClassSet | None) -> dict[str, Any]:
    """A column for each item of the set; its help says what the item is."""
    if wanted is None:
        return {}
    titles = {lesson.name: lesson.title for lesson in caching.lesson_catalogue().lessons}
    known = positions()
    lessons = {n: st.column_config.TextColumn(titles.get(n, n)) for n in wanted.lessons}
    return lessons | {
        key: st.column_config.TextColumn(f"Position {number}", help=position_title(known[key]))
        for number, key in enumerate(wanted.positions, 1)
    }


def _address() -> str:
    parts = urlsplit(st.context.url or "")
    return f"{parts.scheme}://{parts.netloc}{parts.path}" if parts.netloc else "/learn"


def _merge(wanted: ClassSet | None) -> None:
    files = st.file_uploader(
        "Students' files", type="json", accept_multiple_files=True, key="class_files",
        max_upload_size=1,
    )  # fmt: skip
    students: list[tuple[str, Progress]] = []
    for file in files[:_MOST_FILES]:
        data = file.getvalue()
        try:
            if len(data) > MOST_BYTES:
                raise LessonError(f"{file.name}: larger than {MOST_BYTES // 1024} KiB")
            students.append((file.name, progress_of(data.decode("utf-8", "replace"), file.name)))
        except LessonError as error:
            st.error(plain(error), icon=":material/error:")
    if len(files) > _MOST_FILES:
        st.warning(f"Only the first {_MOST_FILES} files are read.")
    if not students:
        return
    table = class_table(students, wanted)
    show_table(table, _COLUMNS | _item_columns(wanted), key="class_table")
    if wanted is not None:
        st.caption("A column for each item: ✓ solved, ✗ tried; empty: not begun.")
    st.download_button(
        "Table (CSV)", csv_of(table), "class.csv", "text/csv", on_click="ignore",
        key="class_csv",
    )  # fmt: skip
