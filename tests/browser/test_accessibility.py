"""No page has a serious fault of accessibility that axe-core can find, in either theme."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser

from ui.screenshots import QUERY, Theme, open_page

pytestmark = pytest.mark.browser

AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
# Rule, elements, and the first of them with the reason. Nothing is loaded anew for it.
FAULTS = """async () => {
  const found = await axe.run(document, { preload: false, resultTypes: ["violations"] });
  const serious = found.violations.filter(v => ["serious", "critical"].includes(v.impact));
  const reason = node => (node.any[0] ?? {}).message;
  return serious.map(v => [v.id, v.nodes.length, v.nodes[0].html, reason(v.nodes[0])]);
}"""
PAGES = {
    "start": "",
    "learn": "",
    "challenges": "program=lstm-v5e-b128",
    "programs": "",
    "play": QUERY,
    "compiler": "program=t5-v5e-b24",
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", PAGES)
def test_axe_finds_no_serious_fault(browser: Browser, server: str, view: str, theme: Theme) -> None:
    page = open_page(browser, server, view, theme, PAGES[view])
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(FAULTS) == []
    page.close()
