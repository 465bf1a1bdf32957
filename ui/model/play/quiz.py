"""Guessing a plan's decisions: those with the most at stake, one after another, with a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

from htpy import Node, Renderable, b, div, fragment, span

from engine.game.moves import ACTION_NAMES
from ui.components.html import command_html
from ui.components.units import noise_s, times_text
from ui.model.play.film import Film
from ui.model.play.line import Rating

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

    @property
    def right(self) -> frozenset[int]:
        """The plan's own action, and the visitor's where that is as good or better."""
        is_good = self.is_same or self.rating.final > -noise_s(0.0)
        return frozenset({self.own, self.action} if is_good else {self.own})


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
        return sum(a.action in a.right for a in self.answers.values())

    def is_open_at(self, plan: str, move: int) -> bool:
        """Whether `move` of that plan is being asked about and not answered."""
        return plan == self.plan and move == self.move and self.answer is None

    def answered_at(self, plan: str, move: int) -> Answer | None:
        """The answer to the current question, if it is about `move` of that plan."""
        return self.answer if (plan, move) == (self.plan, self.move) else None


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


def quiz_html(quiz: Quiz, move: int) -> Renderable:
    """The quiz in three lines at most: count, question or verdict, and the next buttons."""
    end = command_html("quiz", "End", to="end")
    count = f"Question {quiz.at + 1} of {len(quiz.questions)}"
    if move != quiz.move:
        back = command_html("quiz", "Back to it", to="stay")
        return _box([b[count], f" is about move {quiz.move + 1:,}."], [back, end])
    if quiz.answer is None:
        ask = " What would you do? What the plan does from here on is hidden."
        return _box([b[f"{count}."], ask], end)
    again = command_html("quiz", "Try again", to="again")
    score = f" {quiz.num_right} of {len(quiz.answers)} as good as the plan."
    onward = None if quiz.is_last else command_html("quiz", "Next", to="next")
    return _box([_verdict(quiz.answer), score], [onward, again, end])


def _verdict(answer: Answer) -> Renderable:
    if answer.is_same:
        return b[f"{ACTION_NAMES[answer.own]}, like the plan."]
    own, final = ACTION_NAMES[answer.own], answer.rating.final
    if abs(final) < noise_s(0.0):
        return fragment[b["As good in the end"], f"; the plan plays {own}."]
    word = "better" if final > 0 else "worse"
    end, at_once = times_text(abs(final), answer.rating.so_far)
    return fragment[
        b[f"{end} {word}"],
        f" in the end ({at_once} at once); the plan plays {own}.",
    ]


def _box(text: Node, buttons: Node) -> Renderable:
    return div(".line")[span[text], span[buttons]]
