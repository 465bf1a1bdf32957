"""The lessons as a map of what needs what; a click, or Enter on it, opens a lesson."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from engine.lessons.catalogue import Catalogue
from engine.lessons.lesson import Lesson
from ui.components import in_order
from ui.components.units import count_text
from ui.model.learn.progress import Progress

_FOLDER = Path(__file__).parent
_MAP = st.components.v2.component(
    "lesson_map",
    css=(_FOLDER / "lesson_map.css").read_text(encoding="utf-8"),
    js=in_order.SCRIPT + (_FOLDER / "lesson_map.js").read_text(encoding="utf-8"),
)


def lesson_map(
    lessons: Catalogue, progress: Progress, matches: Sequence[Lesson] | None, key: str
) -> str | None:
    """Show the map; returns the name of the lesson just chosen, or None.

    `matches`: results of a search, outside of which lessons are faint; None without a search.
    """
    following = lessons.next_after(progress.done)
    rows = rows_of(lessons, progress)
    data: dict[str, Any] = {
        "rows": rows,
        "columns": 1 + max(row["column"] for row in rows),
        "next": following.name if following else "",
        "matches": None if matches is None else [lesson.name for lesson in matches],
    }
    result = _MAP(key=key, data=in_order.numbered(data, key), on_open_change=_ignore)
    chosen = result.get("open")
    return chosen if isinstance(chosen, str) else None


def rows_of(lessons: Catalogue, progress: Progress) -> list[dict[str, Any]]:
    """A row per lesson: its place on the grid, what it needs, whether it is done, open or closed.

    `column`: how much comes before it. `row`: in halves of a lesson's height, columns centred.
    """
    places = places_of(lessons)
    rows = []
    for lesson in lessons.lessons:
        stars = progress.stars.get(lesson.name, 0)
        is_open = lessons.is_open(lesson, progress.done)
        column, row = places[lesson.name]
        rows.append(
            {
                "name": lesson.name,
                "title": lesson.title,
                "minutes": lesson.minutes,
                "stars": stars,
                "state": "done" if stars else "open" if is_open else "closed",
                "words": _words(lesson, lessons, progress, is_open),
                "needs": list(lesson.needs),
                "column": column,
                "row": row,
            }
        )
    return rows


def places_of(lessons: Catalogue) -> dict[str, tuple[int, int]]:
    """Column and row of each lesson; in a column they stand as what they need does."""
    columns: dict[int, list[Lesson]] = {}
    for lesson in lessons.lessons:
        columns.setdefault(lessons.depth(lesson), []).append(lesson)
    tallest = max(map(len, columns.values()), default=0)
    places: dict[str, tuple[int, int]] = {}

    def height(lesson: Lesson) -> float:
        rows = [places[need][1] for need in lesson.needs]
        return sum(rows) / len(rows) if rows else 0.0

    for column in sorted(columns):
        first = tallest - len(columns[column])
        for number, lesson in enumerate(sorted(columns[column], key=height)):
            places[lesson.name] = (column, first + 2 * number)
    return places


def _words(lesson: Lesson, lessons: Catalogue, progress: Progress, is_open: bool) -> str:
    """What the card says below its title while the lesson is not done."""
    if not is_open:
        missing = sum(need not in progress.done for need in lesson.needs)
        return f"after {count_text(missing, 'lesson')}"
    opens = len(lessons.opens(lesson.name))
    return f"{lesson.minutes} min" + (f" · opens {opens}" if opens else "")


def _ignore() -> None:
    """The page reads the choice on the same run; Streamlit asks for a callback all the same."""
