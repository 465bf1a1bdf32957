"""The visitors' notes on games on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock

from engine.debugging.move_notes import MoveNotes, Note, notes_from_json
from engine.errors import EngineError
from engine.files import read_json, write_bytes
from ui.session.visitor_folders import VisitorFolders

_FILE = "notes.json"


@dataclass(frozen=True)
class KeptNotes(VisitorFolders):
    """The notes of each visitor."""

    lock: Lock = field(default_factory=Lock, repr=False)

    def find(self, visitor: str, program: str) -> MoveNotes:
        """A visitor's notes on a program, by its content hash; none where they cannot be read."""
        place = self.place(visitor, program)
        try:
            return MoveNotes() if place is None else notes_from_json(read_json(place / _FILE))
        except EngineError:
            return MoveNotes()

    def save(self, visitor: str, program: str, changed: Iterable[Note]) -> bool:
        """Keep the notes that have changed beside the others; returns whether that could be done.

        Other tabs may have changed others.
        """
        place = self.place(visitor, program)
        if place is None:
            return False
        try:
            with self.lock:
                notes = self.find(visitor, program)
                notes.take(changed)
                place.mkdir(parents=True, exist_ok=True)
                write_bytes(place / _FILE, json.dumps(notes.to_json()).encode())
                self.forget_oldest(visitor)
        except (OSError, EngineError):
            return False
        return True
