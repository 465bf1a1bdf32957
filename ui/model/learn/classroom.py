"""A class: what a teacher sets, as a link, and what came of it, from the students' files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import pandas as pd

from ui.model.learn.progress import Card, Progress, Spent, name_of

CLASS_PARTS = TITLE, LESSONS, POSITIONS = "class", "lessons", "positions"
"""The parameters of the link."""
MOST_ITEMS = 60
_SEPARATOR = ","


@dataclass(frozen=True)
class ClassSet:
    """Lessons by name and positions by key, in the teacher's order, under a title."""

    title: str
    lessons: tuple[str, ...] = ()
    positions: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """The query of the link that gives it to students."""
        return urlencode(
            {
                TITLE: self.title,
                LESSONS: _SEPARATOR.join(self.lessons),
                POSITIONS: _SEPARATOR.join(self.positions),
            },
            safe="/,",
        )

    @property
    def num_items(self) -> int:
        """How many lessons and positions it has."""
        return len(self.lessons) + len(self.positions)

    def num_solved(self, progress: Progress) -> int:
        """How many of them a student has solved."""
        return len(self.solved(progress))

    def solved(self, progress: Progress) -> frozenset[str]:
        """The lessons and positions of it that a student has solved."""
        right = {key for key, card in progress.cards.items() if card.right > 0}
        return (progress.done | right) & {*self.lessons, *self.positions}

    def next_after(self, item: str, progress: Progress) -> str | None:
        """The next item of the same kind that is not solved; None if the set has no more."""
        kind = self.lessons if item in self.lessons else self.positions
        if item not in kind:
            return None
        here = kind.index(item)
        solved = self.solved(progress)
        return next((i for i in kind[here + 1 :] + kind[:here] if i not in solved), None)


def set_of(
    query: Mapping[str, str], lessons: Collection[str], positions: Collection[str]
) -> tuple[ClassSet | None, list[str]]:
    """The set that a link names, and what of it is not here; None if it names none."""
    title = name_of(query.get(TITLE, ""))
    if not title:
        return None, []
    wanted = {
        LESSONS: _items(query.get(LESSONS, "")),
        POSITIONS: _items(query.get(POSITIONS, "")),
    }
    missing = [name for name in wanted[LESSONS] if name not in lessons]
    missing += [key for key in wanted[POSITIONS] if key not in positions]
    return (
        ClassSet(
            title,
            tuple(name for name in wanted[LESSONS] if name in lessons),
            tuple(key for key in wanted[POSITIONS] if key in positions),
        ),
        missing,
    )


def _items(text: str) -> list[str]:
    return list(dict.fromkeys(item for item in text.split(_SEPARATOR) if item))[:MOST_ITEMS]


def class_table(
    students: Sequence[tuple[str, Progress]], wanted: ClassSet | None = None
) -> pd.DataFrame:
    """One row per student, files of one name merged: solved, stars, tries, minutes, rating.

    With `wanted` follows a column for each item, by its name or key: ✓ solved, ✗ tried.

    Without a name it is called by its file, by a number too where several are called so.
    `students`: the name of the file, and its progress. `wanted`: count these items alone.
    """
    merged: dict[str, Progress] = {}
    nameless = Counter(file for file, progress in students if not progress.name)
    for number, (file, progress) in enumerate(students, 1):
        stem = file.removesuffix(".json")
        name = progress.name or (f"{stem} ({number})" if nameless[file] > 1 else stem)
        merged[name] = progress.merged(merged[name]) if name in merged else progress
    sums = ["name", "solved", "stars", "right", "wrong", "tries", "minutes", "rating"]
    items = [] if wanted is None else [*wanted.lessons, *wanted.positions]
    return pd.DataFrame(
        [
            _row(name, progress, wanted) + _marks(progress, wanted)
            for name, progress in sorted(merged.items())
        ],
        columns=[*sums, *items],
    )


def file_name_of(name: str) -> str:
    """What a student's progress file is called, so that a teacher can tell the files apart."""
    letters = "".join(c if c.isalnum() else " " for c in name)
    return "-".join(["mallocmuzero-progress", *letters.lower().split()]) + ".json"


def csv_of(table: pd.DataFrame) -> str:
    """A class table as CSV; no name is a formula to a spreadsheet."""
    safe = table["name"].astype(str).str.replace(r"^(?=[=+\-@\t])", "'", regex=True)
    return table.assign(name=safe).to_csv(index=False)


def _marks(progress: Progress, wanted: ClassSet | None) -> tuple[str, ...]:
    """For each item of the set whether it was solved, or tried."""
    if wanted is None:
        return ()
    solved = wanted.solved(progress)
    tried = {board.partition(" ")[2] for board, spent in progress.spent.items() if spent.tries}
    return tuple(
        "✓" if item in solved else "✗" if item in tried else ""
        for item in (*wanted.lessons, *wanted.positions)
    )


def _row(name: str, progress: Progress, wanted: ClassSet | None) -> tuple[object, ...]:
    lessons = tuple(progress.stars) if wanted is None else wanted.lessons
    positions = tuple(progress.cards) if wanted is None else wanted.positions
    counted = ClassSet("", lessons, positions)
    cards = [progress.cards.get(key, Card()) for key in positions]
    boards = [f"lesson {n}" for n in lessons] + [f"position {k}" for k in positions]
    spent = [progress.spent.get(board, Spent()) for board in boards]
    return (
        name,
        counted.num_solved(progress),
        sum(progress.stars.get(lesson, 0) for lesson in lessons),
        sum(card.right for card in cards),
        sum(card.wrong for card in cards),
        sum(s.tries for s in spent),
        round(sum(s.seconds for s in spent) / 60, 1),
        round(progress.rating.points),
    )
