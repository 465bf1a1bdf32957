"""A mined position as a scene of the board: one answer, then what each action is worth."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ui.components.memory_map.board import NO_COMPANY, Company
from ui.model.challenges.question import Question
from ui.model.challenges.question_html import question_html
from ui.model.challenges.repetition import answered
from ui.model.challenges.state import ChallengeState
from ui.model.learn.learning import Learning, Seat
from ui.model.learn.progress import Card

_DAY_S = 86_400


def today() -> int:
    """The number of the day, from 1970-01-01."""
    return int(time.time() // _DAY_S)


@dataclass
class QuestionScene:
    """One question on its board; after the first answer, keys change nothing."""

    question: Question
    learning: Learning
    state: ChallengeState
    key: str = "question"
    is_hidden: bool = False
    company: Company = NO_COMPANY
    look: Mapping[str, str] = field(init=False)
    title: str = field(init=False)

    def __post_init__(self) -> None:
        """The map begins around the decision."""
        self.look, self.title = self.question.look, self.question.program.name

    def panel(self, seat: Seat) -> str:
        """See `Scene.panel`."""
        return question_html(self.question, seat, self.state)

    def decide(self, seat: Seat, action: int) -> bool:
        """See `Scene.decide`; the first action is the answer."""
        key = self.question.key
        if key not in self.state.answers:
            answer = self.question.answer(action)
            self.state.answers[key] = answer
            self.state.num_asked += 1
            self.state.num_right += answer.is_right
            progress = self.learning.progress
            card = answered(progress.cards.get(key, Card()), answer.is_right, today())
            self.learning.keep(progress.with_card(key, card))
            seat.jump(self.question.game.move_index)
            return True
        return False

    def carry_out(self, seat: Seat, command: Mapping[str, Any]) -> bool:
        """See `Scene.carry_out`."""
        del seat
        if command.get("do") == "next":
            self.learning.wanted = "next"
            return True
        return False
