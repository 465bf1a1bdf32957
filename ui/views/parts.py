"""Pieces that several views show."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from ui import opening
from ui.session import Session
from ui.viewmodel.choices import Choice
from ui.viewmodel.turns import Story
from ui.viewmodel.units import time_text

_NOTHING_S = 1e-13
"""Below this a gain is the rounding of the game's ticks."""


def program_picker(here: Session) -> None:
    """A list of all programs at hand; choosing one opens it."""
    names = opening.program_names(here)
    chosen = st.selectbox("Program", names, index=names.index(here.program_name))
    if chosen != here.program_name and opening.try_open(here, chosen):
        st.rerun()


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
        head = f"{key}<b>{choice.name}</b> <em>{gain_text(choice.gain_s)}</em>{own}"
        return (
            f'<button class="{" ".join(classes)}" data-do="play" data-action="{choice.action}">'
            f"<span>{head}<br>{escape(choice.text)}{_thought_html(choice)}</span></button>"
        )
    ask = ""
    if choice.is_blocked:
        label = "hide" if is_asked else "show what forbids it"
        ask = command_html("ask", label, action=choice.action)
    return (
        f'<div class="{" ".join(classes)} refused"><b>{choice.name}</b> ✗ {ask}'
        f"<br>{escape(choice.text)}</div>"
    )


def _thought_html(choice: Choice) -> str:
    return f'<br><i class="thought">{escape(choice.thought)}</i>' if choice.thought else ""


def command_html(do: str, label: str, **arguments: object) -> str:
    """A button that sends a command (`ui.commands`) through the map."""
    told = "".join(f' data-{name.replace("_", "-")}="{value}"' for name, value in arguments.items())
    return f'<button class="ask" data-do="{do}"{told}>{escape(label)}</button>'


def facts_html(facts: Sequence[tuple[str, str]]) -> str:
    """Names and texts in two columns."""
    rows = "".join(f"<i>{escape(name)}</i><span>{escape(text)}</span>" for name, text in facts)
    return f'<div class="facts">{rows}</div>'


def gain_text(seconds: float) -> str:
    """Signed seconds; `± 0` for what is only rounding."""
    if abs(seconds) < _NOTHING_S:
        return "± 0"
    return f"{'+' if seconds > 0 else '−'}{time_text(abs(seconds))}"
