"""The visitors' own programs on disk: the program file, and what became of the files brought.

A folder is written under another name and then renamed, so that none is half there.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.errors import EngineError
from engine.files import json_of
from engine.folders import temporary_folder
from engine.program.io import content_hash, load, save
from engine.program.model import Program
from ui.model.programs.uploads import sound
from ui.session.visitor_folders import VisitorFolders

Summary = tuple[tuple[str, str], ...]
_PROGRAM, _LISTING = "program.json.gz", "listing.json"


@dataclass(frozen=True)
class OwnProgram:
    """A program under the name that it is listed by; `summary`: facts of its import."""

    name: str
    program: Program
    summary: Summary


@dataclass(frozen=True)
class OwnPrograms(VisitorFolders):
    """The programs of each visitor: half as many of one as may be open at once."""

    most_of_one: int = 8

    def save(self, visitor: str, own: OwnProgram) -> None:
        """Keep a program; a full or read-only disk loses it, and nothing else."""
        own_folder = self.of(visitor)
        if own_folder is None:
            return
        with suppress(OSError, EngineError):
            own_folder.mkdir(parents=True, exist_ok=True)
            with temporary_folder("new", own_folder) as made:
                place = made / "own"
                place.mkdir()
                save(own.program, place / _PROGRAM)
                (place / _LISTING).write_text(json.dumps([own.name, own.summary]))
                target = own_folder / content_hash(own.program)
                with suppress(FileNotFoundError):
                    target.rename(made / "old")
                place.rename(target)
            self.forget_oldest(visitor)

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
            self.forget(visitor, place.name)

    def _listed(self, visitor: str) -> dict[str, tuple[Path, Summary]]:
        """The folder and the summary of each program of a visitor, by name, the oldest first."""
        listed = {}
        for place in self.places(visitor):
            if (listing := _listing(place)) is not None:
                name, summary = listing
                listed[name] = (place, summary)
        return listed


def _listing(place: Path) -> tuple[str, Summary] | None:
    """Name and summary of the program in a folder; None if the folder is damaged."""
    try:
        name, facts = json_of((place / _LISTING).read_bytes())
        return str(name), tuple((str(label), str(text)) for label, text in facts)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
