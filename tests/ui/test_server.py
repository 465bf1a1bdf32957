"""Pages say at which address the explorer is served, and give a newcomer a name."""

import asyncio
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from ui import server
from ui.model.programs.uploads import MOST_MIB
from ui.server import Addition, Pages, nothing
from ui.session.visitor import COOKIE, visitor_of

PAGE = b"<html><head><title>x</title></head><body><p>y</p></body></html>"


async def streamlit(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with a page in two pieces, or with a file; packs it if it may."""
    is_file = scope["path"].endswith(".js")
    is_packed = any(name == b"accept-encoding" for name, _ in scope["headers"])
    kind = b"text/javascript" if is_file else b"text/html; charset=utf-8"
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(PAGE))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    body = b"packed" if is_packed else PAGE
    await send({"type": "http.response.body", "body": body[:10], "more_body": True})
    await send({"type": "http.response.body", "body": body[10:]})


def answer(
    path: str,
    cookie: str = "",
    scheme: str = "http",
    added: Callable[[str, str], Addition] = nothing,
) -> tuple[dict[bytes, bytes], bytes]:
    """Headers and body."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    headers = [(b"accept-encoding", b"gzip"), (b"cookie", cookie.encode())]
    scope = {"type": "http", "method": "GET", "scheme": scheme, "path": path, "headers": headers}
    scope["query_string"] = b"program=a%20b"
    answering = Pages(streamlit, added)(scope, receive, send)
    # In a thread: Playwright keeps a running loop in the one that its tests share with these.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, answering).result()
    return dict(sent[0]["headers"]), b"".join(m["body"] for m in sent[1:])


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("/", b"location.pathname}"),
        ("/learn", b"location.pathname.slice(0,-5)}"),
        ("/challenges", b"location.pathname.slice(0,-10)}"),
    ],
)
def test_a_page_says_its_root(path: str, root: bytes) -> None:
    headers, body = answer(path)
    script = b"<script>window.__streamlit={BACKEND_BASE_URL:location.origin+" + root + b"</script>"
    assert body == PAGE.replace(b"<head>", b"<head>" + script)
    assert int(headers[b"content-length"]) == len(body)


@pytest.mark.parametrize(("path", "page"), [("/", "start"), ("/learn", "learn")])
def test_a_page_gets_what_is_added_to_it(path: str, page: str) -> None:
    def added(page: str, query: str) -> Addition:
        return Addition("<!-- early -->", f"<b>{page} {query}</b>")

    headers, body = answer(path, added=added)
    assert f"<body><b>{page} program=a%20b</b><p>y</p>".encode() in body
    assert body.index(b"</script>") < body.index(b"<!-- early --><title>")
    assert int(headers[b"content-length"]) == len(body)


@pytest.mark.parametrize("path", ["/static/index.js", "/_stcore/health", "/media/x"])
def test_all_else_is_left_alone(path: str) -> None:
    headers, body = answer(path)
    assert body == b"packed"
    assert b"set-cookie" not in headers


def test_a_newcomer_is_given_a_name_and_keeps_it() -> None:
    headers, _ = answer("/learn")
    given, _, rest = headers[b"set-cookie"].decode().partition("; ")
    name, _, value = given.partition("=")
    assert name == COOKIE
    assert len(visitor_of(value)) == 16
    assert rest.startswith("Path=/; ") and "HttpOnly" in rest and "Secure" not in rest
    assert headers[b"cache-control"] == b"no-store"
    assert b"set-cookie" not in answer("/", f"other=1; {given}")[0]
    other = answer("/", scheme="https")[0][b"set-cookie"].decode()
    assert other.partition(";")[0] != given
    assert other.endswith("; Secure")


@pytest.mark.parametrize("cookie", [f"{COOKIE}=../../etc", f"{COOKIE}=", "\x00;=;", COOKIE])
def test_who_brings_what_is_none_of_ours_is_a_newcomer(cookie: str) -> None:
    assert b"set-cookie" in answer("/", cookie)[0]


def test_no_file_is_taken_in_that_is_larger_than_any_page_reads() -> None:
    settings = tomllib.loads((Path(server.__file__).parent / ".streamlit/config.toml").read_text())
    assert settings["server"]["maxUploadSize"] == MOST_MIB
