"""A view in two Streamlit components, for data that is too large to be sent with every step.

The *store* is mounted once and keeps the code and the packed data in the browser; the *view* is
what a fragment shows at every step, and refers to what is stored. Its own script is a few lines,
since Streamlit sends it again with each step. Both share a registry of the view's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from ui.components import in_order
from ui.components.glossary import javascript

SHARED = Path(__file__).parent
"""The folder of the scripts that several views use."""
_COMMON = "common.js"


class StoredView:
    """The two components of the view called `name`; `state` is the name of what it tells Python.

    `scripts` become one module, in which later files use what earlier ones declare; the last one
    declares `STORED` (see `common.js`). `constants` are declarations in front of them.
    """

    def __init__(
        self, name: str, page: Path, scripts: Sequence[Path], state: str, constants: str = ""
    ) -> None:
        """Register them; `page` is the path of the view's HTML and CSS files without a suffix."""
        head = f'const VIEW = "{name}";\n'
        code = [javascript(), constants, *(_read(path) for path in (SHARED / _COMMON, *scripts))]
        self._store = st.components.v2.component(
            f"{name}_store",
            html=_read(page.with_suffix(".html")),
            css=_read(SHARED / "common.css") + _read(page.with_suffix(".css")),
            js=head + "\n".join(code),
        )
        # Sent with every step, so without what only readers of the file need.
        text = in_order.SCRIPT + _read(SHARED / "link.js").replace("VIEW", f'"{name}"')
        lines = text.splitlines()
        link = "\n".join(line.strip() for line in lines if not line.startswith("//"))
        self._view = st.components.v2.component(name, js=link)
        self._listeners: dict[str, Any] = {f"on_{state}_change": _ignore}

    def store(self, packed: bytes, key: str) -> None:
        """Keep packed data (`ui.components.packing`) in the browser."""
        self._store(key=key, data=packed)

    def show(self, data: dict[str, Any] | bytes, key: str) -> None:
        """Show what is stored."""
        self._view(key=key, data=in_order.numbered(data, key), **self._listeners)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _ignore() -> None:
    """The script reads the state on its next run; Streamlit asks for a callback all the same."""
