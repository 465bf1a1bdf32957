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

_HERE = Path(__file__).parent
_COMMON = "common.js"


class StoredView:
    """The two components of the view in `folder`; `told` is the name of what it tells Python.

    `scripts` become one module, in which later files use what earlier ones declare; the last one
    declares `STORED` (see `common.js`). Names with a slash count from the folder of all components.
    """

    def __init__(self, folder: Path, page: str, scripts: Sequence[str], told: str) -> None:
        """Register them; `page` is the stem of the view's HTML and CSS files."""
        name = folder.name
        head = f'const VIEW = "{name}";\n'
        paths = [_HERE / s if "/" in s else folder / s for s in scripts]
        code = [_read(path) for path in (_HERE / _COMMON, *paths)]
        self._store = st.components.v2.component(
            f"{name}_store",
            html=_read(folder / f"{page}.html"),
            css=_read(_HERE / "common.css") + _read(folder / f"{page}.css"),
            js=head + "\n".join(code),
        )
        self._view = st.components.v2.component(name, js=head + _read(_HERE / "link.js"))
        self._told = {f"on_{told}_change": _ignore}

    def store(self, packed: bytes, key: str) -> None:
        """Keep packed data (`ui.viewmodel.packing`) in the browser."""
        self._store(key=key, data=packed)

    def show(self, data: dict[str, Any] | bytes, key: str) -> None:
        """Show what is stored."""
        self._view(key=key, data=data, **self._told)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _ignore() -> None:
    """The script reads the state on its next run; Streamlit asks for a callback all the same."""
