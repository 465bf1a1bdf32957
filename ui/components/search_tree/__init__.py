"""What the agent searched: value curve, root table, tree, budget and film, all in the browser.

`SEARCH_TREE.store` takes what belongs to the whole game (`search_board.game_message`),
`SEARCH_TREE.show` a position of it (`search_board.position_message`). What the user does comes back
as `st.session_state[key]["told"]`: game, move, nonce, and, if there is one, an `order` with its
serial number: `open` the `actions` of a line in Play.
"""

from __future__ import annotations

from pathlib import Path

from ui.components.stored_view import StoredView

_SCRIPTS = (
    "memory_map/words.js",
    "memory_map/palette.js",
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
)
SEARCH_TREE = StoredView(Path(__file__).parent, "search", _SCRIPTS, told="told")
