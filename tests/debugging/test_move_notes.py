"""Notes and bookmarks on moves: they come back from a link and a file, whatever these hold."""

from __future__ import annotations

import base64
import json
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.debugging.move_notes import (
    LONGEST_NOTE,
    MOST_NOTES,
    MoveNotes,
    Note,
    game_key,
    notes_from_json,
    notes_from_link,
)
from engine.errors import UsageError

NOTES = st.builds(
    Note,
    st.text("0123456789abcdef", min_size=10, max_size=10),
    st.integers(0, 10**6),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=LONGEST_NOTE),
    st.booleans(),
)


@given(st.lists(NOTES, max_size=20))
def test_notes_come_back(given_notes: list[Note]) -> None:
    notes = MoveNotes(given_notes)
    assert list(notes_from_json(json.loads(json.dumps(notes.to_json())))) == list(notes)
    if len(notes):
        assert list(notes_from_link(notes.to_link())) == list(notes)
    else:
        assert notes.to_link() == ""


@pytest.mark.parametrize("sign", ["x", "\x01", "計", "\U0001f4a1"])
def test_as_many_notes_as_there_may_be_come_back_from_a_link(sign: str) -> None:
    notes = MoveNotes(
        Note(10 * sign, 10**6 - n, LONGEST_NOTE * sign, True) for n in range(MOST_NOTES)
    )
    assert list(notes_from_link(notes.to_link())) == list(notes)


@given(st.text(max_size=100))
def test_any_link_is_notes_or_an_error(text: str) -> None:
    with suppress(UsageError):
        assert len(notes_from_link(text)) <= MOST_NOTES


def test_a_bomb_is_refused() -> None:
    packed = zlib.compress(b"[" + b" " * 50_000_000 + b"]")
    with pytest.raises(UsageError, match="cannot be read"):
        notes_from_link(base64.urlsafe_b64encode(packed).decode())


@pytest.mark.parametrize(
    "body", [None, {}, [1], [["g", "1", "t", 0]], [["g", 1, 2, 0]], [[]] * 999]
)
def test_what_are_no_notes_is_refused(body: object) -> None:
    with pytest.raises(UsageError):
        notes_from_json(body)


def test_notes_belong_to_a_game_and_a_move() -> None:
    one, other = game_key([0, 1, 2]), game_key([0, 1, 1])
    assert one != other
    notes = MoveNotes([Note(one, 3, "why?"), Note(other, 3, is_marked=True)])
    assert notes.at(one, 3).text == "why?"
    assert notes.of(other) == {3: Note(other, 3, "", True)}
    notes.put(Note(one, 3))
    assert len(notes) == 1 and notes.at(one, 3) == Note(one, 3)


def test_notes_have_limits() -> None:
    notes = MoveNotes(Note("g", move, "x") for move in range(MOST_NOTES))
    with pytest.raises(UsageError, match="at most 200 notes"):
        notes.put(Note("g", MOST_NOTES, "x"))
    notes.put(Note("g", 0, "another"))
    with pytest.raises(UsageError, match="shorten it"):
        notes.put(Note("g", 0, "x" * (LONGEST_NOTE + 1)))


def test_changes_lead_from_one_state_of_the_notes_to_the_next() -> None:
    before = MoveNotes([Note("g", 1, "same"), Note("g", 2, "old"), Note("g", 3, "gone")])
    after = MoveNotes([Note("g", 1, "same"), Note("g", 2, "new"), Note("h", 1, is_marked=True)])
    changes = after.changes(before)
    assert Note("g", 1, "same") not in changes
    before.take(changes)
    assert list(before) == list(after)
    assert not after.changes(before)
