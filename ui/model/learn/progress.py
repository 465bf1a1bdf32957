"""What a visitor has done: stars, challenges won, positions to be asked again; as a file, too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from engine.errors import LessonError
from engine.files import json_of
from engine.game.moves import PLACE_RULES
from engine.game.notes import ACTION_DIGITS
from engine.lessons.judge import MOST_STARS
from engine.lessons.positions import Mined
from engine.lessons.rating import Rating

FORMAT = "mallocmuzero-progress"
VERSION = 1
MOST_BYTES = 2**20
_MOST_ROWS = 5000
_LONGEST_NAME = 200
_LONGEST_PERSON = 60
_LONGEST_CLASS = 12_000
MOST_GAMES = 60
"""Boards of which the unfinished game is kept."""
LONGEST_GAME = 4000
MOST_MISTAKES = 40
NEW_PLAYER = Rating()
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
class Spent:
    """How often a lesson, a position or a program was tried to the end, and for how long."""

    tries: int = 0
    seconds: int = 0


_FORMER_RULES = ("support", "roomy")
"""Place rules that the game no longer has; a file that names them is read all the same."""


@dataclass(frozen=True)
class Mistake(Mined):
    """A decision of one's own game that went wrong, and from it the best game known.

    Its card is its own, also where the same position ships.
    """

    def key(self, move: int) -> str:
        """See `Mined.key`; also by the place rule, which may be another one in the next game."""
        return f"own/{self.place}/{super().key(move)}"


@dataclass(frozen=True)
class Progress:
    """What a visitor has reached.

    `stars` by lesson, `won` (nanoseconds of the best game) by challenge, `cards` by position,
    `games`: by board what was played on it (`ui.model.learn.kept_game`), `spent` by lesson and
    position, `records` by kind of run, `rating`: points, deviation and volatility, `name`: as the
    visitor wants to be called, `mistakes`: of own games, the latest last, `class_query`: that of
    the link by which a teacher has set a class (`ui.model.learn.classroom`), empty without one,
    `forgotten`: when all before was forgotten, `name_at`, `class_at`: when name and class were last
    changed; all in nanoseconds since 1970, 0 for never.
    """

    stars: Mapping[str, int] = field(default_factory=dict)
    won: Mapping[str, int] = field(default_factory=dict)
    cards: Mapping[str, Card] = field(default_factory=dict)
    games: Mapping[str, str] = field(default_factory=dict)
    spent: Mapping[str, Spent] = field(default_factory=dict)
    records: Mapping[str, int] = field(default_factory=dict)
    rating: Rating = NEW_PLAYER
    name: str = ""
    mistakes: tuple[Mistake, ...] = ()
    class_query: str = ""
    forgotten: int = 0
    name_at: int = 0
    class_at: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was done yet."""
        return replace(self, forgotten=0, name_at=0, class_at=0) == Progress()

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

    def with_game(self, board: str, game: str) -> Progress:
        """The progress after a decision on a board; of more than `MOST_GAMES` the oldest go."""
        others = {name: text for name, text in self.games.items() if name != board}
        kept = [*others.items(), (board, game)][-MOST_GAMES:]
        return replace(self, games=dict(kept))

    def with_time(self, name: str, seconds: int, is_try: bool) -> Progress:
        """The progress after so many seconds on a lesson or a position."""
        old = self.spent.get(name, Spent())
        spent = Spent(min(old.tries + is_try, _MOST), min(old.seconds + seconds, _MOST))
        return replace(self, spent={**self.spent, name: spent})

    def with_record(self, kind: str, score: int) -> Progress:
        """The progress after a run; the best score counts."""
        if score <= self.records.get(kind, 0):
            return self
        return replace(self, records={**self.records, kind: score})

    def with_mistakes(self, mistakes: Sequence[Mistake]) -> Progress:
        """The progress after a game was reviewed; of more than `MOST_MISTAKES` the oldest go.

        Games longer than `LONGEST_GAME` are not kept.
        """
        fitting = [mined for mined in mistakes if len(mined.game) <= LONGEST_GAME]
        kept = {_key(mined): mined for mined in (*self.mistakes, *fitting)}
        return replace(self, mistakes=tuple(kept.values())[-MOST_MISTAKES:])

    def merged(self, other: Progress) -> Progress:
        """The union of both: most stars, best times, and of each card the more answered one.

        Of games and `forgotten` one's own count, of name and class what was changed last, of
        ratings the surer one.
        """
        person, name_at = _later((self.name, self.name_at), (other.name, other.name_at))
        class_query, class_at = _later(
            (self.class_query, self.class_at), (other.class_query, other.class_at)
        )
        stars, won, cards = dict(self.stars), dict(self.won), dict(self.cards)
        for name, number in other.stars.items():
            stars[name] = max(number, stars.get(name, 0))
        for name, number in other.won.items():
            won[name] = min(number, won.get(name, number))
        for name, card in other.cards.items():
            own = cards.get(name, Card())
            cards[name] = card if card.right + card.wrong >= own.right + own.wrong else own
        spent = {**other.spent}
        for name, own_time in self.spent.items():
            spent[name] = max(own_time, spent.get(name, own_time), key=lambda s: s.seconds)
        records = {**other.records}
        for kind, score in self.records.items():
            records[kind] = max(score, records.get(kind, 0))
        return Progress(
            stars=stars,
            won=won,
            cards=cards,
            games=dict([*{**other.games, **self.games}.items()][-MOST_GAMES:]),
            spent=spent,
            records=records,
            rating=min(self.rating, other.rating, key=lambda r: r.deviation),
            name=person,
            mistakes=other.with_mistakes(self.mistakes).mistakes,
            class_query=class_query,
            forgotten=self.forgotten,
            name_at=name_at,
            class_at=class_at,
        )

    def text(self) -> str:
        """The progress as JSON."""
        body = {
            "format": FORMAT,
            "version": VERSION,
            "stars": dict(self.stars),
            "won": dict(self.won),
            "cards": {name: list(asdict(card).values()) for name, card in self.cards.items()},
        }
        more = {
            "games": dict(self.games),
            "spent": {name: [s.tries, s.seconds] for name, s in self.spent.items()},
            "records": dict(self.records),
            "rating": [] if self.rating == NEW_PLAYER else list(asdict(self.rating).values()),
            "name": self.name,
            "mistakes": [
                [m.program, m.content_hash, m.place, m.game, m.moves[0]] for m in self.mistakes
            ],
            "class": self.class_query,
            **{name: getattr(self, name) for name in _MOMENTS},
        }
        body |= {name: value for name, value in more.items() if value}
        # In the order in which games were played: the last one is taken up again.
        return json.dumps(body, separators=(",", ":"))


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
        games=_games(body, where),
        spent={name: _spent(row, where) for name, row in _table(body, "spent", where).items()},
        records=_numbers(body, "records", where, _MOST),
        rating=_rating(body.get("rating", []), where),
        name=name_of(body.get("name", "")),
        mistakes=_mistakes(body.get("mistakes", []), where),
        class_query=_class_query(body.get("class", ""), where),
        **{name: _moment(body, name, where) for name in _MOMENTS},
    )


