"""A mined position as a question: judged by the engine, one answer, its panel."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from htpy import Renderable, b, div, span

from engine.game.moves import ACTION_NAMES
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons.opponents import Judged, Recorded, judged
from engine.lessons.positions import Mined
from engine.lessons.refutation import Refutation, refute
from engine.lessons.themes import MOST_SIMULATIONS, NEVER
from engine.program.model import Program
from ui.components.html import command_html
from ui.components.memory_map.board import NO_REFERENCES, References
from ui.components.units import count_text, noise_s, time_text
from ui.model.challenges.practice import Asked, after_answer, answered
from ui.model.challenges.state import Answer, ChallengeState
from ui.model.learn.explanation import why_html
from ui.model.learn.progress import Card
from ui.model.learn.state import Learning, Seat
from ui.model.play.decision import choice_html, choices, story, story_html

_SHARE_OF_MARGIN = 0.05
"""Share of the margin between best and worst action within which an action is right, too."""
_BEFORE, _AFTER = 28, 14
"""Slots around the decision that the map shows at first."""


@dataclass(frozen=True)
class Question:
    """A position of a strong game: `game` stands before the decision."""

    key: str
    program: Program
    game: ReferenceGame
    strong: Recorded

    def answer(self, action: int) -> Answer:
        """What an action is worth beside the others, each with the best continuation known."""
        rest = self.strong.actions[self.game.move_index :]
        values = judged(self.game, (self.strong,), rest)
        best, greedy = max(values, key=lambda a: values[a].saved_s), best_action(self.game)
        margin = values[best].saved_s - min(j.saved_s for j in values.values())
        least = values[best].saved_s - _SHARE_OF_MARGIN * margin
        right = frozenset(a for a, value in values.items() if value.saved_s >= least)
        wrong, refutation = greedy if action in right else action, None
        if wrong not in right:
            refutation = refute(self.game, values[wrong].actions, values[best].actions)
        return Answer(action, values, greedy, right, refutation)

    @property
    def look(self) -> dict[str, str]:
        """The window of the map around the decision, all addresses."""
        time = self.game.move.time
        granules = self.program.hardware.fast_bytes // self.program.hardware.alignment
        first = max(0, time - _BEFORE)
        last = min(self.program.num_slots, time + _AFTER)
        return {"window": f"{first}_{last}_0_{granules}"}


def question_of(program: Program, mined: Mined, move: int) -> Question:
    """The question at a move. Raises LessonError if program or rules are others by now."""
    strong = mined.strong(program)
    return Question(mined.key(move), program, mined.at(program, move), strong)


def best_value(values: dict[int, Judged]) -> float:
    """Seconds that the best action saves in the end."""
    return max(j.saved_s for j in values.values())


def question_html(question: Question, asked: Asked, seat: Seat, state: ChallengeState) -> str:
    """The whole panel, as HTML; it shows no value of a search before the answer."""
    answer = state.answers.get(question.key)
    game = question.game
    head = _ask_html(state) if answer is None else _verdict_html(question, asked, answer, state)
    chosen = answer.action if answer else None
    offered = choices(game)
    if answer is not None:
        offered = [c.thinking(_worth(answer)).answered(answer.right) for c in offered]
    cards = (choice_html(c, chosen, seat.cursor.question == c.action, False) for c in offered)
    return str(div(".turn.lesson")[head, story_html(story(game.program, game.move)), cards])


def _worth(answer: Answer) -> dict[int, str]:
    """A text per action: what it costs in the end against the best one."""
    texts = {}
    for action, value in answer.values.items():
        lost_s = best_value(answer.values) - value.saved_s
        is_best = lost_s < noise_s(lost_s)
        worth = "the best known" if is_best else f"costs {time_text(lost_s)} in the end"
        texts[action] = f"{worth}{_who(action, answer)}"
    return texts


def _who(action: int, answer: Answer) -> str:
    return " · greedy plays this" if action == answer.greedy else ""


def _ask_html(state: ChallengeState) -> Renderable:
    return div(".goal")[
        b["What would you play?"],
        span[_WARNING],
        span[f"{_score(state)} in this visit"] if state.num_asked else None,
    ]


_WARNING = (
    "Think of the whole program: what earns most at once is often wrong here, but not always."
)


def _score(state: ChallengeState) -> str:
    text = f"{state.num_right} of {count_text(state.num_asked, 'answer')} right"
    gained = round(state.gained)
    return f"{text}; rating {abs(gained)} {'higher' if gained > 0 else 'lower'}" if gained else text


def _verdict_html(
    question: Question, asked: Asked, answer: Answer, state: ChallengeState
) -> Renderable:
    best = max(answer.values, key=lambda a: answer.values[a].saved_s)
    name = ACTION_NAMES[answer.action]
    if answer.is_right:
        head, text = f"{name} is right.", _against(question, answer)
    else:
        lost_s = best_value(answer.values) - answer.values[answer.action].saved_s
        head, text = f"{name} costs {time_text(lost_s)}.", f"{ACTION_NAMES[best]} is right."
    kind = "verdict reached" if answer.is_right else "verdict"
    return div(class_=f"goal {kind}", role="status")[
        b[head],
        " ",
        span[text],
        span(".note")[_about_text(asked)] if asked.about else None,
        span[_score(state)],
        span[command_html("next", "Next position")] if state.run is None else None,
        why_html(question.game, answer.refutation) if answer.refutation else None,
    ]


def _about_text(asked: Asked) -> str:
    """The themes and the difficulty, told after the answer: before it they would give it away."""
    about = asked.about
    if about is None:
        return ""
    needs = (
        f"a search needs more than {MOST_SIMULATIONS} simulations"
        if about.simulations >= NEVER
        else f"a search needs {count_text(about.simulations, 'simulation')}"
    )
    return f"{', '.join(about.themes)} · rated {about.rating.points:,.0f}: {needs}"


def _against(question: Question, answer: Answer) -> str:
    """How much more the right answer saves than greedy's action, and how much less than the best.

    Where it is as good as both, that greedy is right.
    """
    own_s = answer.values[answer.action].saved_s
    more_s = own_s - answer.values[answer.greedy].saved_s
    best = max(answer.values, key=lambda a: answer.values[a].saved_s)
    lost_s = answer.values[best].saved_s - own_s
    told = []
    if more_s >= noise_s(more_s):
        share = more_s / question.program.all_slow_s
        told.append(
            f"It saves {time_text(more_s)} more than {ACTION_NAMES[answer.greedy]}, which earns"
            f" most at once: {100 * share:.2g} % of the program."
        )
    if lost_s >= noise_s(lost_s):
        told.append(f"The best is {ACTION_NAMES[best]}, by {time_text(lost_s)}.")
    return " ".join(told) or "What earns most at once is right here."


_DAY_S = 86_400


def today() -> int:
    """The number of the day, from 1970-01-01."""
    return int(time.time() // _DAY_S)


@dataclass
class QuestionScene:
    """One question on its board; after the first answer, keys change nothing."""

    question: Question
    asked: Asked
    learning: Learning
    state: ChallengeState
    key: str = "question"
    is_hidden: bool = False
    is_plain: bool = False
    references: References = NO_REFERENCES
    look: Mapping[str, str] = field(init=False)
    title: str = field(init=False)

    def __post_init__(self) -> None:
        """The map begins around the decision."""
        self.look, self.title = self.question.look, self.question.program.name

    @property
    def board(self) -> str:
        """See `Scene.board`."""
        return f"position {self.question.key}"

    def panel(self, seat: Seat) -> str:
        """See `Scene.panel`."""
        return question_html(self.question, self.asked, seat, self.state)

    def explained(self, seat: Seat) -> tuple[ReferenceGame, Refutation] | None:
        """See `Scene.explained`; after the answer."""
        del seat
        answer = self.state.answers.get(self.question.key)
        if answer is None or answer.refutation is None:
            return None
        return self.question.game, answer.refutation

    def decide(self, seat: Seat, action: int) -> bool:
        """See `Scene.decide`; the first action is the answer."""
        key, state = self.question.key, self.state
        if key in state.answers:
            onward = ": go on with Next position" if state.run is None else ""
            seat.cursor.note = f"This position is answered{onward}"
            return False
        answer = self.question.answer(action)
        state.answers[key] = answer
        state.num_asked += 1
        state.num_right += answer.is_right
        self._keep(answer.is_right)
        seat.jump(self.question.game.move_index)
        run = state.run
        if run is not None and not run.is_over:
            run.answered(key, answer.is_right, self.learning.clock())
            self.learning.keep(self.learning.progress.with_record(run.kind, run.score))
            if not run.is_over:
                self.learning.wanted = "next"
        return True

    def _keep(self, is_right: bool) -> None:
        """Keep the answer: the card, the time, and of a first answer in practice the rating."""
        progress, key = self.learning.progress, self.question.key
        is_rated = key not in progress.cards and self.state.run is None
        card = answered(progress.cards.get(key, Card()), is_right, today())
        progress = progress.with_card(key, card)
        self.state.gained = 0.0
        if is_rated:
            after = after_answer(progress.rating, self.asked, is_right)
            self.state.gained = after.points - progress.rating.points
            progress = replace(progress, rating=after)
        self.learning.keep(progress)
        self.learning.spend(self.board, is_try=True)

    def carry_out(self, seat: Seat, command: Mapping[str, Any]) -> bool:
        """See `Scene.carry_out`."""
        del seat
        if command.get("do") == "next":
            self.learning.wanted = "next"
            return True
        return False
