"""Debug in a real browser: rows, keys, both themes and widths, without an error on the console."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from tests.browser.pages import (
    PATIENCE_MS,
    address,
    assert_no_error,
    brightness,
    colours,
    dark,
    eventually,
    faults,
    wait_until_idle,
)
from ui.screenshots import settle

pytestmark = pytest.mark.browser

PROGRAM = "gptdecode-v5e-b8"
"""One whose game is recorded. `test_search_tree.py` brings a trace as a file."""
NARROW: ViewportSize = {"width": 1280, "height": 1000}
WIDE: ViewportSize = {"width": 1920, "height": 1000}


@pytest.fixture(scope="module")
def opened(browser: Browser, server: str) -> Iterator[tuple[Page, list[str]]]:
    """The page with a recorded game, which needs no job; what the console complains of."""
    page = browser.new_page(viewport=NARROW)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{server}/debug?program={PROGRAM}")
    page.wait_for_selector(".search[data-move]", timeout=PATIENCE_MS)
    measured = page.get_by_test_id("stMetric").filter(has_text="Measured").filter(has_text="100.0")
    measured.wait_for(timeout=PATIENCE_MS)
    settle(page)
    yield page, errors
    page.close()


def move_of(page: Page) -> str:
    return page.locator(".search").get_attribute("data-board") or ""


def at_rest(page: Page) -> str:
    """The move at which the page stays; what its study finds last may still lead it to another."""
    found, before = move_of(page), ""
    while found != before:
        wait_until_idle(page)
        page.wait_for_timeout(1000)
        found, before = move_of(page), found
    return found


def test_the_inbox_and_the_searches_are_drawn(opened: tuple[Page, list[str]]) -> None:
    page, errors = opened
    assert page.get_by_test_id("stDataFrame").first.is_visible()
    for canvas in (".curve canvas", ".tree canvas"):
        assert colours(page.locator(canvas).first) > 4, canvas
    assert faults(page) == []
    assert_no_error(page)
    assert errors == []


def test_j_and_k_go_through_the_findings(opened: tuple[Page, list[str]]) -> None:
    page, _ = opened
    first = at_rest(page)
    page.locator(".search").focus()
    page.keyboard.press("j")
    assert eventually(lambda: move_of(page) not in ("", first))
    assert eventually(lambda: f"move={int(move_of(page)) + 1}" in address(page))
    page.locator(".search").focus()
    page.keyboard.press("k")
    assert eventually(lambda: move_of(page) == first), f"from {first} to {move_of(page)}"
    page.keyboard.press("?")
    assert page.get_by_text("next, previous move that matters").is_visible()
    page.keyboard.press("Escape")


def test_the_keys_work_wherever_the_focus_is(opened: tuple[Page, list[str]]) -> None:
    page, _ = opened
    before = move_of(page)
    page.get_by_test_id("stMain").focus()
    page.keyboard.press("j")
    assert eventually(lambda: move_of(page) not in ("", before))


def test_a_forced_action_is_answered_beside_the_original(opened: tuple[Page, list[str]]) -> None:
    page, errors = opened
    button = page.locator('[class*="st-key-force_"] button:enabled').first
    button.click(timeout=PATIENCE_MS)
    page.wait_for_selector(".st-key-forced_play", timeout=PATIENCE_MS)
    assert_no_error(page)
    assert errors == []


@pytest.mark.nightly
def test_both_themes_and_widths(opened: tuple[Page, list[str]]) -> None:
    page, errors = opened
    assert faults(page) == []
    page.set_viewport_size(WIDE)
    with dark(page):
        assert faults(page) == []
        assert brightness(page.locator(".search"), "color") > 450
        assert colours(page.locator(".tree canvas").first) > 4
        assert page.evaluate("document.documentElement.scrollWidth") <= WIDE["width"]
    page.set_viewport_size(NARROW)
    assert_no_error(page)
    assert errors == []
