"""A text to copy. Unlike Streamlit's own block of code, the keyboard can scroll it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui.components import in_order

_HERE = Path(__file__).parent
_HTML = (
    '<div class="copyable"><button type="button">Copy</button>'
    '<pre tabindex="0" role="region"></pre></div>'
)
_COPYABLE = st.components.v2.component(
    "copyable",
    html=_HTML,
    css=(_HERE / "copyable.css").read_text(encoding="utf-8"),
    js=in_order.SCRIPT + (_HERE / "copyable.js").read_text(encoding="utf-8"),
)


def copyable(text: str, label: str, key: str) -> None:
    """Show the text; `label` says what it is to whoever cannot see it."""
    _COPYABLE(key=key, data=in_order.numbered({"text": text, "label": label}, key))
