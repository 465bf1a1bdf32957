"""The explorer's server: Streamlit's, with pages that show something before any script has run.

It also says where it is, and gives each browser a name.

    streamlit run ui/server.py

Streamlit's front end does not know at which address it is served. Opened at `/learn`, it asks for
`/learn/_stcore/health` first, and the browser writes two errors on its console before it tries the
root. Streamlit lets whoever hosts it say the address in the page (`window.__streamlit`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config
from streamlit.starlette import App

# Streamlit puts this file's folder on the path, not the one that holds `engine` and `ui`.
_ROOT = str(Path(__file__).resolve().parent.parent)
if _ROOT not in sys.path:
    sys.path.insert(0, _ROOT)

from ui.session.visitor import COOKIE, new_cookie, visitor_of  # noqa: E402

_VIEW = re.compile(r"/[a-z]*")
"""Paths of the pages; all else is left alone."""


def said_root(path: str) -> str:
    """A script that tells the front end where the root is, in a page that is served at `path`.

    The browser's address may have more in front, where a proxy takes that off.
    """
    root = f"location.pathname.slice(0,-{len(path) - 1})" if path != "/" else "location.pathname"
    return f"<script>window.__streamlit={{BACKEND_BASE_URL:location.origin+{root}}}</script>"


class Addition(NamedTuple):
    """HTML to stand at the beginning of a page's head, and of its body."""

    head: str = ""
    body: str = ""


def nothing(page: str, query: str) -> Addition:
    """Add nothing to any page."""
    del page, query
    return Addition()


def first_paint(page: str, query: str) -> Addition:
    """What the browser draws first of a page, and what it is to load early."""
    # The room is named, not imported: who only wants the middleware need not load the pages.
    room = import_module("ui.session.first_paint")
    return Addition(room.head(page), room.body(page, query)) if page in room.PAGES else Addition()


class Pages:
    """Middleware for the pages: the script of `said_root` in their head, a cookie for newcomers.

    `added`: what else a page of a name gets, by its query; `start` is the one at the root.
    """

    def __init__(self, app: ASGIApp, added: Callable[[str, str], Addition] = nothing) -> None:
        """Wrap `app`, the whole of Streamlit."""
        self._app, self._added = app, added

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        base = config.get_option("server.baseUrlPath").strip("/")
        path = f"/{scope['path'].removeprefix(f'/{base}').lstrip('/')}"
        if not _VIEW.fullmatch(path):
            await self._app(scope, receive, send)
            return
        # What is packed cannot be added to.
        plain = [(n, v) for n, v in scope["headers"] if n != b"accept-encoding"]
        cookie = "" if _is_known(scope) else new_cookie(f"/{base}", scope.get("scheme") == "https")
        query = scope.get("query_string", b"").decode("latin-1")
        head, body = self._added(path[1:] or "start", query)
        page = _Page((said_root(path) + head).encode(), body.encode(), cookie.encode(), send)
        await self._app({**scope, "headers": plain}, receive, page.send)


def _is_known(scope: Scope) -> bool:
    """Whether the request brings the cookie of a visitor."""
    for name, value in scope["headers"]:
        if name == b"cookie":
            try:
                found = SimpleCookie(value.decode("latin-1")).get(COOKIE)
            except CookieError:
                continue
            if found is not None and visitor_of(found.value):
                return True
    return False


class _Page:
    """A response that is held back until it is whole, if it is HTML."""

    def __init__(self, head: bytes, body: bytes, cookie: bytes, send: Send) -> None:
        self._head, self._top, self._cookie, self._send = head, body, cookie, send
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_html(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        body = self._body.replace(b"<head>", b"<head>" + self._head, 1)
        body = body.replace(b"<body>", b"<body>" + self._top, 1)
        ours = {b"content-length": str(len(body)).encode()}
        if self._cookie:
            # Nobody else may be given a page that a proxy has kept with the cookie.
            ours |= {b"set-cookie": self._cookie, b"cache-control": b"no-store"}
        kept = [(n, v) for n, v in start["headers"] if n not in (*ours, b"etag")]
        headers = [*kept, *ours.items()]
        await self._send({**start, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


def _is_html(message: Message) -> bool:
    headers: dict[bytes, bytes] = dict(message["headers"])
    return message["status"] == 200 and b"text/html" in headers.get(b"content-type", b"")


@asynccontextmanager
async def _serving(app: App) -> AsyncIterator[None]:
    """Load the pages first: who comes to a server that answers is not to wait for that."""
    del app
    import_module("ui.session.warm_up").warm_up()
    yield


app = App(
    Path(__file__).with_name("app.py"),
    middleware=[Middleware(Pages, added=first_paint)],
    lifespan=_serving,
)
