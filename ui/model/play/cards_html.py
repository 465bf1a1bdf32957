"""A move in words and its actions as cards, in HTML."""

from __future__ import annotations

from html import escape

from engine.game.moves import ACTION_NAMES, KINDS
from ui.components.glossary import term_html
from ui.components.html import command_html, gain_text
from ui.model.play.choices import Choice
from ui.model.play.story import Story


def story_html(story: Story) -> str:
    """The move's headline and what is at stake."""
    return (
        f'<p class="headline"><code>{escape(story.subject)}</code> {story.verb}'
        f" <code>{escape(story.tensor)}</code></p>"
        f'<p class="stake">{escape(story.stake)}</p>'
    )


def choice_html(choice: Choice, chosen: int | None, is_asked: bool, is_plan: bool) -> str:
    """One action as a card: what it would do and earn, or why it is forbidden.

    A legal one is a button that plays it; a refused one has a button that shows its obstacles.
    Below stands a button for its other end, where that is legal. `chosen`: what is played here.
    """
    is_chosen = choice.action == chosen
    other = _other_end_html(choice.other, choice, chosen, is_plan) if choice.other else ""
    return _card_html(choice, is_chosen, is_asked, is_plan) + other


def _card_html(choice: Choice, is_chosen: bool, is_asked: bool, is_plan: bool) -> str:
    classes = ["choice", choice.name.lower()]
    key = f"<kbd>{choice.action + 1}</kbd>"
    if choice.is_legal:
        if is_chosen:
            classes.append("chosen")
        own = _own_html(is_plan) if is_chosen else ""
        name = term_html(choice.name, is_focusable=False, has_text=False)
        head = f"{key}<b>{name}</b> <em>{gain_text(choice.gain_s)}</em>{own}"
        return (
            f'<button class="{" ".join(classes)}" data-do="play" data-action="{choice.action}">'
            f"<span>{head}<br>{escape(choice.text)}{_thought_html(choice)}</span></button>"
        )
    ask = ""
    if choice.is_blocked:
        label = "hide" if is_asked else "show what forbids it"
        ask = command_html("ask", label, action=choice.action)
    name = term_html(choice.name, has_text=False)
    return (
        f'<div class="{" ".join(classes)} refused"><b>{name}</b> ✗ {ask}'
        f"<br>{escape(choice.text)}</div>"
    )


def _other_end_html(choice: Choice, main: Choice, chosen: int | None, is_plan: bool) -> str:
    """A button in one line: key, gain if it is not that of `main`, address, effect."""
    kind = KINDS[choice.action]
    is_chosen = choice.action == chosen
    classes = f"other-end {ACTION_NAMES[kind].lower()}{' chosen' if is_chosen else ''}"
    own = _own_html(is_plan) if is_chosen else ""
    is_other_gain = not main.is_legal or gain_text(choice.gain_s) != gain_text(main.gain_s)
    gain = f" <em>{gain_text(choice.gain_s)}</em>" if is_other_gain else ""
    name = term_html("Other end", is_focusable=False, has_text=False)
    thought = f' <i class="thought">{escape(choice.thought)}</i>' if choice.thought else ""
    return (
        f'<button class="{classes}" data-do="play" data-action="{choice.action}">'
        f"<span><kbd>⇧{kind + 1}</kbd>"
        f"{name}{gain}{own} · {escape(choice.text)}{thought}</span></button>"
    )


def _own_html(is_plan: bool) -> str:
    return f" · <em>{'the plan' if is_plan else 'played'}</em>"


def _thought_html(choice: Choice) -> str:
    return f'<br><i class="thought">{escape(choice.thought)}</i>' if choice.thought else ""
