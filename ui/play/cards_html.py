"""A move in words and its actions as cards, in HTML."""

from __future__ import annotations

from html import escape

from ui.components.glossary import term_html
from ui.components.html import command_html, gain_text
from ui.play.choices import Choice
from ui.play.story import Story


def story_html(told: Story) -> str:
    """The move's headline and what is at stake."""
    return (
        f'<p class="headline"><code>{escape(told.subject)}</code> {told.verb}'
        f" <code>{escape(told.tensor)}</code></p>"
        f'<p class="stake">{escape(told.stake)}</p>'
    )


def choice_html(choice: Choice, is_chosen: bool, is_asked: bool, is_plan: bool) -> str:
    """One action as a card: what it would do and earn, or why it is forbidden.

    A legal one is a button that plays it; a refused one has a button that shows its obstacles.
    """
    classes = ["choice", choice.name.lower()]
    key = f"<kbd>{choice.action + 1}</kbd>"
    if choice.is_legal:
        if is_chosen:
            classes.append("chosen")
        own = f" · <em>{'the plan' if is_plan else 'played'}</em>" if is_chosen else ""
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


def _thought_html(choice: Choice) -> str:
    return f'<br><i class="thought">{escape(choice.thought)}</i>' if choice.thought else ""
