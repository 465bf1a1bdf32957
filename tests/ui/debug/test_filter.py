"""The inbox's filter and its order."""

from __future__ import annotations

import pytest

from engine.debugging.findings import LATER, Finding, findings, inbox
from engine.debugging.move_notes import Note
from engine.debugging.regret import BLUNDER, study_of
from engine.game.moves import Rules
from engine.program.library import load_sample
from tests.ui.search_traces import made_up_trace
from ui.model.debug.table import COLUMNS, SORTS, UNCLASSED, Filter, counts_text, table

PROGRAM = load_sample("alexnet-v4-b24")
TRACE = made_up_trace(PROGRAM)
STUDY = study_of(TRACE, PROGRAM, Rules())
list(STUDY.run())
FOUND = findings("g", TRACE, STUDY)


def test_without_a_filter_it_is_the_inbox() -> None:
    assert Filter().rows(FOUND) == inbox(FOUND)
    assert not Filter(sort="surprise").is_narrow


@pytest.mark.parametrize("sort", list(SORTS))
def test_every_order_sorts(sort: str) -> None:
    keys = [SORTS[sort](f) for f in Filter(sort=sort).rows(FOUND)]
    assert len(keys) == len(inbox(FOUND))
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
    rows = wanted.rows(FOUND)
    assert wanted.is_narrow
    assert rows == [f for f in inbox(FOUND) if holds(f)]  # type: ignore[operator]
    assert len(rows) < len(inbox(FOUND))


def test_the_table_shows_where_one_is_what_is_noted_and_why_there_is_no_class() -> None:
    rows: list[Finding] = [*inbox(FOUND)[:3], next(f for f in FOUND if f.unjudged)]
    noted = {"g": {rows[1].move: Note("k", rows[1].move, "look", True)}}
    shown = table(rows, noted, ("g", rows[0].move))
    assert list(shown.columns) == list(COLUMNS)
    assert shown["here"].tolist() == ["▶", "", "", ""]
    assert shown["note"][1] == "★ look"
    assert shown["class"].tolist() == [f.verdict or f.unjudged for f in rows]
    assert table([], {}, ("g", 0)).empty


def test_counts_name_every_class() -> None:
    blunders = sum(f.verdict == BLUNDER for f in FOUND)
    assert counts_text(FOUND).startswith(f"{blunders} ?? · ")
    assert counts_text(f for f in FOUND if not f.verdict) == "none"
