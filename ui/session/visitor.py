"""Who a visitor is: a name that a browser keeps in a cookie of ours, over pages and reloads.

The server gives the cookie out with the pages (`ui/server.py`), and a session reads it. Its value
is random, and whoever knows it is that visitor: it is not shown, not logged, not kept as it is.
"""

from __future__ import annotations

import hashlib
import re
import secrets

COOKIE = "mallocmuzero_visitor"
_VALUE = re.compile(r"[0-9a-f]{32}")
_MAX_AGE_S = 400 * 24 * 3600
"""The longest that browsers keep a cookie."""


def visitor_of(cookie: object) -> str:
    """The name of the visitor with that cookie; empty where there is none, or not one of ours."""
    if not isinstance(cookie, str) or not _VALUE.fullmatch(cookie):
        return ""
    return hashlib.sha256(cookie.encode()).hexdigest()[:16]


def new_cookie(path: str, is_secure: bool) -> str:
    """The header `Set-Cookie` for a visitor who has none, for pages under `path`.

    No script reads it, and other sites' requests do not bring it along. `is_secure`: over TLS.
    """
    value = secrets.token_hex(16)
    rest = f"Path={path}; Max-Age={_MAX_AGE_S}; HttpOnly; SameSite=Lax"
    return f"{COOKIE}={value}; {rest}{'; Secure' if is_secure else ''}"
