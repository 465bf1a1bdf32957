"""What one visitor has open on the page Challenges."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.lessons.score import Sheet
from engine.lessons.strong import Judged


@dataclass(frozen=True)
class TakenBack:
    """A move that teaching has not let pass: where, which action, and what it costs."""

    move: int
    action: int
    cost_s: float


@dataclass(frozen=True)
class Answer:
    """What the visitor played in a position, and what each action is worth."""

    action: int
    values: dict[int, Judged]
    greedy: int
    is_right: bool


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
    sheets: dict[tuple[str, tuple[int, ...]], Sheet] = field(default_factory=dict)
