"""The visitors' notes on games on disk, where they survive reloads and restarts of the server.

One folder per visitor, in it one per program.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from engine.debugging.move_notes import MoveNotes, Note, notes_from_json
from engine.errors import EngineError
from engine.files import read_json, write_bytes
from ui.jobs.store import forget_oldest

_FILE = "notes.json"
_MOST_OF_ONE = 100
"""Programs on which the notes of one visitor are kept."""
_MOST_OF_ALL = 10_000
_MOST_BYTES = 2**28
"""Bytes on disk, of all visitors together."""


class KeptNotes:
    """The notes of each visitor, of which the oldest go when there are too many."""

    def __init__(self, folder: Path | None, most_of_one: int = _MOST_OF_ONE) -> None:
        """`folder` None: keep nothing."""
        self._folder, self._most_of_one, self._lock = folder, most_of_one, Lock()

    def find(self, visitor: str, program: str) -> MoveNotes:
        """A visitor's notes on a program, by its content hash; none where they cannot be read."""
        place = self._place(visitor, program)
        try:
            return MoveNotes() if place is None else notes_from_json(read_json(place / _FILE))
        except EngineError:
            return MoveNotes()

    def save(self, visitor: str, program: str, changed: Iterable[Note]) -> bool:
        """Keep the notes that have changed beside the others; returns whether that could be done.

        Other tabs may have changed others.
        """
        place = self._place(visitor, program)
        if self._folder is None or place is None:
            return False
        try:
            with self._lock:
                notes = self.find(visitor, program)
                notes.take(changed)
                place.mkdir(parents=True, exist_ok=True)
                write_bytes(place / _FILE, json.dumps(notes.to_json()).encode())
                own = self._folder / visitor
                forget_oldest(own.glob("[0-9a-f]*"), self._most_of_one, _MOST_BYTES)
                forget_oldest(self._folder.glob("*/[0-9a-f]*"), _MOST_OF_ALL, _MOST_BYTES)
        except (OSError, EngineError):
            return False
        return True

    def _place(self, visitor: str, program: str) -> Path | None:
        return self._folder / visitor / program if self._folder and visitor else None
