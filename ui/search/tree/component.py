"""The agent's searches in the browser: value curve, root table, tree, budget and film.

`SEARCH_TREE.store` takes what belongs to the whole game (`game_message` of
`ui.model.search.messages`), `SEARCH_TREE.show` a position of it (`position_message`). What the user
does comes back as `st.session_state[key]["cursor"]`: game, move, nonce, and, if there is one, an
`command` with its serial number: `open` the `actions` of a line in Play.
"""

from __future__ import annotations

from pathlib import Path

from ui.components.stored_view import SHARED, StoredView

_FOLDER = Path(__file__).parent
_SHARED = ("words.js", "palette.js")
_SCRIPTS = (
    "messages.js",
    "tree.js",
    "paint.js",
    "icicle.js",
    "budget.js",
    "table.js",
    "steps.js",
    "film.js",
    "curve.js",
    "pane.js",
    "keys.js",
    "view.js",
    "share.js",
)
SEARCH_TREE = StoredView(
    "search_tree",
    _FOLDER / "search",
    [*(SHARED / name for name in _SHARED), *(_FOLDER / name for name in _SCRIPTS)],
    state="cursor",
)
