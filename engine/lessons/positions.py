"""Positions from strong games on real programs, as a file: program and moves, no verdicts.

A position is a strong game's moves up to a decision. The game itself is played anew and judged like
any other way to go on; no answer and no value is stored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.errors import LessonError, ProgramFormatError, StalePositionsError
from engine.files import Finite, holds_something, json_of, read_bytes, typed, write_bytes
from engine.game.move_list import moves
from engine.game.moves import PLACE_RULES, RULES_VERSION, Rules
from engine.game.notes import ACTION_DIGITS
from engine.game.reference.game import ReferenceGame
from engine.lessons.opponents import Recorded, recorded
from engine.lessons.themes import NEVER, THEMES, About
from engine.program.io import content_hash
from engine.program.library import SAMPLES_FOLDER
from engine.program.model import Program

FORMAT = "mallocmuzero-positions"
VERSION = 2
FILE = SAMPLES_FOLDER / "positions.json"
_MOST_BYTES = 2**24


@dataclass(frozen=True)
class Mined:
    """A game on a program, and the moves of it that are worth asking.

    The first game of a program in a file is a strong one.
    `place`: the place rule of the game; `game`: its actions, a digit each. `seed`, `tries`: with
    which it was looked for. `pivotal`, `lead`: of a strong game, see
    `engine.lessons.mining`. `about`: of the first of the moves, as far as that is measured
    (`engine.lessons.themes`).
    """

    program: str
    content_hash: str
    place: str
    seed: int
    tries: int
    game: str
    moves: tuple[int, ...]
    pivotal: tuple[int, ...] = ()
    lead: Finite = 0.0
    about: tuple[About, ...] = ()

    def about_at(self, move: int) -> About | None:
        """What the position at one of its moves is about; None where that is not measured."""
        number = self.moves.index(move)
        return self.about[number] if number < len(self.about) else None

    @property
    def rules(self) -> Rules:
        """The rules of its game."""
        return Rules(place=self.place)

    def key(self, move: int) -> str:
        """A name of a position that stays the same as long as its moves do."""
        mark = hashlib.sha256(self.game[:move].encode()).hexdigest()[:6]
        return f"{self.program}/{move}-{mark}"

    def strong(self, program: Program) -> Recorded:
        """The strong game, played anew. Raises LessonError if the rules or the program changed."""
        if content_hash(program) != self.content_hash:
            raise LessonError(f"{self.program}: {_STALE}")
        try:
            whole = recorded(program, self.rules, tuple(map(int, self.game)))
        except ValueError as error:
            raise LessonError(f"{self.program}: {_STALE}") from error
        if len(whole.actions) != len(moves(program)):
            raise LessonError(f"{self.program}: its game is not played to the end")
        return whole

    def at(self, program: Program, move: int) -> ReferenceGame:
        """The position before a move, played anew; `strong` has said that the game is valid."""
        game = ReferenceGame(program, self.rules)
        for action in self.game[:move]:
            game.step(int(action))
        return game


_STALE = (
    "its positions are of another version of the program or of the rules; mine them anew:"
    " python -m engine mine --again"
)


def write_positions(games: Sequence[Mined], path: Path) -> None:
    """Write the positions of these games as one file, whole or not at all."""
    body = {
        "format": FORMAT,
        "version": VERSION,
        "rules_version": RULES_VERSION,
        "programs": [asdict(mined) for mined in games],
    }
    write_bytes(path, (json.dumps(body, indent=1) + "\n").encode())


def read_positions(path: Path = FILE) -> tuple[Mined, ...]:
    """The positions in a (gzipped) file; none if there is no such file, or nothing in it.

    Raises LessonError, StalePositionsError where there are some, but of another version.
    """
    if not holds_something(path):
        return ()
    try:
        body = json_of(read_bytes(path, _MOST_BYTES))
    except ProgramFormatError as error:
        raise LessonError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise LessonError(f"{path.name}: not JSON ({type(error).__name__})") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise LessonError(f"{path.name}: not a file of positions")
    for key, now, what in (
        ("version", VERSION, "format"),
        ("rules_version", RULES_VERSION, "rules"),
    ):
        if body.get(key) != now:
            raise StalePositionsError(
                f"{path.name}: of version {body.get(key)!r:.20} of the {what}, now {now};"
                " mine them anew: python -m engine mine --again"
            )
    try:
        return tuple(_mined(row) for row in typed(body.get("programs"), list[Any]))
    except ValueError as error:
        raise LessonError(f"{path.name}: malformed ({error!s:.100})") from error


def _mined(row: Any) -> Mined:
    mined = typed(row, Mined)
    if mined.place not in PLACE_RULES:
        raise ValueError(f"place rule {mined.place:.20}")
    if not ACTION_DIGITS.issuperset(mined.game):
        raise ValueError("a game with another action")
    if any(not 0 <= move < len(mined.game) for move in (*mined.moves, *mined.pivotal)):
        raise ValueError("a move that the game does not have")
    if len(mined.about) > len(mined.moves):
        raise ValueError("more is measured than there are positions")
    for about in mined.about:
        if not set(THEMES).issuperset(about.themes) or not 1 <= about.simulations <= NEVER:
            raise ValueError("a theme or a difficulty that there is not")
    return mined
