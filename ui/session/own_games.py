"""What visitors made in Play on disk: their own plans, and the variations that leave plans."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from engine.errors import EngineError
from engine.files import read_json, write_bytes
from engine.plan.io import plan_from_json, plan_to_json
from engine.plan.model import Plan
from ui.model.play.line import Rating, Variation
from ui.session.visitor_folders import VisitorFolders

_FILE = "games.json.gz"


@dataclass(frozen=True)
class Games:
    """The visitor's own plans of one program by name, and the variations that leave its plans.

    `left`: the plans of others that they leave, by name. `trees`: by the identity of the plan, each
    with the name of its game (`Film.game`).
    """

    plans: Mapping[str, Plan] = field(default_factory=dict)
    left: Mapping[str, Plan] = field(default_factory=dict)
    trees: Mapping[str, tuple[str, tuple[Variation, ...]]] = field(default_factory=dict)


@dataclass(frozen=True)
class OwnGames(VisitorFolders):
    """The games of each visitor: such a file has some kilobytes."""

    def save(self, visitor: str, program: str, games: Games) -> None:
        """Keep the games of a program in place of those before.

        A full or read-only disk loses them, and nothing else.
        """
        place = self.place(visitor, program)
        if place is None:
            return
        with suppress(OSError, EngineError):
            place.mkdir(parents=True, exist_ok=True)
            write_bytes(place / _FILE, json.dumps(_body(games)).encode())
            self.forget_oldest(visitor)

    def find(self, visitor: str, program: str) -> Games:
        """The games of a program; none where they cannot be read any more."""
        place = self.place(visitor, program)
        try:
            return Games() if place is None else _games(read_json(place / _FILE))
        except (EngineError, ValueError, TypeError, KeyError, AttributeError, IndexError):
            return Games()


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
