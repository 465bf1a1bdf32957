"""What visitors made in Play on disk: their own plans, and the variations that leave plans.

One folder per visitor, in it one per program, called by the program's content, with one file.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.files import read_json
from engine.folders import temporary_folder
from engine.plan.io import plan_from_json, plan_to_json
from engine.plan.model import Plan
from ui.jobs.store import forget_oldest
from ui.model.play.line import Rating, Variation

_FILE = "games.json.gz"
_MOST_OF_ONE = 64
"""Programs with games that are kept for one visitor: such a file has some kilobytes."""
_MOST_OF_ALL = 2000
_MOST_BYTES = 2**30
"""Bytes on disk, of all visitors together."""


@dataclass(frozen=True)
class Games:
    """The visitor's own plans of one program by name, and the variations that leave its plans.

    `left`: the plans of others that they leave, by name. `trees`: by the identity of the plan, each
    with the name of its game (`Film.game`).
    """

    plans: Mapping[str, Plan] = field(default_factory=dict)
    left: Mapping[str, Plan] = field(default_factory=dict)
    trees: Mapping[str, tuple[str, tuple[Variation, ...]]] = field(default_factory=dict)


class OwnGames:
    """The games of each visitor, the oldest of which go when there are too many."""

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

    def save(self, visitor: str, program: str, games: Games) -> None:
        """Keep the games of a program in place of those before.

        A full or read-only disk loses them, and nothing else.
        """
        if self._folder is None or not visitor:
            return
        place = self._folder / visitor / program
        try:
            place.mkdir(parents=True, exist_ok=True)
            with temporary_folder("new", place.parent) as made:
                made_file = made / _FILE
                made_file.write_bytes(gzip.compress(json.dumps(_body(games)).encode(), mtime=0))
                made_file.replace(place / _FILE)
            forget_oldest(place.parent.glob("[0-9a-f]*"), self._most_of_one, self._most_bytes)
            forget_oldest(self._folder.glob("*/[0-9a-f]*"), self._most_of_all, self._most_bytes)
        except OSError:
            return

    def find(self, visitor: str, program: str) -> Games:
        """The games of a program; none where they cannot be read any more."""
        if self._folder is None or not visitor:
            return Games()
        path = self._folder / visitor / program / _FILE
        try:
            return _games(read_json(path)) if path.exists() else Games()
        except (EngineError, ValueError, TypeError, KeyError, AttributeError, IndexError):
            return Games()

    def remove(self, visitor: str, program: str) -> None:
        """Forget the games of a program."""
        if self._folder is not None and visitor:
            shutil.rmtree(self._folder / visitor / program, ignore_errors=True)


def _body(games: Games) -> dict[str, Any]:
    plans, left = (
        [[name, plan_to_json(plan)] for name, plan in some.items()]
        for some in (games.plans, games.left)
    )
    trees = {
        identity: [game, [_row(line) for line in lines]]
        for identity, (game, lines) in games.trees.items()
    }
    return {"plans": plans, "left": left, "trees": trees}


def _row(line: Variation) -> list[Any]:
    steps = ["".join(map(str, step)) for step in line.steps]
    return [line.parent, line.fork, steps, line.by, line.rating.so_far, line.rating.final]


def _games(body: Any) -> Games:
    plans, left = (
        {str(name): plan_from_json(plan, str(name)) for name, plan in body[some]}
        for some in ("plans", "left")
    )
    trees = {
        str(identity): (str(game), tuple(_line(*row) for row in rows))
        for identity, (game, rows) in body["trees"].items()
    }
    return Games(plans, left, trees)


def _line(
    parent: int, fork: int, steps: list[str], by: str, so_far: float, final: float
) -> Variation:
    actions = tuple(tuple(map(int, step)) for step in steps)
    return Variation(parent, fork, actions, by, Rating(so_far, final))
