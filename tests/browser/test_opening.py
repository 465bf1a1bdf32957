"""Opening: a large program's picture first, then the map, then its moves; a link to a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route

from engine.program.io import content_hash, save
from tests.browser.pages import PATIENCE_MS, address, assert_no_error, eventually, wait_for_map
from tests.ui.network import residual_network
from ui.screenshots import SIZE
from ui.session.link_query import content_part

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


def test_something_is_drawn_before_any_script_has_come(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    held: list[Route] = []
    page.route("**/static/js/index*", lambda route: held.append(route))
    page.goto(f"{server}/play?program={LARGEST}", wait_until="commit")
    page.locator("#first-paint .opening img").wait_for(timeout=PATIENCE_MS)
    assert LARGEST in page.locator("#first-paint").inner_text()
    assert eventually(lambda: len(held) > 0)
    for route in held:
        route.continue_()
    page.unroute("**/static/js/index*")
    wait_for_map(page)
    assert page.locator("#first-paint").count() == 0, "the page has taken its place"
    page.goto(f"{server}/nosuch")
    page.get_by_text("Page not found").wait_for(timeout=PATIENCE_MS)
    assert page.locator("#first-paint").count() == 0
    page.close()


def test_a_link_to_a_file_asks_for_it_and_then_opens_that_view(
    browser: Browser, server: str, tmp_path: Path
) -> None:
    program = residual_network()
    path = tmp_path / "theirs.json"
    save(program, path)
    page = browser.new_page(viewport=SIZE)
    content = content_part(content_hash(program))
    page.goto(f"{server}/play?program=theirs&content={content}&move=6&colour=size&select=3")
    page.get_by_text("Bring the file of “theirs”").wait_for(timeout=PATIENCE_MS)
    page.locator('[data-testid="stFileUploader"] input[type="file"]').set_input_files(path)
    page.locator('[class*="st-key-open_files"] button:enabled').click(timeout=PATIENCE_MS)
    wait_for_map(page)
    place = page.locator(".map")
    assert eventually(lambda: place.get_attribute("data-move") == "5")
    assert place.get_attribute("data-selected") == "3"
    assert eventually(lambda: place.get_attribute("data-colour") == "size")
    assert eventually(lambda: f"content={content}" in address(page))
    assert_no_error(page)
    page.close()
