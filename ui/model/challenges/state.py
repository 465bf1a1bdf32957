"""What one visitor has open on the page Challenges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.game.reference.game import ReferenceGame
from engine.lessons.opponents import Judged
from engine.lessons.refutation import Refutation
from engine.lessons.score import Sheet
from ui.model.learn.progress import Card


@dataclass(frozen=True)
class TakenBack:
    """A move that teaching has not let pass: where, which action, what it costs, and why."""

    move: int
    action: int
    cost_s: float
    game: ReferenceGame
    refutation: Refutation


@dataclass(frozen=True)
class Answer:
    """What the visitor played in a position, and what each action is worth."""

    action: int
    values: dict[int, Judged]
    greedy: int
    is_right: bool
    refutation: Refutation | None = None
    """Of the answer if it is wrong, else of greedy's where that is another; None without one."""


@dataclass
class ChallengeState:
    """Settings, answers and score sheets of one visitor.

    `decisions`: how many moves are the visitor's own; `is_teaching`: bad moves are taken back.
    `question`: key of the position asked; `answers`: by key, in this visit. `taken_back`: the last
    one, until another move. `sheets`: score sheets by program and game.
    """

    decisions: int = 10
    is_teaching: bool = True
    question: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    num_right: int = 0
    num_asked: int = 0
    taken_back: TakenBack | None = None
    taken_up: set[str] = field(default_factory=set)
    """Programs of which the game under way has been looked for."""
    sheets: dict[tuple[str, tuple[int, ...]], Sheet] = field(default_factory=dict)


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
    keys: Sequence[str], cards: Mapping[str, Card], today: int, last: str = ""
) -> str | None:
    """The position to ask next: one that is due, else a new one; None if all wait for their day.

    Not the `last` one again as long as there is another.
    """
    waiting = [*due(keys, cards, today), *(key for key in keys if key not in cards)]
    others = [key for key in waiting if key != last]
    return next(iter(others or waiting), None)
