"""Two to four plans of one program as small memory maps with one window and one cursor.

`SIDE_BY_SIDE.store` takes packed plans (`ui.model.compare.sheet`). `SIDE_BY_SIDE.show` takes
`plans` (identity), `is_diff`, `group` (selected, or -1), `slot` (to bring into sight, or -1),
`nonce` (a new number makes the browser take over `group` and `slot`), `height` (pixels), `window`
(what a link wants to be shown first, or empty). What the user picks comes back as
`st.session_state[key]["picked"]`: plans, plan (number of the panel), group, slot, nonce.
"""

from __future__ import annotations

from pathlib import Path

from ui.components.stored_view import SHARED, StoredView

_FOLDER = Path(__file__).parent
_SHARED = ("words.js", "palette.js")
_SCRIPTS = (
    "plans.js",
    "panel.js",
    "sheet.js",
)
SIDE_BY_SIDE = StoredView(
    "side_by_side",
    _FOLDER / "sheet",
    [*(SHARED / name for name in _SHARED), *(_FOLDER / name for name in _SCRIPTS)],
    state="picked",
)
