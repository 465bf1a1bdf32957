"""Notes and bookmarks on the moves of games, as text that travels in a link or a file.

A note belongs to a move of a game, whoever searched it: a game is known by its actions.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import UsageError
from engine.files import json_of

MOST_NOTES = 200
LONGEST_NOTE = 500
"""Characters of one note."""
_MOST_BYTES = MOST_NOTES * (6 * LONGEST_NOTE + 100)
"""Most bytes of a link's notes, unpacked: JSON has up to six for a character, and for each note its
game and move besides."""


def game_key(actions: Iterable[int]) -> str:
    """A key that games with the same actions share."""
    digest = hashlib.sha256(bytes(int(action) for action in actions))
    return digest.hexdigest()[:10]


@dataclass(frozen=True)
class Note:
    """A note on `move` (from 0) of the game `game`; `text` may be empty for a mere bookmark."""

    game: str
    move: int
    text: str = ""
    is_marked: bool = False


class MoveNotes:
    """Notes by game and move; empty ones are dropped."""

    def __init__(self, notes: Iterable[Note] = ()) -> None:
        self._notes: dict[tuple[str, int], Note] = {}
        for note in notes:
            self.put(note)

    def __iter__(self) -> Iterator[Note]:
        return iter(sorted(self._notes.values(), key=lambda n: (n.game, n.move)))

    def __len__(self) -> int:
        return len(self._notes)

    def at(self, game: str, move: int) -> Note:
        """The note on a move; an empty one if there is none."""
        return self._notes.get((game, move), Note(game, move))

    def of(self, game: str) -> dict[int, Note]:
        """The notes on one game, by move."""
        return {note.move: note for note in self if note.game == game}

    def put(self, note: Note) -> None:
        """Replace the note on a move. Raises UsageError if it is too long, or one too many."""
        place = (note.game, note.move)
        if not note.text and not note.is_marked:
            self._notes.pop(place, None)
            return
        if len(note.text) > LONGEST_NOTE:
            raise UsageError(f"a note has at most {LONGEST_NOTE} characters; shorten it")
        if place not in self._notes and len(self._notes) >= MOST_NOTES:
            raise UsageError(f"there are at most {MOST_NOTES} notes; delete one first")
        self._notes[place] = note

    def take(self, others: Iterable[Note]) -> None:
        """Take in other notes, which replace those on the same moves. Raises UsageError."""
        for note in others:
            self.put(note)

    def changes(self, before: MoveNotes) -> list[Note]:
        """The notes that lead from those of `before` to these; an empty one where one is gone."""
        gone = [Note(*place) for place in before._notes if place not in self._notes]
        return [*gone, *(n for place, n in self._notes.items() if before._notes.get(place) != n)]

    def to_json(self) -> list[list[Any]]:
        """The notes as plain JSON values, each: game, move, text, 1 for a bookmark."""
        return [[n.game, n.move, n.text, int(n.is_marked)] for n in self]

    def to_link(self) -> str:
        """The notes as text of letters that a link may hold; empty without notes."""
        if not len(self):
            return ""
        body = json.dumps(self.to_json(), separators=(",", ":"), ensure_ascii=False)
        packed = zlib.compress(body.encode(), 9)
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def notes_from_json(body: Any) -> MoveNotes:
    """The notes of plain values. Raises UsageError if they are none."""
    try:
        return MoveNotes(_note(*row) for row in _rows(body))
    except (TypeError, ValueError) as error:
        raise UsageError("the notes cannot be read; copy the link or the file again") from error


def notes_from_link(text: str) -> MoveNotes:
    """The notes of a link. Raises UsageError if they are none."""
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        unpack = zlib.decompressobj()
        body = json_of(unpack.decompress(packed, _MOST_BYTES))
    except (ValueError, zlib.error, binascii.Error, RecursionError) as error:
        raise UsageError("the link's notes cannot be read; copy the link again") from error
    return notes_from_json(body)


def _rows(body: Any) -> Sequence[Any]:
    if not isinstance(body, list) or len(body) > MOST_NOTES:
        raise ValueError("not a list of notes")
    return body


def _note(game: Any, move: Any, text: Any, mark: Any) -> Note:
    if not isinstance(game, str) or not isinstance(text, str) or type(move) is not int:
        raise TypeError("a note is a game, a move and a text")
    return Note(game[:10], max(0, min(move, 10**6)), text, bool(mark))
