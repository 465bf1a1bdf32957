"""As a stranger would click: from the front door to beating greedy, to the first fault found."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browser.pages import (
    PATIENCE_MS,
    assert_no_error,
    click_until,
    eventually,
    wait_until_idle,
)
from tests.browser.test_every_page import complaints
from tests.program.hlo.modules import FIXTURES
from ui.screenshots import SIZE

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

MOST_MOVES = 40
UNITS = {"ns": 1e-3, "µs": 1.0, "ms": 1e3}


def click(page: Page, place: Locator, until: str) -> None:
    place.first.click(timeout=PATIENCE_MS)
    page.wait_for_selector(until, timeout=PATIENCE_MS)
    wait_until_idle(page)


def gain(card: str) -> float | None:
    """Microseconds that a card promises; None where it names none."""
    found = re.search(r"([+−])\s*([\d.,]+)\s*(ns|µs|ms)", " ".join(card.split("\n")[:2]))
    if found is None:
        return None
    amount = float(found[2].replace(",", "")) * UNITS[found[3]]
    return amount if found[1] == "+" else -amount


def offers(page: Page) -> dict[str, float]:
    """What each action on offer promises, both ends of the memory; those at the usual end first.

    The other end names its gain only where it is not that of the usual one.
    """
    found: dict[str, float] = {}
    usual = 0.0
    for button in page.locator(".turn.lesson button[data-action][data-do=play]").all():
        is_usual = "choice" in (button.get_attribute("class") or "").split()
        promised = gain(button.inner_text())
        usual = (promised or 0.0) if is_usual else usual
        found[button.get_attribute("data-action") or ""] = usual if promised is None else promised
    return dict(sorted(found.items()))


def decide(page: Page) -> None:
    """Plays what promises most; where that is taken back, the next best."""
    tried = set[str]()
    panel = page.locator(".turn.lesson")
    for _ in range(MOST_MOVES):
        if page.locator(".turn.lesson .verdict").count():
            return
        if not page.locator(".taken-back").count():
            tried.clear()
        before = panel.inner_text()
        on_offer = {action: us for action, us in offers(page).items() if action not in tried}
        action = max(on_offer, key=on_offer.__getitem__)
        tried.add(action)
        panel.locator(f"button[data-do=play][data-action='{action}']").click(timeout=PATIENCE_MS)
        assert eventually(lambda was=before: panel.inner_text() != was)
        page.wait_for_selector(".map:not([aria-busy])", timeout=PATIENCE_MS)
        wait_until_idle(page)
    raise AssertionError("the game does not end")


@pytest.mark.nightly
def test_from_the_front_door_to_beating_greedy(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    errors = complaints(page)
    page.goto(server)
    page.wait_for_selector(".map.tour[data-move]", timeout=PATIENCE_MS)
    click(page, page.locator(".st-key-door_learn button"), ".st-key-next_lesson button")
    click(page, page.locator(".st-key-next_lesson button"), ".turn.lesson .goal")
    for key in "32223":
        at = page.locator(".map").get_attribute("data-move")
        page.keyboard.press(key)
        assert eventually(
            lambda was=at: (
                page.locator(".map").get_attribute("data-move") != was
                or page.locator(".turn .verdict").count() > 0
            )
        )
    assert "no plan is faster" in page.locator(".turn.lesson .goal").inner_text(timeout=PATIENCE_MS)
    click(page, page.get_by_role("link", name="Challenges"), '[class*="st-key-match_"] button')
    click(page, page.get_by_role("button", name="start here"), ".turn.lesson .goal")
    decide(page)
    ladder = page.locator(".turn.lesson .ladder li.won").all_inner_texts()
    assert any("greedy" in row for row in ladder)
    assert_no_error(page)
    assert errors == []
    page.close()


@pytest.mark.nightly
def test_from_two_dumps_to_the_first_finding(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    errors = complaints(page)
    page.goto(server)
    click(page, page.locator(".st-key-door_explore button"), ".card img")
    click(page, page.get_by_text("Open a file of your own"), ".st-key-open_files button")
    page.set_input_files("input[type=file]", [FIXTURES / "mlp_off.hlo", FIXTURES / "mlp_on.hlo"])
    click_until(page, page.locator("[class*='st-key-hardware_'] input"), '[role="option"]')
    page.get_by_role("option", name="tpu-v5e").click(timeout=PATIENCE_MS)
    click(page, page.locator(".st-key-open_files button:enabled"), "text=Yours")
    told = page.locator('[class*="st-key-yours_"]').first.inner_text(timeout=PATIENCE_MS)
    assert "fitted to both dumps" in told and "Would help" in told
    debug = page.locator('[class*="st-key-yours_debug_"] button')
    click(page, debug, '.search[data-move], [data-testid="stProgress"], .job')
    page.wait_for_selector(".search[data-move]", timeout=PATIENCE_MS)
    row = page.get_by_test_id("stDataFrame").first
    row.wait_for(timeout=PATIENCE_MS)
    assert_no_error(page)
    assert errors == []
    page.close()
