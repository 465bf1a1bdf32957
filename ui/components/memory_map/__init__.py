"""The memory map: a canvas of time and address that scrubs, zooms and hovers in the browser.

Two Streamlit components. `store_plan` sends the code and a packed plan once; `memory_map` is the
small view that a fragment shows at every step, and refers to the plan by its identity. The view's
own code is a few lines, since Streamlit sends it again with each step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

_HERE = Path(__file__).parent
# One module: later files use what earlier ones declare.
_SCRIPTS = (
    "plan",
    "words",
    "palette",
    "colours",
    "axes",
    "draw",
    "strip",
    "curve",
    "overlay",
    "listing",
    "tree",
    "finder",
    "view",
    "hands",
    "svg",
    "share",
    "store",
)


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


_STORE = st.components.v2.component(
    "memory_map_store",
    html=_read("map.html"),
    css=_read("map.css"),
    js="\n".join(_read(f"{name}.js") for name in _SCRIPTS),
)
_VIEW = st.components.v2.component("memory_map", js=_read("link.js"))


def store_plan(packed: bytes, key: str) -> None:
    """Keep a packed plan (`ui.viewmodel.board`) in the browser."""
    _STORE(key=key, data=packed)


def memory_map(data: dict[str, Any], key: str) -> None:
    """Show a stored plan.

    `data`: `plan` (identity), `move`, `selected` (group or -1), `nonce` (a new number makes the
    browser take over `move` and `selected`), `obeyed` (serial number of the last command carried
    out), `overlay`, `draft` (`ui.viewmodel.draft`), `tree` and `players`, `link` and `look`
    (`ui.links`). What the user does comes back as `st.session_state[key]["cursor"]`: plan, move,
    selected, nonce, and, until it is obeyed, the last `command` (`ui.commands`).
    """
    _VIEW(key=key, data=data, on_cursor_change=_ignore)


def _ignore() -> None:
    """The script reads the state on its next run; Streamlit asks for a callback all the same."""
