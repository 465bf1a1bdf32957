"""Which position is asked next: what is due, by theme, by the player's rating; and timed runs."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.lessons.positions import Mined
from engine.lessons.rating import Rating, Result, rated
from engine.lessons.themes import About
from ui.model.learn.progress import Card

MINE = "your mistakes"
"""In place of a theme: the positions of one's own games that went wrong."""
PRACTICE, STREAK, MINUTES = "practice", "streak", "minutes"
MODES = {PRACTICE: "Practice", STREAK: "Streak", MINUTES: "Three minutes"}
LIMIT_S = 180.0
MOST_WRONG = 3
"""Wrong answers with which three minutes are over early."""
_FIRST_POINTS, _STEP_POINTS = 1000.0, 70.0
"""A run begins with the easiest positions and gets harder with every right answer."""
_NEAREST = 4
UNMEASURED = Rating(1500.0, 200.0)
"""In place of the rating of a position that is not measured."""


@dataclass(frozen=True)
class Asked:
    """A position that can be asked: the game, the move, and what it is about if that is known."""

    mined: Mined
    move: int
    about: About | None

    @property
    def rating(self) -> Rating:
        """As an opponent."""
        return UNMEASURED if self.about is None else self.about.rating


def positions_of(
    games: Sequence[Mined], theme: str = "", kept: Collection[str] = ()
) -> dict[str, Asked]:
    """The positions by key; programs take turns, so neighbours differ.

    Of near-twins only the first is listed, and those `kept` (answered before). `theme`: only those
    that have it.
    """
    found: dict[str, Asked] = {}
    seen: set[str] = set()
    rounds = max((len(mined.moves) for mined in games), default=0)
    for number in range(rounds):
        for mined in games:
            if number >= len(mined.moves):
                continue
            move = mined.moves[number]
            key, about = mined.key(move), mined.about_at(move)
            if theme and (about is None or theme not in about.themes):
                continue
            if about is not None and about.alike in seen and key not in kept:
                continue
            if about is not None:
                seen.add(about.alike)
            found[key] = Asked(mined, move, about)
    return found


WAITS = (0, 1, 3, 7, 16, 35)
"""Days until a position of each box is asked again."""


def answered(card: Card, is_right: bool, today: int) -> Card:
    """The card after an answer: up one box, or back to the first; days from 1970-01-01."""
    box = min(card.box + 1, len(WAITS) - 1) if is_right else 0
    right, wrong = card.right + is_right, card.wrong + (not is_right)
    return replace(card, box=box, due=today + WAITS[box], right=right, wrong=wrong)


def due(keys: Sequence[str], cards: Mapping[str, Card], today: int) -> list[str]:
    """The positions that were answered before and are to be asked again, the oldest first."""
    known = [key for key in keys if key in cards and cards[key].due <= today]
    return sorted(known, key=lambda key: cards[key].due)


def following(
    positions: Mapping[str, Asked],
    cards: Mapping[str, Card],
    today: int,
    rating: Rating = UNMEASURED,
    last: str = "",
) -> str | None:
    """The position to ask next: one that is due, else the new one nearest to the player's rating.

    None if all wait for their day. Not the `last` one again as long as there is another.
    """
    new = [key for key in positions if key not in cards]
    new.sort(key=lambda key: abs(positions[key].rating.points - rating.points))
    waiting = [*due(list(positions), cards, today), *new]
    others = [key for key in waiting if key != last]
    return next(iter(others or waiting), None)


def after_answer(player: Rating, asked: Asked, is_right: bool) -> Rating:
    """The player's rating after a first answer to a position."""
    return rated(player, [Result(asked.rating, float(is_right))])


@dataclass
class Run:
    """A streak, or three minutes, from `begun` on by the clock.

    `to_beat`: the record when it began. `missed`: keys of the wrong answers. `over_s`: how long it
    took; None while it goes on.
    """

    kind: str
    begun: float
    seed: int
    to_beat: int = 0
    score: int = 0
    asked: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    over_s: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing counts any more."""
        return self.over_s is not None

    @property
    def is_record(self) -> bool:
        """Whether it is better than all before it."""
        return self.score > self.to_beat

    def left_s(self, now: float) -> float:
        """Seconds left of three minutes."""
        return max(0.0, LIMIT_S - (now - self.begun))

    def tick(self, now: float) -> None:
        """End it if its time is over."""
        if self.kind == MINUTES and not self.is_over and now - self.begun >= LIMIT_S:
            self.over_s = LIMIT_S

    def answered(self, key: str, is_right: bool, now: float) -> None:
        """Count an answer, unless the run is over."""
        self.tick(now)
        if self.is_over:
            return
        if is_right:
            self.score += 1
            return
        self.missed.append(key)
        if self.kind == STREAK or len(self.missed) >= MOST_WRONG:
            self.over_s = now - self.begun

    def next(self, positions: Mapping[str, Asked]) -> str | None:
        """A position that has not been asked, harder with every right answer; None: there is none.

        That ends the run.
        """
        wanted = _FIRST_POINTS + _STEP_POINTS * self.score
        new = [key for key in positions if key not in self.asked]
        new.sort(key=lambda key: abs(positions[key].rating.points - wanted))
        if not new:
            self.over_s = self.over_s or 0.0
            return None
        dice = random.Random(f"{self.seed} {len(self.asked)}")
        chosen = dice.choice(new[:_NEAREST])
        self.asked.append(chosen)
        return chosen
