"""Who a visitor is: a name for the browser that stays the same over pages and reloads."""

from __future__ import annotations

import hashlib
from itertools import cycle

COOKIE = "_streamlit_xsrf"
"""Streamlit gives each browser a token against forged requests, and masks it anew at each load."""


def visitor_of(cookie: object) -> str:
    """A name made of the token in the cookie; empty where there is none.

    The cookie is `2|mask|masked token|time`, mask and token hexadecimal; the token is the bitwise
    exclusive or of both, the mask repeated.
    """
    if not isinstance(cookie, str) or not cookie:
        return ""
    try:
        _, mask, masked, _ = cookie.split("|")
        pairs = zip(bytes.fromhex(masked), cycle(bytes.fromhex(mask)), strict=False)
        token = bytes(a ^ b for a, b in pairs)
    except ValueError:
        token = cookie.encode(errors="replace")
    return hashlib.sha256(token).hexdigest()[:16]