_MOMENTS = ("forgotten", "name_at", "class_at")


def _later(own: tuple[str, int], other: tuple[str, int]) -> tuple[str, int]:
    """Of two texts, each with when it was changed, the later one; of two at once any but empty."""
    is_others = other[1] > own[1] or (other[1] == own[1] and not own[0])
    return other if is_others else own


def _key(mined: Mistake) -> str:
    return mined.key(mined.moves[0])


def _mistakes(rows: Any, where: str) -> tuple[Mistake, ...]:
    """The mistakes, but for those of games that can no longer be played."""
    if not isinstance(rows, list):
        raise LessonError(f"{where}: mistakes is not a list")
    known = [_mistake(row, where) for row in rows[-MOST_MISTAKES:]]
    return tuple(mistake for mistake in known if mistake.place not in _FORMER_RULES)


def _mistake(row: Any, where: str) -> Mistake:
    is_fine = isinstance(row, list) and len(row) == 5 and type(row[4]) is int
    if not is_fine or not all(isinstance(text, str) for text in row[:4]):
        raise LessonError(f"{where}: mistakes: {row!r:.60} is no game with a mistake")
    program, identity, place, game, move = row
    if place not in PLACE_RULES + _FORMER_RULES or not ACTION_DIGITS.issuperset(game):
        raise LessonError(f"{where}: mistakes: {row!r:.60} is no game with a mistake")
    if not 0 <= move < len(game) <= LONGEST_GAME or len(program) > _LONGEST_NAME:
        raise LessonError(f"{where}: mistakes: move {move!r:.20} is not one of the game")
    return Mistake(program, identity, place, 0, 0, game, (move,))


def name_of(text: Any) -> str:
    """A name in one short line; empty for what is no text."""
    return " ".join(text.split())[:_LONGEST_PERSON] if isinstance(text, str) else ""


def _class_query(text: Any, where: str) -> str:
    if not isinstance(text, str) or len(text) > _LONGEST_CLASS:
        raise LessonError(f"{where}: class is not a text of {_LONGEST_CLASS:,} letters")
    return text


def _moment(body: dict[str, Any], key: str, where: str) -> int:
    value = body.get(key, 0)
    if type(value) is not int or not 0 <= value < 2**63:
        raise LessonError(f"{where}: {key}: {value!r:.20} is no time in nanoseconds")
    return value


def _games(body: dict[str, Any], where: str) -> dict[str, str]:
    table = _table(body, "games", where)
    for name, text in table.items():
        if not isinstance(text, str) or len(text) > LONGEST_GAME:
            raise LessonError(f"{where}: games, {name:.60}: not a text of {LONGEST_GAME} letters")
    return dict(list(table.items())[-MOST_GAMES:])


def _spent(row: Any, where: str) -> Spent:
    is_fine = isinstance(row, list) and len(row) == 2
    if not is_fine or any(type(n) is not int or not 0 <= n <= _MOST for n in row):
        raise LessonError(f"{where}: spent: {row!r:.60} is not two whole numbers")
    return Spent(*row)


def _rating(row: Any, where: str) -> Rating:
    if row == []:
        return NEW_PLAYER
    is_fine = isinstance(row, list) and len(row) == 3
    if not is_fine or any(type(n) not in (int, float) for n in row):
        raise LessonError(f"{where}: rating: {row!r:.60} is not three numbers")
    points, deviation, volatility = map(float, row)
    if not (0 <= points <= 5000 and 1 <= deviation <= 1000 and 1e-4 <= volatility < 1):
        raise LessonError(f"{where}: rating: {row!r:.60} is no rating")
    return Rating(points, deviation, volatility)


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
