"""The question about a plan's decision, and the verdict on the answer, as HTML for the panel."""

from __future__ import annotations

from engine.game.moves import ACTION_NAMES
from ui.components.html import command_html, gain_text
from ui.components.units import time_text
from ui.model.play.quiz import Answer, Quiz


def quiz_html(quiz: Quiz, move: int) -> str:
    """The quiz in three lines at most: count, question or verdict, and the next buttons."""
    end = command_html("quiz", "End", to="end")
    count = f"Question {quiz.at + 1} of {len(quiz.questions)}"
    if move != quiz.move:
        back = command_html("quiz", "Back to it", to="stay")
        return _box(f"<b>{count}</b> is about move {quiz.move + 1:,}.", f"{back}{end}")
    if quiz.answer is None:
        ask = f"<b>{count}.</b> What would you do? What the plan does from here on is hidden."
        return _box(ask, end)
    again = command_html("quiz", "Try again", to="again")
    score = f"{quiz.num_right} of {len(quiz.answers)} as good as the plan"
    onward = "" if quiz.is_last else command_html("quiz", "Next", to="next")
    return _box(f"{_verdict(quiz.answer)} {score}.", f"{onward}{again}{end}")


def _verdict(answer: Answer) -> str:
    if answer.is_same:
        return f"<b>{ACTION_NAMES[answer.own]}, like the plan.</b>"
    own, final = ACTION_NAMES[answer.own], answer.rating.final
    if gain_text(final) == gain_text(0.0):
        return f"<b>As good in the end</b>; the plan plays {own}."
    word = "better" if final > 0 else "worse"
    at_once = gain_text(answer.rating.so_far)
    return (
        f"<b>{time_text(abs(final))} {word}</b> in the end ({at_once} at once);"
        f" the plan plays {own}."
    )


def _box(text: str, buttons: str) -> str:
    return f'<div class="line"><span>{text}</span><span>{buttons}</span></div>'
