"""The panel of a position: the question, or what each action is worth; as HTML."""

from __future__ import annotations

from engine.game.moves import ACTION_NAMES
from ui.components.html import command_html
from ui.components.units import count_text, time_text
from ui.model.challenges.question import Question, best_value
from ui.model.challenges.state import Answer, ChallengeState
from ui.model.learn.learning import Seat
from ui.model.play.cards_html import choice_html, story_html
from ui.model.play.choices import choices
from ui.model.play.story import story


def question_html(question: Question, seat: Seat, state: ChallengeState) -> str:
    """The whole panel, as HTML; it shows no value of a search before the answer."""
    answer = state.answers.get(question.key)
    game = question.game
    head = _ask_html(state) if answer is None else _verdict_html(question, answer, state)
    chosen = answer.action if answer else None
    thoughts = _worth(answer) if answer else {}
    cards = [
        choice_html(c.thinking(thoughts), chosen, seat.question == c.action, False)
        for c in choices(game)
    ]
    move_html = story_html(story(game.program, game.move))
    return f'<div class="turn lesson">{head}{move_html}{"".join(cards)}</div>'


def _worth(answer: Answer) -> dict[int, str]:
    """A text per action: what it costs in the end against the best one."""
    texts = {}
    for action, value in answer.values.items():
        lost_s = best_value(answer.values) - value.saved_s
        worth = "the best known" if lost_s <= 0 else f"costs {time_text(lost_s)} in the end"
        texts[action] = f"{worth}{_who(action, answer)}"
    return texts


def _who(action: int, answer: Answer) -> str:
    return " · greedy plays this" if action == answer.greedy else ""


def _ask_html(state: ChallengeState) -> str:
    score = ""
    if state.num_asked:
        asked = count_text(state.num_asked, "answer")
        score = f"<span>{state.num_right} of {asked} right in this visit</span>"
    return (
        '<div class="goal"><b>What would you play?</b><span>Think of the whole program: what earns'
        f" most at once is often wrong here, but not always.</span>{score}</div>"
    )


def _verdict_html(question: Question, answer: Answer, state: ChallengeState) -> str:
    best = max(answer.values, key=lambda a: answer.values[a].saved_s)
    name = ACTION_NAMES[answer.action]
    if answer.is_right:
        text = f"<b>{name} is right.</b>{_against(question, answer, best)}"
    else:
        lost_s = best_value(answer.values) - answer.values[answer.action].saved_s
        text = (
            f"<b>{name} costs {time_text(lost_s)}.</b> <span>{ACTION_NAMES[best]} is right.</span>"
        )
    onward = command_html("next", "Next position")
    score = f"<span>{state.num_right} of {count_text(state.num_asked, 'answer')} right</span>"
    kind = "verdict reached" if answer.is_right else "verdict"
    return f'<div class="goal {kind}" role="status">{text}{score}<span>{onward}</span></div>'


def _against(question: Question, answer: Answer, best: int) -> str:
    """HTML: how much more the right action saves than greedy's, or that greedy is right."""
    if answer.values[answer.greedy].saved_s >= answer.values[best].saved_s - 1e-12:
        return " <span>What earns most at once is right here.</span>"
    more = answer.values[best].saved_s - answer.values[answer.greedy].saved_s
    share = more / question.program.all_slow_s
    return (
        f" <span>It saves {time_text(more)} more than {ACTION_NAMES[answer.greedy]}, which earns"
        f" most at once: {100 * share:.2g} % of the program.</span>"
    )
