"""What one visitor has open on the page Challenges."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.game.reference.game import ReferenceGame
from engine.lessons.opponents import Judged
from engine.lessons.refutation import Refutation
from engine.lessons.score import Sheet
from ui.model.challenges.practice import PRACTICE, Run
from ui.model.learn.attempt import Attempt


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
    """What the visitor played in a position, what each action is worth, and which are right."""

    action: int
    values: dict[int, Judged]
    greedy: int
    right: frozenset[int]
    refutation: Refutation | None = None
    """Of the answer if it is wrong, else of greedy's where that is another; None without one."""

    @property
    def is_right(self) -> bool:
        """Whether the visitor's action is one of the right ones."""
        return self.action in self.right


GameKey = tuple[str, tuple[int, ...], tuple[int, ...]]
"""A finished game: its program, its actions, and the moves that the visitor decided."""


@dataclass
class ChallengeState:
    """Settings, answers and score sheets of one visitor.

    `decisions`: how many moves are the visitor's own; `is_teaching`: bad moves are taken back.
    `question`: key of the position asked; `answers`: by key, in this visit. `taken_back`: the last
    one, until another move. `sheets`: the score sheets.
    """

    decisions: int = 10
    is_teaching: bool = True
    question: str = ""
    mode: str = PRACTICE
    theme: str = ""
    run: Run | None = None
    """The streak or the three minutes under way, or just over."""
    answers: dict[str, Answer] = field(default_factory=dict)
    num_right: int = 0
    num_asked: int = 0
    gained: float = 0.0
    """Points that the last answer has changed the rating by."""
    taken_back: TakenBack | None = None
    asked_for: str = ""
    """Key of a position that a class asks for, until it is shown."""
    lost: str = ""
    """What a link asks for in vain, until the visitor goes on."""
    taken_up: set[str] = field(default_factory=set)
    """Programs of which the game under way has been looked for."""
    sheets: dict[GameKey, Sheet] = field(default_factory=dict)

    def taken_back_on(self, attempt: Attempt) -> TakenBack | None:
        """The move that was taken back, as long as this board has the position it was played in."""
        back = self.taken_back
        is_here = back is not None and any(point.game is back.game for point in attempt.points)
        return back if is_here else None

    def open_position(self, key: str) -> None:
        """Show this position next, in practice."""
        self.mode, self.theme, self.run = PRACTICE, "", None
        self.asked_for = key
