"""What the browser tests ask a page: what it drew, what it sent, whether something came true."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Frame, Locator, Page, TimeoutError, WebSocket

from ui.screenshots import AT_REST, settle

STEP_BYTES = 6_000
"""What a step may send: the words for one move, and 1.4 kB with which Streamlit begins each run. A
plan as a whole has more than 100 kB.
"""
PATIENCE_S = 300
"""How long to wait for what must come: a shared machine may be slow."""
PATIENCE_MS = 1000 * PATIENCE_S
_CLICK_S = 30

# Distinct colours on a grid of pixels of a canvas: a blank one has one.
_COLOURS = """canvas => {
  const { width, height } = canvas, pen = canvas.getContext("2d"), seen = new Set();
  for (let x = 3; x < width; x += 5) for (let y = 3; y < height; y += 5)
    seen.add(pen.getImageData(x, y, 1, 1).data.join());
  return seen.size;
}"""

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
# Rule, elements, and the first of them with the reason. Nothing is loaded anew for it.
_FAULTS = """async (patience) => {
  const run = axe.run(document, { preload: false, iframes: false, resultTypes: ["violations"] });
  const late = new Promise((_, no) => setTimeout(() => no(new Error("axe is silent")), patience));
  const found = await Promise.race([run, late]);
  const serious = found.violations.filter(v => ["serious", "critical"].includes(v.impact));
  const reason = node => (node.any[0] ?? {}).message;
  return serious.map(v => [v.id, v.nodes.length, v.nodes[0].html, reason(v.nodes[0])]);
}"""


# How much of a term's text lies in the window, as shares of its width and height, and how opaque
# it is. What a style sheet generates has no box of its own, but can be hit.
_TIP = """term => {
  const style = document.createElement("style");
  style.textContent = "dfn::after { pointer-events: auto !important; }";
  (term.getRootNode().head ?? term.getRootNode()).append(style);
  const own = term.getBoundingClientRect(), shown = getComputedStyle(term, "::after");
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let x = Math.max(0, own.left - 320); x < Math.min(innerWidth, own.right + 320); x += 3)
  for (let y = Math.max(0, own.top - 160); y < Math.min(innerHeight, own.bottom + 160); y += 3) {
    if (y >= own.top - 1 && y <= own.bottom + 1) continue;
    let hit = document.elementFromPoint(x, y);
    while (hit?.shadowRoot) hit = hit.shadowRoot.elementFromPoint(x, y);
    if (hit !== term) continue;
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  style.remove();
  let opacity = 1;
  for (let e = term; e; e = e.parentElement ?? e.getRootNode().host)
    opacity *= getComputedStyle(e).opacity;
  const pads = shown.boxSizing === "border-box" ? [0, 0] : [20, 14];
  const [width, height] = ["width", "height"].map((side, n) => parseFloat(shown[side]) + pads[n]);
  return [(right - left) / width, (bottom - top) / height, opacity];
}"""


def is_whole_tip(term: Locator) -> bool:
    """Whether the text of a term that has the focus lies in the window and covers what is below."""
    wide, high, opacity = term.evaluate(_TIP)
    return bool(wide > 0.97 and high > 0.9 and opacity == 1)


class Traffic:
    """Bytes on the page's web socket."""

    def __init__(self, page: Page) -> None:
        self.sent = self.received = 0
        self._page = page
        page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framesent", lambda data: self._count("sent", data))
        socket.on("framereceived", lambda data: self._count("received", data))

    def _count(self, direction: str, data: str | bytes) -> None:
        setattr(self, direction, getattr(self, direction) + len(data))

    def reset(self) -> None:
        """Count from here on, once what is under way is over."""
        self.settle()
        self.sent = self.received = 0

    def settle(self) -> None:
        """Until the script has ended and nothing has come for half a second."""
        before = -1
        wait_until_idle(self._page)
        while before != (before := self.sent + self.received):
            self._page.wait_for_timeout(500)
            wait_until_idle(self._page)


def eventually(holds: Callable[[], bool], seconds: float = PATIENCE_S) -> bool:
    """Whether something becomes true in time."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def address(page: Page) -> str:
    """What the address bar shows.

    `page.url` is what Playwright heard of last, and it hears nothing while a test only sleeps.
    """
    return str(page.evaluate("location.href"))


def colours(canvas: Locator) -> int:
    """How many colours a canvas shows, on a grid of its pixels."""
    return int(canvas.evaluate(_COLOURS))


def brightness(place: Locator, of: str) -> int:
    """Sum of the three channels of an element's computed colour, 0 … 765."""
    found = place.evaluate("(e, of) => getComputedStyle(e)[of]", of)
    return sum(int(c) for c in found.removeprefix("rgb(").removesuffix(")").split(","))


@contextmanager
def dark(page: Page) -> Iterator[None]:
    """The page in the dark theme, for a while."""
    background = page.get_by_test_id("stApp")
    light = brightness(background, "backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert eventually(lambda: brightness(background, "backgroundColor") < light - 400)
    settle(page)
    yield
    page.emulate_media(color_scheme="light")
    assert eventually(lambda: brightness(background, "backgroundColor") == light)
    settle(page)


def faults(page: Page) -> list[object]:
    """What axe finds in the page and in each of its frames, and finds again once the page is
    settled: what a script run replaces is pale while it runs.
    """
    found = [fault for frame in page.frames for fault in _faults(frame)]
    if found:
        settle(page)
        found = [fault for frame in page.frames for fault in _faults(frame)]
    return found


def _faults(frame: Frame) -> list[object]:
    frame.evaluate(AXE)
    return list(frame.evaluate(_FAULTS, PATIENCE_MS))


def window(place: Locator) -> list[float]:
    """What a map shows: first and last unit of time, lowest and highest granule."""
    return [float(v) for v in (place.get_attribute("data-window") or "").split()]


def wait_for_map(page: Page) -> None:
    """Until Play's map is drawn."""
    page.wait_for_selector(".map[data-move]", timeout=PATIENCE_MS)


def wait_until_idle(page: Page) -> None:
    """Until the script has ended."""
    page.wait_for_selector(AT_REST, timeout=PATIENCE_MS)


def click_until(page: Page, place: Locator, selector: str) -> None:
    """Click until something is there: a script run in between may close a list, or take a click.

    What is clicked may be gone by then, where a click was taken but is slow to show.
    """
    for _ in range(PATIENCE_S // _CLICK_S):
        with suppress(TimeoutError):
            place.click(timeout=1000 * _CLICK_S)
        with suppress(TimeoutError):
            page.wait_for_selector(selector, timeout=1000 * _CLICK_S)
            return
    raise AssertionError(f"no click brings {selector}")


def stop_jobs(page: Page) -> None:
    """Stop what the page has begun by itself: it would work, and be polled, beside the test."""
    stop = page.locator('[class*="st-key-stop_"] button')
    stop.first.click(timeout=PATIENCE_MS)
    stop.first.wait_for(state="detached", timeout=PATIENCE_MS)


def assert_no_error(page: Page) -> None:
    """No Python error stands on the page."""
    assert page.locator('[data-testid="stException"]').count() == 0
