"""What a map in the browser tells of its cursor, and what it is told back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from ui.components.memory_map.draft import Draft
from ui.model.cursor import Cursor
from ui.session.state import Session

_LONGEST_REASON = 280
"""Most characters of a refusal that the map shows, so that a step's message stays small."""


def told(key: str) -> dict[str, Any]:
    """The last message of the map `key` (see `MEMORY_MAP`); empty before it sends one."""
    return dict(st.session_state.get(key, {}).get("cursor") or {})


def held(key: str, draft: Draft | None) -> int:
    """The version of a draft that the browser has said to hold; 0 if it holds none of it."""
    state = told(key)
    is_same = draft is not None and state.get("plan", "").startswith(draft.identity)
    return int(state.get("held", 0)) if is_same else 0


def take(
    session: Session, key: str, cursor: Cursor, stored: str, board: str
) -> Mapping[str, Any] | None:
    """Take over the cursor that the map told; returns its command if one is to be carried out.

    `stored`: identity of the plan that is shown, `board`: the name of the board. What the map told
    is ignored if it is about another plan, or if the script has moved the cursor since; a command
    that this board loses by that is answered all the same, as missed.
    """
    state = told(key)
    command = session.take_command(key, state)
    cursor.is_missed = False
    if not state or state["nonce"] != cursor.nonce or state["plan"] != stored:
        cursor.is_missed = command is not None and command.get("board") == board
        return None
    if state["move"] != cursor.move:
        cursor.question = None
    cursor.move, cursor.selected = int(state["move"]), int(state["selected"])
    if command is not None:
        cursor.move, cursor.refusal, cursor.note = int(command["move"]), "", ""
    return command


def answer(session: Session, key: str, cursor: Cursor) -> dict[str, Any]:
    """The part of a step's message that is about the cursor and the last command."""
    return {
        "move": cursor.move,
        **({"selected": cursor.selected} if cursor.selected >= 0 else {}),
        "nonce": cursor.nonce,
        "handled": session.handled.get(key, 0),
        **({"missed": True} if cursor.is_missed else {}),
        **({"refusal": cursor.refusal[:_LONGEST_REASON]} if cursor.refusal else {}),
        **({"note": cursor.note} if cursor.note else {}),
    }
