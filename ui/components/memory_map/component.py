"""The memory map: a canvas of time and address that scrubs, zooms and hovers in the browser.

`MEMORY_MAP.store` takes a packed plan (`board.py`). `MEMORY_MAP.show` takes `plan` (identity),
`move`, `selected` (group or -1), `nonce` (a new number makes the browser take over `move` and
`selected`), `board` (the game that is played on; commands that wait are dropped when another one is
shown), `handled` (serial number of the last command answered), `missed` (the answer is that it came
too late), `refusal` (why it was not allowed, if it was not), `note` (why it did nothing),
`overlay`, `draft`, `tree` and `players`, `link` and `look` (`ui.session.links`), and `is_plain`
(leave out shapes and kinds of instructions). What the user does comes back as
`st.session_state[key]["cursor"]`: plan, move, selected, nonce, and, until it is answered, the last
`command` (`ui.play.commands`).
"""

from __future__ import annotations

from pathlib import Path

from ui.components.memory_map.schema import javascript
from ui.components.stored_view import SHARED, StoredView

_FOLDER = Path(__file__).parent
_SHARED = ("words.js", "palette.js")
_SCRIPTS = (
    "plan.js",
    "colours.js",
    "axes.js",
    "draw.js",
    "strip.js",
    "curve.js",
    "overlay.js",
    "listing.js",
    "tree.js",
    "finder.js",
    "area.js",
    "view.js",
    "commands.js",
    "film.js",
    "keys.js",
    "hands.js",
    "svg.js",
    "share.js",
)
MEMORY_MAP = StoredView(
    "memory_map",
    _FOLDER / "map",
    [*(SHARED / name for name in _SHARED), *(_FOLDER / name for name in _SCRIPTS)],
    state="cursor",
    constants=javascript(),
)
HOW_TO_READ = (
    "How to read the picture: time runs to the right, addresses go up. A box is a tensor for as"
    " long as it holds its place in fast memory, hatched while its copy is under way. Below, what"
    " the chip does, what is copied, and how much time has been saved so far."
)
"""What who sees the map for the first time has to know."""
