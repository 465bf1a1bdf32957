"""Pages say at which address the explorer is served, so that no browser has to guess."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.types import Message, Receive, Scope, Send

from ui.server import SayRoot

PAGE = b"<html><head><title>x</title></head></html>"


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


def answer(path: str) -> tuple[dict[bytes, bytes], bytes]:
    """Headers and body."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    headers = [(b"accept-encoding", b"gzip")]
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
    answering = SayRoot(streamlit)(scope, receive, send)
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


@pytest.mark.parametrize("path", ["/static/index.js", "/_stcore/health", "/media/x"])
def test_all_else_is_left_alone(path: str) -> None:
    assert answer(path)[1] == b"packed"
