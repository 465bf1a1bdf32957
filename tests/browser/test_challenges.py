"""Challenges in a real browser: a decision by key, an answer by key, both kept over a reload."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.pages import PATIENCE_MS, assert_no_error, eventually, faults, wait_until_idle
from ui.screenshots import SIZE

pytestmark = pytest.mark.browser

PROGRAM = "lstm-v5e-b128"
KEPT = "localStorage.getItem('mallocmuzero-progress') ?? ''"


IN_PANEL = "document.activeElement.matches('.turn, .turn *')"


def wait_for_board(page: Page) -> None:
    page.wait_for_selector(".map.lesson[data-move]", timeout=PATIENCE_MS)
    page.wait_for_selector(".turn.lesson .goal", timeout=PATIENCE_MS)
    wait_until_idle(page)


def test_a_match_is_played_by_keys_to_the_score_sheet(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    page.goto(f"{server}/challenges?program={PROGRAM}")
    wait_for_board(page)
    first = page.locator(".map").get_attribute("data-move")
    page.keyboard.press("2")
    assert eventually(lambda: page.locator(".map").get_attribute("data-move") != first)
    page.locator('.turn [data-do="undo"]').focus()
    page.keyboard.press("Enter")
    assert eventually(lambda: page.locator(".map").get_attribute("data-move") == first)
    page.wait_for_selector('.turn [data-do="undo"]', state="detached", timeout=PATIENCE_MS)
    assert eventually(lambda: bool(page.evaluate(IN_PANEL))), "the button is gone, the panel is not"
    page.get_by_role("button", name="Let greedy finish").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn.lesson .verdict", timeout=PATIENCE_MS)
    page.get_by_role("button", name="Score sheet").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".sheet >> text=opening", timeout=PATIENCE_MS)
    assert_no_error(page)
    assert eventually(lambda: f"{PROGRAM}/chance" in page.evaluate(KEPT))
    page.goto(f"{server}/challenges")
    page.wait_for_selector("text=beaten", timeout=PATIENCE_MS)
    assert eventually(lambda: page.locator("button", has_text="2 beaten").count() == 1)
    page.close()


def test_a_position_is_answered_by_key_and_kept(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{server}/challenges?tab=find")
    wait_for_board(page)
    assert page.locator(".turn .thought").count() == 0, "no value before the answer"
    assert faults(page) == []
    page.keyboard.press("3")
    page.wait_for_selector(".turn.lesson .verdict", timeout=PATIENCE_MS)
    assert eventually(lambda: page.locator(".turn .thought").count() >= 2)
    assert eventually(lambda: '"cards":{"' in page.evaluate(KEPT))
    page.keyboard.press("2")
    said = page.locator(".map .toast")
    assert eventually(lambda: "answered" in said.inner_text())
    assert "not allowed" not in said.inner_text()
    page.get_by_role("button", name="Next position").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn.lesson >> text=What would you play?", timeout=PATIENCE_MS)
    assert_no_error(page)
    assert not errors
    page.close()
