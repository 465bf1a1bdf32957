"""The inbox's filter and its order."""

from __future__ import annotations

import pytest

from engine.debugging.findings import LATER, Finding, inbox
from engine.debugging.move_notes import Note
from engine.debugging.regret import BLUNDER
from tests.debugging.studied import GAME, found
from ui.model.debug.table import COLUMNS, SORTS, UNCLASSED, Filter, counts_text, table


def test_without_a_filter_it_is_the_inbox() -> None:
    assert Filter().rows(found()) == inbox(found())
    assert not Filter(sort="surprise").is_narrow


@pytest.mark.parametrize("sort", list(SORTS))
def test_every_order_sorts(sort: str) -> None:
    keys = [SORTS[sort](f) for f in Filter(sort=sort).rows(found())]
    assert len(keys) == len(inbox(found()))
    assert keys == sorted(keys, reverse=True)


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        (Filter(classes=(BLUNDER,)), lambda f: f.verdict == BLUNDER),
        (Filter(classes=(UNCLASSED,)), lambda f: not f.verdict),
        (Filter(actions=("Copy",)), lambda f: f.action == "Copy"),
        (Filter(kinds=("input",)), lambda f: f.kind == "input"),
        (Filter(phases=("early", "late")), lambda f: f.phase != "middle"),
        (Filter(punished=(LATER,)), lambda f: f.punished == LATER),
        (Filter(signs=("value jump",)), lambda f: "value jump" in f.signs),
        (Filter(least_bytes=2**24), lambda f: f.size_bytes >= 2**24),
        (Filter(least_pressure=0.2), lambda f: f.pressure >= 0.2),
    ],
)
def test_each_choice_keeps_what_it_says(wanted: Filter, holds: object) -> None:
    rows = wanted.rows(found())
    assert wanted.is_narrow
    assert rows == [f for f in inbox(found()) if holds(f)]  # type: ignore[operator]
    assert len(rows) < len(inbox(found()))


def test_the_table_shows_where_one_is_what_is_noted_and_why_there_is_no_class() -> None:
    rows: list[Finding] = [*inbox(found())[:3], next(f for f in found() if f.unjudged)]
    noted = {GAME: {rows[1].move: Note("k", rows[1].move, "look", True)}}
    shown = table(rows, noted, (GAME, rows[0].move))
    assert list(shown.columns) == list(COLUMNS)
    assert shown["here"].tolist() == ["▶", "", "", ""]
    assert shown["note"][1] == "★ look"
    assert shown["class"].tolist() == [f.verdict or f.unjudged for f in rows]
    assert table([], {}, (GAME, 0)).empty


def test_counts_name_every_class() -> None:
    blunders = sum(f.verdict == BLUNDER for f in found())
    assert counts_text(found()).startswith(f"{blunders} ?? · ")
    assert counts_text(f for f in found() if not f.verdict) == "none"
