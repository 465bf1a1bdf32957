"""A text that the visitor's browser keeps, so that it outlives sessions and servers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

_STORE = st.components.v2.component(
    "browser_store", js=Path(__file__).with_name("browser_store.js").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Found:
    """What lies in the browser's storage. `is_kept`: False where it keeps nothing."""

    text: str
    is_kept: bool


def browser_store(name: str, text: str, token: str, key: str) -> Found | None:
    """Keep `text` under `name` once per `token` (empty: only look); an empty text clears it.

    Returns what the browser has said to hold; None before its first word.
    """
    _STORE(key=key, data={"name": name, "text": text, "token": token}, on_found_change=_ignore)
    found = st.session_state.get(key, {}).get("found")
    if not isinstance(found, dict) or not isinstance(found.get("text"), str):
        return None
    return Found(found["text"], bool(found.get("kept")))


def _ignore() -> None:
    """The page reads the state on its next run; Streamlit asks for a callback all the same."""
