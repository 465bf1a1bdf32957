"""What a visitor has done: stars, challenges won, positions to be asked again; as a file, too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from engine.errors import LessonError
from engine.files import json_of
from engine.lessons.judge import MOST_STARS

FORMAT = "mallocmuzero-progress"
VERSION = 1
MOST_BYTES = 2**20
_MOST_ROWS = 5000
_LONGEST_NAME = 200
_MOST = 10**9


@dataclass(frozen=True)
class Card:
    """A position that is asked again: its box (0 … ), the day it is due, answers right and wrong.

    Days are numbered from 1970-01-01.
    """

    box: int = 0
    due: int = 0
    right: int = 0
    wrong: int = 0


@dataclass(frozen=True)
class Progress:
    """What a visitor has reached.

    `stars` by lesson, `won` (nanoseconds of the best game) by challenge, `cards` by position.
    """

    stars: Mapping[str, int] = field(default_factory=dict)
    won: Mapping[str, int] = field(default_factory=dict)
    cards: Mapping[str, Card] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was done yet."""
        return not (self.stars or self.won or self.cards)

    @property
    def done(self) -> frozenset[str]:
        """The lessons whose goal was reached."""
        return frozenset(name for name, stars in self.stars.items() if stars > 0)

    def with_stars(self, lesson: str, stars: int) -> Progress:
        """The progress after a lesson was finished; stars are never lost."""
        most = max(stars, self.stars.get(lesson, 0))
        return replace(self, stars={**self.stars, lesson: most}) if most else self

    def with_win(self, challenge: str, nanoseconds: int) -> Progress:
        """The progress after a challenge was won; the best time counts."""
        best = min(nanoseconds, self.won.get(challenge, _MOST))
        return replace(self, won={**self.won, challenge: best})

    def with_card(self, position: str, card: Card) -> Progress:
        """The progress after a position was answered."""
        return replace(self, cards={**self.cards, position: card})

    def merged(self, other: Progress) -> Progress:
        """The union of both: most stars, best times, and of each card the more answered one."""
        stars, won, cards = dict(self.stars), dict(self.won), dict(self.cards)
        for name, number in other.stars.items():
            stars[name] = max(number, stars.get(name, 0))
        for name, number in other.won.items():
            won[name] = min(number, won.get(name, number))
        for name, card in other.cards.items():
            own = cards.get(name, Card())
            cards[name] = card if card.right + card.wrong >= own.right + own.wrong else own
        return Progress(stars, won, cards)

    def text(self) -> str:
        """The progress as JSON."""
        body = {
            "format": FORMAT,
            "version": VERSION,
            "stars": dict(self.stars),
            "won": dict(self.won),
            "cards": {name: list(asdict(card).values()) for name, card in self.cards.items()},
        }
        return json.dumps(body, separators=(",", ":"), sort_keys=True)


def progress_of(text: str, where: str) -> Progress:
    """Progress from JSON. Raises LessonError, which begins with `where`, for what is none."""
    if len(text) > MOST_BYTES:
        raise LessonError(f"{where}: larger than {MOST_BYTES // 1024} KiB")
    try:
        body = json_of(text)
    except (ValueError, RecursionError) as error:
        raise LessonError(f"{where}: not JSON; choose a file that was exported here") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise LessonError(f"{where}: not a progress file; choose one that was exported here")
    if body.get("version") != VERSION:
        raise LessonError(f"{where}: version {body.get('version')!r:.20}, but {VERSION} is read")
    return Progress(
        stars=_numbers(body, "stars", where, MOST_STARS),
        won=_numbers(body, "won", where, _MOST),
        cards={name: _card(row, where) for name, row in _table(body, "cards", where).items()},
    )


def _table(body: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    table = body.get(key, {})
    if not isinstance(table, dict) or len(table) > _MOST_ROWS:
        raise LessonError(f"{where}: {key} is not a table of at most {_MOST_ROWS} rows")
    if any(len(name) > _LONGEST_NAME for name in table):
        raise LessonError(f"{where}: {key}: a name is longer than {_LONGEST_NAME} characters")
    return table


def _numbers(body: dict[str, Any], key: str, where: str, most: int) -> dict[str, int]:
    table = _table(body, key, where)
    for name, value in table.items():
        if type(value) is not int or not 0 <= value <= most:
            raise LessonError(f"{where}: {key}, {name:.60}: {value!r:.20} is not 0 to {most}")
    return table


def _card(row: Any, where: str) -> Card:
    is_fine = isinstance(row, list) and len(row) == 4
    if not is_fine or any(type(n) is not int or not 0 <= n <= _MOST for n in row):
        raise LessonError(f"{where}: cards: {row!r:.60} is not four whole numbers")
    return Card(*row)
