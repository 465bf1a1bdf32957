"""As a stranger would click: what it takes to beat greedy, and to find the first fault.

Clicks and words stand for time: who reads 200 words a minute and takes four seconds for a click.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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

WORD_S, CLICK_S = 60 / 200, 4.0
MOST_MOVES = 40
UNITS = {"ns": 1e-3, "µs": 1.0, "ms": 1e3}


@dataclass
class Stranger:
    """Somebody who reads what is new to them, and clicks."""

    page: Page
    clicks: int = 0
    words: int = 0
    pages: int = 0

    @property
    def seconds(self) -> float:
        """How long all of it takes."""
        return self.words * WORD_S + self.clicks * CLICK_S

    def read(self, place: Locator, most: int = 10**6) -> str:
        text = place.inner_text(timeout=PATIENCE_MS)
        self.words += min(most, len(text.split()))
        return text

    def click(self, place: Locator, until: str) -> None:
        place.first.click(timeout=PATIENCE_MS)
        self.clicks += 1
        before = self.page.url.partition("?")[0]
        self.page.wait_for_selector(until, timeout=PATIENCE_MS)
        wait_until_idle(self.page)
        self.pages += self.page.url.partition("?")[0] != before

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.clicks += 1


def gain(card: str) -> float:
    """Microseconds that a card promises."""
    found = re.search(r"([+−])\s*([\d.,]+)\s*(ns|µs|ms)", " ".join(card.split("\n")[:2]))
    if found is None:
        return 0.0
    amount = float(found[2].replace(",", "")) * UNITS[found[3]]
    return amount if found[1] == "+" else -amount


def decide(stranger: Stranger) -> None:
    """Plays what promises most; where that is taken back, the next best."""
    page, tried = stranger.page, set[str]()
    panel = page.locator(".turn.lesson")
    for _ in range(MOST_MOVES):
        if page.locator(".turn.lesson .verdict").count():
            return
        if not page.locator(".taken-back").count():
            tried.clear()
        before = panel.inner_text()
        cards = page.locator(".turn.lesson button.choice").all_inner_texts()
        by_key = {card.strip()[0]: gain(card) for card in cards}
        stranger.words += 40
        key = max(by_key.keys() - tried, key=by_key.__getitem__)
        tried.add(key)
        stranger.press(key)
        assert eventually(lambda was=before: panel.inner_text() != was)
        page.wait_for_selector(".map:not([aria-busy])", timeout=PATIENCE_MS)
        wait_until_idle(page)
    raise AssertionError("the game does not end")


def test_from_the_front_door_to_beating_greedy(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    errors, stranger = complaints(page), Stranger(page)
    page.goto(server)
    page.wait_for_selector(".map.tour[data-move]", timeout=PATIENCE_MS)
    stranger.read(page.locator(".stMainBlockContainer"), most=250)
    stranger.click(page.locator(".st-key-door_learn button"), ".st-key-next_lesson button")
    stranger.click(page.locator(".st-key-next_lesson button"), ".turn.lesson .goal")
    stranger.read(page.locator(".stMainBlockContainer"), most=400)
    for key in "32223":
        at = page.locator(".map").get_attribute("data-move")
        stranger.press(key)
        assert eventually(
            lambda was=at: (
                page.locator(".map").get_attribute("data-move") != was
                or page.locator(".turn .verdict").count() > 0
            )
        )
    assert "no plan is faster" in stranger.read(page.locator(".turn.lesson .goal"))
    stranger.click(page.get_by_role("link", name="Challenges"), '[class*="st-key-match_"] button')
    stranger.read(page.locator(".stMainBlockContainer"), most=100)
    stranger.click(page.get_by_role("button", name="start here"), ".turn.lesson .goal")
    stranger.read(page.locator(".turn.lesson"))
    decide(stranger)
    ladder = page.locator(".turn.lesson .ladder li.won").all_inner_texts()
    assert any("greedy" in row for row in ladder)
    assert stranger.seconds < 600, vars(stranger)
    assert stranger.clicks <= 30 and stranger.pages <= 3
    assert_no_error(page)
    assert errors == []
    page.close()


def test_from_two_dumps_to_the_first_finding(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    errors, engineer = complaints(page), Stranger(page)
    page.goto(server)
    engineer.read(page.locator(".stMainBlockContainer"), most=100)
    engineer.click(page.locator(".st-key-door_explore button"), ".card img")
    engineer.click(page.get_by_text("Open a file of your own"), ".st-key-open_files button")
    engineer.read(page.locator(".st-key-details"), most=120)
    page.set_input_files("input[type=file]", [FIXTURES / "mlp_off.hlo", FIXTURES / "mlp_on.hlo"])
    engineer.clicks += 3
    click_until(page, page.locator(".st-key-hardware input"), '[role="option"]')
    page.get_by_role("option", name="tpu-v5e").click(timeout=PATIENCE_MS)
    engineer.clicks += 2
    engineer.click(page.locator(".st-key-open_files button:enabled"), "text=Yours")
    told = engineer.read(page.locator('[class*="st-key-yours_"]').first)
    assert "fitted to both dumps" in told and "Would help" in told
    debug = page.locator('[class*="st-key-yours_debug_"] button')
    engineer.click(debug, '.search[data-move], [data-testid="stProgress"], .job')
    page.wait_for_selector(".search[data-move]", timeout=PATIENCE_MS)
    row = page.get_by_test_id("stDataFrame").first
    row.wait_for(timeout=PATIENCE_MS)
    engineer.words += 60
    assert engineer.seconds < 180, vars(engineer)
    assert engineer.clicks <= 12
    assert_no_error(page)
    assert errors == []
    page.close()
