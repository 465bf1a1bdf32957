"""Two to four plans of one program as small memory maps with one window and one cursor.

As with the memory map, `store_plans` sends the code and the packed plans once
(`ui.viewmodel.side_by_side`); `side_by_side` is the small view that refers to them by identity.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

_HERE = Path(__file__).parent
_MAP = _HERE.parent / "memory_map"
# One module: later files use what earlier ones declare. Words, colours and ticks are the map's.
_SCRIPTS = (
    _MAP / "words.js",
    _MAP / "palette.js",
    _HERE / "plans.js",
    _HERE / "panel.js",
    _HERE / "sheet.js",
    _HERE / "store.js",
)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


_STORE = st.components.v2.component(
    "side_by_side_store",
    html=_read(_HERE / "sheet.html"),
    css=_read(_HERE / "sheet.css"),
    js="\n".join(_read(path) for path in _SCRIPTS),
)
_VIEW = st.components.v2.component("side_by_side", js=_read(_HERE / "link.js"))


def store_plans(packed: bytes, key: str) -> None:
    """Keep packed plans in the browser."""
    _STORE(key=key, data=packed)


def side_by_side(data: dict[str, Any], key: str) -> None:
    """Show stored plans.

    `data`: `plans` (identity), `is_diff`, `group` (selected, or -1), `slot` (to bring into sight,
    or -1), `nonce` (a new number makes the browser take over `group` and `slot`), `height`
    (pixels), `window` (what a link wants to be shown first, or empty). What the user picks comes
    back as `st.session_state[key]["picked"]`: plans, plan (number of the panel), group, slot,
    nonce.
    """
    _VIEW(key=key, data=data, on_picked_change=_ignore)


def _ignore() -> None:
    """The script reads the state on its next run; Streamlit asks for a callback all the same."""
