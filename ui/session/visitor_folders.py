"""What visitors leave on disk, where it survives reloads and restarts of the server.

One folder per visitor, in it one per program, called by the program's content hash.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.folders import discard
from ui.jobs.store import age, forget_oldest


@dataclass(frozen=True)
class VisitorFolders:
    """The folders of all visitors, of which the oldest go when there are too many.

    `folder` None: nothing is kept. `most_of_one`: of a visitor's. `most_bytes`: of all together.
    """

    folder: Path | None
    most_of_one: int = 64
    most_of_all: int = 2000
    most_bytes: int = 2**30

    def of(self, visitor: str) -> Path | None:
        """A visitor's folder; None if nothing is kept, or for nobody."""
        return self.folder / visitor if self.folder and visitor else None

    def place(self, visitor: str, program: str) -> Path | None:
        """The folder of a visitor's program, as `of`."""
        own = self.of(visitor)
        return None if own is None else own / program

    def places(self, visitor: str) -> list[Path]:
        """The folders of a visitor's programs, the oldest first."""
        own = self.of(visitor)
        return [] if own is None else sorted(own.glob("[0-9a-f]*"), key=age)

    def forget_oldest(self, visitor: str) -> None:
        """Remove what is too much, of the visitor's first."""
        if self.folder is None:
            return
        forget_oldest(self.folder, self.places(visitor), self.most_of_one, self.most_bytes)
        every = self.folder.glob("[!.]*/[0-9a-f]*")
        forget_oldest(self.folder, every, self.most_of_all, self.most_bytes)

    def forget(self, visitor: str, program: str) -> None:
        """Remove the folder of a visitor's program."""
        place = self.place(visitor, program)
        if self.folder is not None and place is not None:
            discard([place], self.folder)
