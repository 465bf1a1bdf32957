"""Learn in a real browser: by keyboard alone, in both themes, and over a reload."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page

from engine.game.moves import COPY, COPY_OTHER, DROP, NO_COPY, NO_COPY_OTHER
from engine.lessons.catalogue import load_catalogue
from engine.lessons.judge import Judge
from tests.browser.pages import (
    PATIENCE_MS,
    assert_no_error,
    brightness,
    colours,
    dark,
    eventually,
    is_whole_tip,
    wait_until_idle,
)
from ui.screenshots import SIZE

pytestmark = pytest.mark.browser

FIRST = "what-fast-memory-is-worth"
LAST = 4
"""Its last move."""
KEPT = "localStorage.getItem('mallocmuzero-progress') ?? ''"
KEYS = {COPY: "1", NO_COPY: "2", DROP: "3", COPY_OTHER: "Shift+1", NO_COPY_OTHER: "Shift+2"}


def reached(page: Page) -> int:
    return int(page.locator(".map").get_attribute("data-move") or -1)


def wait_for_board(page: Page) -> None:
    page.wait_for_selector(".map.lesson[data-move]", timeout=PATIENCE_MS)
    page.wait_for_selector(".turn.lesson .goal", timeout=PATIENCE_MS)
    wait_until_idle(page)


def test_the_first_lesson_by_keyboard_and_over_reloads(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    page.goto(f"{server}/learn")
    first = page.locator(f'.lessons [data-lesson="{FIRST}"]')
    first.wait_for(timeout=PATIENCE_MS)
    first.focus()
    page.keyboard.press("Enter")
    wait_for_board(page)
    assert colours(page.locator(".map.lesson canvas.base")) > 4
    page.keyboard.press("2")
    page.wait_for_selector(".turn.lesson >> text=Undo", timeout=PATIENCE_MS)
    saved = page.locator(".turn.lesson .goal").inner_text()
    assert eventually(lambda: "0.1" in str(page.evaluate(KEPT)))
    page.reload()
    page.wait_for_selector(".turn.lesson >> text=Undo", timeout=PATIENCE_MS)
    assert page.locator(".turn.lesson .goal").inner_text() == saved, "in the middle of it"
    wait_for_board(page)
    page.locator(".map").focus()
    page.keyboard.press("z")
    page.wait_for_selector(".turn.lesson >> text=Undo", state="detached", timeout=PATIENCE_MS)
    page.keyboard.press("3")
    assert eventually(lambda: page.locator(".map").get_attribute("data-move") == "1")
    for move, key in enumerate("2223", 2):
        page.keyboard.press(key)
        assert eventually(lambda at=move: reached(page) >= min(at, LAST))
    page.wait_for_selector(".turn.lesson .reached", timeout=PATIENCE_MS)
    assert_no_error(page)
    assert eventually(lambda: FIRST in page.evaluate(KEPT))
    page.goto(f"{server}/learn")
    done = page.locator(f'.lessons .done[data-lesson="{FIRST}"]')
    done.wait_for(timeout=PATIENCE_MS)
    assert "★★★" in done.inner_text(), "a new session, as after a restart of the server"
    page.close()


def test_what_a_term_means_can_be_read_on_a_phone(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport={"width": 375, "height": 667})
    page.goto(f"{server}/learn?lesson={FIRST}")
    wait_for_board(page)
    terms = page.locator(".note dfn")
    assert terms.count()
    for term in terms.all():
        term.focus()
        assert is_whole_tip(term), term.inner_text()
    page.close()


def test_three_lessons_in_a_row_by_next_answer_at_once(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    page.goto(f"{server}/learn?lesson={FIRST}")
    board = page.locator(".map.lesson")
    lessons = load_catalogue()
    solved: set[str] = set()
    for _ in range(3):
        following = lessons.next_after(solved)
        assert following is not None
        page.get_by_role("heading", name=following.title).wait_for(timeout=PATIENCE_MS)
        wait_for_board(page)
        assert board.get_attribute("aria-busy") is None, "it waits for the last lesson's answer"
        for action in Judge(following).best.actions:
            page.keyboard.press(KEYS[action])
        onward = page.locator('.turn.lesson .reached [data-do="next"]')
        onward.wait_for(timeout=PATIENCE_MS)
        solved.add(following.name)
        onward.click()
    page.close()


@pytest.mark.nightly
def test_both_themes_and_a_hint_without_errors(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{server}/learn")
    card = page.locator(".lessons button").first
    card.wait_for(timeout=PATIENCE_MS)
    assert brightness(card, "backgroundColor") > 380
    with dark(page):
        assert brightness(card, "backgroundColor") < 380
    page.goto(f"{server}/learn?lesson=dead-ends")
    wait_for_board(page)
    page.locator(".turn.lesson .hints button").click()
    page.wait_for_selector(".turn.lesson .hints li", timeout=PATIENCE_MS)
    assert_no_error(page)
    assert not errors
    page.close()
