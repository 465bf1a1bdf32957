"""Large programs: their picture comes first, then the map, then its moves."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.pages import PATIENCE_MS, assert_no_error, wait_for_map
from ui.screenshots import SIZE

pytestmark = pytest.mark.browser

LARGEST = "alphatensorfull-v5e-b4-train"
# Which of the elements stand on the page, in the order in which they came.
WATCH = """() => {
  window.came = [];
  const find = (root, selector) => root.querySelector(selector) ||
    [...root.querySelectorAll("*")].some(e => e.shadowRoot && find(e.shadowRoot, selector));
  (function look() {
    for (const [name, selector] of Object.entries(
      { picture: ".opening img", map: ".map[data-move]", moves: ".turn .choice" }))
      if (!window.came.includes(name) && find(document, selector)) window.came.push(name);
    setTimeout(look, 20);
  })();
}"""


def test_the_picture_comes_first_then_the_map_then_its_moves(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    page.goto(f"{server}/play?program={LARGEST}", wait_until="commit")
    page.evaluate(WATCH)
    wait_for_map(page)
    page.wait_for_selector(".turn .choice", timeout=PATIENCE_MS)
    assert page.evaluate("window.came") == ["picture", "map", "moves"]
    assert page.locator(".opening").count() == 0, "the map has taken its place"
    assert_no_error(page)
    page.close()
