"""Guessing a plan's decisions: those with the most at stake, one after another, with a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

from ui.play.film import Film
from ui.play.variations import Rating

MOST_QUESTIONS = 10
_MOST_TRIED = 60
"""Moves looked at for questions: each costs a replay of some dozen moves."""


@dataclass(frozen=True)
class Answer:
    """What the visitor played, and its worth against the plan's own action, the plan's rest after
    both.
    """

    action: int
    own: int
    rating: Rating

    @property
    def is_same(self) -> bool:
        """Whether the plan does it too."""
        return self.action == self.own


@dataclass
class Quiz:
    """Questions about one plan: moves with a choice, in the order of the game."""

    plan: str
    questions: tuple[int, ...]
    at: int = 0
    answers: dict[int, Answer] = field(default_factory=dict)

    @property
    def move(self) -> int:
        """The move that is asked about."""
        return self.questions[self.at]

    @property
    def answer(self) -> Answer | None:
        """What was answered to it; None while it is open."""
        return self.answers.get(self.move)

    @property
    def is_last(self) -> bool:
        """Whether no question comes after this one."""
        return self.at + 1 == len(self.questions)

    @property
    def num_right(self) -> int:
        """Answers that do as the plan does, or better."""
        return sum(a.is_same or a.rating.final >= 0 for a in self.answers.values())

    def is_open_at(self, plan: str, move: int) -> bool:
        """Whether `move` of that plan is being asked about and not answered."""
        return plan == self.plan and move == self.move and self.answer is None


def quiz_of(film: Film, plan: str) -> Quiz | None:
    """The decisions of a film with the most at stake; None if it has none."""
    moves = film.game_at(0).moves
    weighty = [m for m, move in enumerate(moves) if move.saving_s > 0]
    order = sorted(weighty, key=lambda m: -moves[m].saving_s)
    found: list[int] = []
    for move in order[:_MOST_TRIED]:
        if sum(film.game_at(move).legal()) > 1:
            found.append(move)
        if len(found) == MOST_QUESTIONS:
            break
    return Quiz(plan, tuple(sorted(found))) if found else None
