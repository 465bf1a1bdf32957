"""The visitors' own programs on disk, where they survive reloads and restarts of the server.

One folder per visitor, in it one per program: the program file and what became of the files that
were brought. A folder is written under another name and then renamed, so that none is half there.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from engine.errors import EngineError
from engine.files import json_of
from engine.folders import temporary_folder
from engine.program.io import content_hash, load, save
from engine.program.model import Program
from ui.jobs.store import age, forget_oldest
from ui.model.programs.uploads import sound

Summary = tuple[tuple[str, str], ...]
_PROGRAM, _LISTING = "program.json.gz", "listing.json"
_MOST_OF_ONE = 8
"""Programs kept for one visitor: half of what may be open at once."""
_MOST_OF_ALL = 2000
_MOST_BYTES = 2**30
"""Bytes on disk, of all visitors together."""


@dataclass(frozen=True)
class OwnProgram:
    """A program under the name that it is listed by; `summary`: facts of its import."""

    name: str
    program: Program
    summary: Summary


class OwnPrograms:
    """The programs of each visitor, the oldest of which go when there are too many."""

    def __init__(
        self,
        folder: Path | None,
        most_of_one: int = _MOST_OF_ONE,
        most_of_all: int = _MOST_OF_ALL,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        """`folder` None: keep nothing. `most_bytes`: of all visitors together."""
        self._folder, self._most_bytes = folder, most_bytes
        self._most_of_one, self._most_of_all = most_of_one, most_of_all

    def save(self, visitor: str, own: OwnProgram) -> None:
        """Keep a program; a full or read-only disk loses it, and nothing else."""
        if self._folder is None:
            return
        own_folder = self._folder / visitor
        try:
            own_folder.mkdir(parents=True, exist_ok=True)
            with temporary_folder("new", own_folder) as made:
                place = made / "own"
                place.mkdir()
                save(own.program, place / _PROGRAM)
                (place / _LISTING).write_text(json.dumps([own.name, own.summary]))
                target = own_folder / content_hash(own.program)
                shutil.rmtree(target, ignore_errors=True)
                place.rename(target)
            self._forget(own_folder)
        except (OSError, EngineError):
            return

    def names(self, visitor: str) -> list[str]:
        """The names of a visitor's programs, the oldest first."""
        return list(self._listed(visitor))

    def named(self, visitor: str, content: str) -> str | None:
        """The name of a visitor's program whose content hash begins so; None if there is none."""
        listed = self._listed(visitor).items()
        return next((name for name, (place, _) in listed if place.name.startswith(content)), None)

    def find(self, visitor: str, name: str) -> OwnProgram | None:
        """A program by name; None if there is none, or it cannot be read any more."""
        place, summary = self._listed(visitor).get(name, (None, ()))
        if place is None:
            return None
        try:
            program, _ = sound(load(place / _PROGRAM))
            return OwnProgram(name, program, summary)
        except EngineError:
            return None

    def remove(self, visitor: str, name: str) -> None:
        """Forget a program."""
        place, _ = self._listed(visitor).get(name, (None, ()))
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)

    def _listed(self, visitor: str) -> dict[str, tuple[Path, Summary]]:
        """The folder and the summary of each program of a visitor, by name, the oldest first."""
        if self._folder is None or not visitor:
            return {}
        listed = {}
        for place in sorted((self._folder / visitor).glob("[0-9a-f]*"), key=age):
            if (listing := _listing(place)) is not None:
                name, summary = listing
                listed[name] = (place, summary)
        return listed

    def _forget(self, own_folder: Path) -> None:
        assert self._folder is not None
        forget_oldest(own_folder.glob("[0-9a-f]*"), self._most_of_one, self._most_bytes)
        forget_oldest(self._folder.glob("*/[0-9a-f]*"), self._most_of_all, self._most_bytes)


def _listing(place: Path) -> tuple[str, Summary] | None:
    """Name and summary of the program in a folder; None if the folder is damaged."""
    try:
        name, facts = json_of((place / _LISTING).read_bytes())
        return str(name), tuple((str(label), str(text)) for label, text in facts)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
