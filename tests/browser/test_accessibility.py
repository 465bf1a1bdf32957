"""No page has a serious fault of accessibility that axe-core can find, in either theme.

The components draw into shadow roots, which axe looks into; frames, of which there are none today,
are looked at one by one.
"""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Frame, Page

from tests.browser import test_debug, test_search_tree
from tests.browser.pages import PATIENCE_MS, stop_jobs
from ui.screenshots import QUERY, SIZE, Theme, show

pytestmark = pytest.mark.browser

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
# Rule, elements, and the first of them with the reason. Nothing is loaded anew for it.
FAULTS = """async (patience) => {
  const run = axe.run(document, { preload: false, iframes: false, resultTypes: ["violations"] });
  const late = new Promise((_, no) => setTimeout(() => no(new Error("axe is silent")), patience));
  const found = await Promise.race([run, late]);
  const serious = found.violations.filter(v => ["serious", "critical"].includes(v.impact));
  const reason = node => (node.any[0] ?? {}).message;
  return serious.map(v => [v.id, v.nodes.length, v.nodes[0].html, reason(v.nodes[0])]);
}"""
UNPLAYED = "lstm-v5e-b128"
"""The agent begins a game of it wherever there is none, which takes longer than the test."""
COMPARED = "program=alexnet-v4-b24&plans=xla_compiled,greedy&mode="
# View, query, and what to wait for where that is not the view's own.
PAGES = {
    "start": ("start", "", ""),
    "learn": ("learn", "", ""),
    "a lesson": ("learn", "lesson=what-fast-memory-is-worth", ".turn.lesson .goal"),
    "challenges": ("challenges", "", "text=Beat an opponent"),
    "a challenge": ("challenges", "program=lstm-v5e-b128", ""),
    "a position": ("challenges", "tab=find", ".turn.lesson"),
    "programs": ("programs", "", ""),
    "play": ("play", QUERY, ""),
    "search": ("search", f"program={UNPLAYED}", ""),
    "debug": ("debug", f"program={UNPLAYED}", ""),
    "runtimes": ("compare", f"{COMPARED}runtimes", ""),
    "layouts": ("compare", f"{COMPARED}layouts", ""),
    "time": ("compare", f"{COMPARED}time", ""),
    "peak": ("compare", f"{COMPARED}peak", ""),
    "words": ("words", "", ""),
}


def faults(page: Page) -> list[object]:
    """What axe finds in the page and in each of its frames."""
    return [fault for frame in page.frames for fault in _faults(frame)]


def _faults(frame: Frame) -> list[object]:
    frame.evaluate(AXE)
    return list(frame.evaluate(FAULTS, PATIENCE_MS))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_serious_fault(browser: Browser, server: str, name: str, theme: Theme) -> None:
    page = browser.new_page(viewport=SIZE, color_scheme=theme)
    show(page, server, *PAGES[name])
    assert faults(page) == []
    if name in ("search", "debug"):
        stop_jobs(page)
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_a_search(
    browser: Browser, server: str, tmp_path: Path, theme: Theme
) -> None:
    page, _ = test_search_tree.open_search(browser, server, tmp_path, theme)
    assert faults(page) == []
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault_among_findings(
    browser: Browser, server: str, tmp_path: Path, theme: Theme
) -> None:
    page, _ = test_debug.open_debug(browser, server, tmp_path, theme, 1280)
    assert faults(page) == []
    page.close()
