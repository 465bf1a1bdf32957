"""The start page in a real browser: the toy plays itself, stops when asked, and respects motion."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.pages import (
    PATIENCE_MS,
    assert_no_error,
    colours,
    eventually,
    wait_for_map,
    wait_until_idle,
)
from ui.screenshots import SIZE, show

pytestmark = pytest.mark.browser


LONGER_THAN_A_MOVE_MS = 5000


def move(page: Page) -> int:
    return int(page.locator(".map.tour").get_attribute("data-move") or -1)


@pytest.fixture(scope="module")
def still(browser: Browser, server: str) -> Iterator[Page]:
    """For a visitor who prefers less motion."""
    # A tab of its own: it never gets its clock back.
    context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
    page = context.new_page()
    page.clock.install()
    page.goto(server)
    page.wait_for_selector(".map.tour[data-move]", timeout=60_000)
    yield page
    context.close()


def test_the_toy_plays_itself_and_can_be_paused(browser: Browser, server: str) -> None:
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.clock.install()
    show(page, server, "start")
    assert colours(page.locator(".tour canvas.base")) > 8
    assert eventually(lambda: move(page) >= 1), "it moves by itself"
    page.get_by_role("button", name="Pause").click()
    at = move(page)
    page.clock.run_for(LONGER_THAN_A_MOVE_MS)
    assert move(page) == at, "longer than a move takes"
    assert_no_error(page)
    context.close()


def test_it_steps_by_button_and_key_and_says_each_move(still: Page) -> None:
    still.clock.run_for(LONGER_THAN_A_MOVE_MS)
    assert move(still) == 0, "nothing moves by itself"
    said = set()
    for number in range(8):
        assert eventually(lambda at=number: move(still) == at)
        said.add(still.locator(".tour .sentence").inner_text())
        if number % 2:
            still.keyboard.press("ArrowRight")
        else:
            still.locator('.tour [data-go="next"]').click()
    assert len(said) == 8 and all(text.split(".")[0].isdecimal() for text in said)
    still.evaluate("document.activeElement.blur()")
    still.keyboard.press("Home")
    assert move(still) == 7, "outside of the map the page's own keys scroll it"
    still.locator(".map.tour").focus()
    still.keyboard.press("3")
    assert move(still) == 7, "there is nothing to play here"
    assert_no_error(still)


def test_the_wheel_scrolls_the_page_until_the_map_is_clicked(still: Page) -> None:
    box = still.locator(".tour canvas.top").bounding_box()
    assert box is not None
    still.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    window = still.locator(".map.tour").get_attribute("data-window")
    still.mouse.wheel(0, -300)
    still.wait_for_timeout(300)
    assert still.locator(".map.tour").get_attribute("data-window") == window
    still.keyboard.down("Control")
    still.mouse.wheel(0, -300)
    still.keyboard.up("Control")
    assert eventually(lambda: still.locator(".map.tour").get_attribute("data-window") != window)


def test_a_browser_is_known_again_and_another_one_is_not(browser: Browser, server: str) -> None:
    mine, other = (browser.new_page(viewport=SIZE) for _ in range(2))
    mine.goto(f"{server}/play?program=teach-prefetch", timeout=PATIENCE_MS)
    wait_for_map(mine)
    mine.goto(server, timeout=PATIENCE_MS)
    mine.wait_for_selector(".st-key-continue >> text=teach-prefetch", timeout=PATIENCE_MS)
    other.goto(server, timeout=PATIENCE_MS)
    other.wait_for_selector(".tour canvas.base", timeout=PATIENCE_MS)
    wait_until_idle(other)
    assert other.locator(".st-key-continue").count() == 0
    for page in (mine, other):
        page.close()
