"""The memory map: a canvas of time and address that scrubs, zooms and hovers in the browser.

`MEMORY_MAP.store` takes a packed plan (`ui.viewmodel.board`). `MEMORY_MAP.show` takes `plan`
(identity), `move`, `selected` (group or -1), `nonce` (a new number makes the browser take over
`move` and `selected`), `obeyed` (serial number of the last command carried out), `overlay`, `draft`
(`ui.viewmodel.draft`), `tree` and `players`, `link` and `look` (`ui.links`). What the user does
comes back as `st.session_state[key]["cursor"]`: plan, move, selected, nonce, and, until it is
obeyed, the last `command` (`ui.commands`).
"""

from __future__ import annotations

from pathlib import Path

from ui.components.stored_view import StoredView

_SCRIPTS = (
    "plan.js",
    "words.js",
    "palette.js",
    "colours.js",
    "axes.js",
    "draw.js",
    "strip.js",
    "curve.js",
    "overlay.js",
    "listing.js",
    "tree.js",
    "finder.js",
    "view.js",
    "hands.js",
    "svg.js",
    "share.js",
)
MEMORY_MAP = StoredView(Path(__file__).parent, "map", _SCRIPTS, told="cursor")
