"""A text that the visitor's browser keeps, so that it outlives sessions and servers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

_STORE = st.components.v2.component(
    "browser_store", js=Path(__file__).with_name("browser_store.js").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class StoredText:
    """The text in the browser's storage.

    `is_kept`: False where it can keep nothing, or could not keep what it was given last.
    """

    text: str
    is_kept: bool


def browser_store(
    name: str, text: str, token: str, key: str, *, is_quiet: bool = False
) -> StoredText | None:
    """Keep `text` under `name` once per `token` (empty: only look); an empty text clears it.

    A token counts if it is later in the alphabet than those before. Returns the text that the
    browser last sent; None before it has sent any. `is_quiet`: it sends none, unless it is news
    whether it is kept.
    """
    data = {"name": name, "text": text, "token": token, "quiet": is_quiet}
    _STORE(key=key, data=data, on_stored_change=_ignore)
    stored = st.session_state.get(key, {}).get("stored")
    if not isinstance(stored, dict) or not isinstance(stored.get("text"), str):
        return None
    return StoredText(stored["text"], bool(stored.get("kept")))


def _ignore() -> None:
    """The page reads the state on its next run; Streamlit asks for a callback all the same."""
