"""What the agent searched: value curve, root table, tree, budget and film, all in the browser.

As with the memory map, `store_game` sends the code and what belongs to the whole game once
(`ui.viewmodel.search_board`); `search_tree` is the small view that a fragment shows at every move.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_HERE = Path(__file__).parent
_MAP = _HERE.parent / "memory_map"
# One module: later files use what earlier ones declare. Words, colours and patterns are the map's.
_SCRIPTS = (
    _MAP / "words.js",
    _MAP / "palette.js",
    _HERE / "messages.js",
    _HERE / "tree.js",
    _HERE / "paint.js",
    _HERE / "icicle.js",
    _HERE / "budget.js",
    _HERE / "table.js",
    _HERE / "steps.js",
    _HERE / "film.js",
    _HERE / "curve.js",
    _HERE / "pane.js",
    _HERE / "keys.js",
    _HERE / "view.js",
    _HERE / "store.js",
)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


_STORE = st.components.v2.component(
    "search_tree_store",
    html=_read(_HERE / "search.html"),
    css=_read(_HERE / "search.css"),
    js="\n".join(_read(path) for path in _SCRIPTS),
)
_VIEW = st.components.v2.component("search_tree", js=_read(_HERE / "link.js"))


def store_game(packed: bytes, key: str) -> None:
    """Keep a game (`search_board.game_message`) in the browser."""
    _STORE(key=key, data=packed)


def search_tree(packed: bytes, key: str) -> None:
    """Show a position (`search_board.position_message`) of a stored game.

    What the user does comes back as `st.session_state[key]["told"]`: game, move, nonce, and, if
    there is one, an `order` with its serial number: `open` the `actions` of a line in Play.
    """
    _VIEW(key=key, data=packed, on_told_change=_ignore)


def _ignore() -> None:
    """The script reads the state on its next run; Streamlit asks for a callback all the same."""
