"""One explorer server and one headless Chromium for all browser tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from ui.jobs.store import VARIABLE
from ui.screenshots import SIZE, Theme, chromium, serve


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an explorer that runs for the whole session."""
    folder = tmp_path_factory.mktemp("server")
    with serve(folder / "log", environment={VARIABLE: str(folder / "results")}) as address:
        yield address


class Tabs:
    """Tabs that are used again, each a visitor of its own who is new to the explorer.

    A tab that has shown the explorer loads a page with less than half the work: all of Streamlit's
    code is compiled there. Its visitors prefer less motion, else most of the work is to draw what
    blinks while a page loads; `test_start.py` has one who does not.
    """

    def __init__(self, browser: Browser) -> None:
        """The tabs of a browser; none is open yet."""
        self._open = browser.new_page
        self._free: list[Page] = []

    def new_page(
        self,
        *,
        viewport: ViewportSize = SIZE,
        color_scheme: Theme = "light",
        reduced_motion: Literal["reduce", "no-preference"] = "reduce",
    ) -> Page:
        """A tab that shows nothing and remembers nothing; closed, it is kept for the next test."""
        page = self._free.pop() if self._free else self._new()
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        return page

    def _new(self) -> Page:
        page = self._open(viewport=SIZE)
        page.close = lambda: self._take_back(page)  # type: ignore[method-assign]
        return page

    def _take_back(self, page: Page) -> None:
        page.evaluate("localStorage.clear(); sessionStorage.clear()")
        page.context.clear_cookies()
        page.goto("about:blank")
        self._free.append(page)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium of the system; its tabs are used again."""
    with chromium() as found:
        found.new_page = Tabs(found).new_page  # type: ignore[method-assign]
        yield found
