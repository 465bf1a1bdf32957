"""Guessing a plan's decisions: those with the most at stake, one after another, with a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

from ui.model.play.film import Film
from ui.model.play.variations import Rating

MOST_QUESTIONS = 10
_MOST_TRIED = 60
"""Moves looked at for questions: each costs a replay of some dozen moves."""


@dataclass(frozen=True)
class Answer:
    """The visitor's `action`, the plan's `own`, and the worth of the first against the second.

    After both, the rest of the game is played as the plan does.
    """

    action: int
    own: int
    rating: Rating

    @property
    def is_same(self) -> bool:
        """Whether the visitor played the plan's own action."""
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
        """The move of the current question."""
        return self.questions[self.at]

    @property
    def answer(self) -> Answer | None:
        """The answer to the current question; None while it is open."""
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
    """A quiz on the decisions of a film with the most at stake; None if it has no decision."""
    moves = film.game_at(0).moves
    weighty = [m for m, move in enumerate(moves) if move.saving_s > 0]
    order = sorted(weighty, key=lambda m: -moves[m].saving_s)
    questions: list[int] = []
    for move in order[:_MOST_TRIED]:
        if sum(film.game_at(move).legal()) > 1:
            questions.append(move)
        if len(questions) == MOST_QUESTIONS:
            break
    return Quiz(plan, tuple(sorted(questions))) if questions else None
