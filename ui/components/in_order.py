"""Steps of a component, numbered, so that the browser can tell which is the latest.

While the script of a component is on its way, browsers run what waits for it in any order: of two
steps the older one might come last, and stay on the page.
"""

from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import Any, overload

import streamlit as st

SCRIPT = Path(__file__).with_name("in_order.js").read_text(encoding="utf-8")
"""Declares `isOvertaken`, for a component's own script."""
_LAST = "last_step_of_"


@overload
def numbered(data: dict[str, Any], key: str) -> dict[str, Any]: ...
@overload
def numbered(data: bytes, key: str) -> bytes: ...
@overload
def numbered(data: dict[str, Any] | bytes, key: str) -> dict[str, Any] | bytes: ...
def numbered(data: dict[str, Any] | bytes, key: str) -> dict[str, Any] | bytes:
    """The data of a component with the number of this step: an entry `step`, or 8 bytes at the end.

    Data that are the same as at the last step keep its number. A number is later than all before
    it, those of another session included (milliseconds of the clock).
    """
    last = st.session_state.get(_LAST + key)
    if last is not None and last[0] == data:
        step = last[1]
    else:
        step = time.time() * 1e3 if last is None else max(time.time() * 1e3, last[1] + 1)
        st.session_state[_LAST + key] = (data, step)
    if isinstance(data, bytes):
        return data + struct.pack("<d", step)
    return {**data, "step": step}
