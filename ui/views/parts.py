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
        f" <code>{escape(told.tensor)}</code></p><p>{escape(told.stake)}</p>"
    )


def choice_html(choice: Choice, is_chosen: bool) -> str:
    """One action: what it would do and earn, or why it is forbidden."""
    classes = ["choice", choice.name.lower()]
    if not choice.is_legal:
        classes.append("refused")
    if is_chosen:
        classes.append("chosen")
    gain = f" <em>{gain_text(choice.gain_s)}</em>" if choice.is_legal else ""
    own = " · <em>this plan</em>" if is_chosen else ""
    return (
        f'<div class="{" ".join(classes)}"><b>{choice.name}</b> '
        f"{'✓' if choice.is_legal else '✗'}{gain}{own}<br>{escape(choice.text)}</div>"
    )


def facts_html(facts: Sequence[tuple[str, str]]) -> str:
    """Names and texts in two columns."""
    rows = "".join(f"<i>{escape(name)}</i><span>{escape(text)}</span>" for name, text in facts)
    return f'<div class="facts">{rows}</div>'


def gain_text(seconds: float) -> str:
    """Signed seconds; `± 0` for what is only rounding."""
    if abs(seconds) < _NOTHING_S:
        return "± 0"
    return f"{'+' if seconds > 0 else '−'}{time_text(abs(seconds))}"
