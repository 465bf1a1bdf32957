"""Every page, in both themes: as wide as 1280 and 1920 pixels allow, by keyboard, without an error.

axe-core looks at it, also into the shadow roots that the components draw into, and into frames, of
which there are none today.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize

from tests.browser.pages import (
    PATIENCE_MS,
    assert_no_error,
    brightness,
    dark,
    eventually,
    faults,
    stop_jobs,
)
from ui.screenshots import QUERY, SIZE, once_all_is_run, settle, show

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

# Whether the focus is in an element of this selector, through shadow roots, and what has it.
FOCUSED = """selector => {
  let found = document.activeElement;
  while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  const name = found?.getAttribute("aria-label") || found?.textContent || "";
  return [Boolean(found?.closest(selector)), `${found?.tagName} ${name.slice(0, 30)}`];
}"""
# The next Tab begins at the top: it goes on from what had the focus last, even after `blur`.
TO_THE_TOP = """() => {
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute("tabindex");
}"""
WIDTH = "document.documentElement.scrollWidth"
# Texts that are cut off at their right.
CUT = """() => [...document.querySelectorAll("button p, h1, h2, [data-testid=stMetricValue] div")]
  .filter(e => e.offsetParent && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
  .map(e => e.textContent)"""
MOST_TABS = 90
WIDE: ViewportSize = {"width": 1920, "height": 1080}
UNPLAYED = "lstm-v5e-b128"
"""The agent begins a game of it wherever there is none."""
PRACTISE = ".st-key-practise_first button, .stPopover button"
"""The offer to practise, or, where the agent's first game has come meanwhile, the form for it."""
STOP = '[class*="st-key-stop_"] button, .stPopover button'
"""What stops a job of the page, or, where all are over by now, the game's report."""
RECORDED = ".st-key-recorded .stPopover button"
"""The offer to practise, beside what is said of a recorded game."""
SEARCHED = ".search[data-move]"
COMPARED = "program=alexnet-v4-b24&plans=xla_compiled,greedy&mode="


@dataclass(frozen=True)
class Case:
    """A view with its link, and what one comes for; `ready`: what to wait for, if not the view's
    own. `is_busy`: it begins work that the test need not wait for.
    """

    view: str
    query: str
    action: str
    ready: str = ""
    is_busy: bool = False


CASES = {
    "start": Case("start", "", ".st-key-door_learn button"),
    "learn": Case("learn", "", ".st-key-next_lesson button"),
    "a lesson": Case("learn", "lesson=what-fast-memory-is-worth", ".map", ".turn.lesson .goal"),
    "challenges": Case("challenges", "", '[class*="st-key-match_"] button', "text=Find the move"),
    "a challenge": Case("challenges", "program=lstm-v5e-b128", ".map"),
    "a position": Case("challenges", "tab=find", ".map", ".turn.lesson"),
    "programs": Case("programs", "", '[class*="st-key-card_play_"] button'),
    "play": Case("play", QUERY, ".map"),
    "search": Case("search", f"program={UNPLAYED}", PRACTISE, is_busy=True),
    "debug": Case("debug", f"program={UNPLAYED}", STOP, is_busy=True),
    "a recorded game": Case("debug", "program=gptdecode-v5e-b8", RECORDED, SEARCHED),
    "runtimes": Case("compare", f"{COMPARED}runtimes", ".st-key-run button"),
    "layouts": Case("compare", f"{COMPARED}layouts", ".sheet"),
    "time": Case("compare", f"{COMPARED}time", ".st-key-run button"),
    "peak": Case("compare", f"{COMPARED}peak", ".st-key-relieve button"),
    "compiler": Case("compiler", "program=t5-v5e-b24", ".st-key-compile button"),
    "words": Case("words", "", ".st-key-term input"),
}

PUSHED = ("start", "play", "layouts")
"""The pages that each push looks at; axe also looks at Search, Debug and Challenges where their own
tests have them open. The night looks at all.
"""


def complaints(page: Page) -> list[str]:
    """What the page will have complained of on the console."""
    found: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            found.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


def room(page: Page) -> float:
    """Width of what the page shows."""
    box = page.locator(".stMainBlockContainer").bounding_box()
    return box["width"] if box else 0.0


def tab_to(page: Page, selector: str) -> None:
    """Press Tab from the top of the page until the focus is in an element; fails where it does not
    come there, in two rounds: a script run that redraws the page takes the focus away.
    """
    stops: list[str] = []
    for _ in range(2):
        settle(page)
        page.evaluate(TO_THE_TOP)
        stops = []
        for _ in range(MOST_TABS):
            page.keyboard.press("Tab")
            arrived, stop = page.evaluate(FOCUSED, selector)
            if arrived:
                return
            stops.append(stop)
    pytest.fail(f"Tab does not lead to {selector}, but to {stops}")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in PUSHED else pytest.mark.nightly) for n in CASES],
)
def test_a_page_in_both_themes_and_widths_by_keyboard(
    browser: Browser, server: str, name: str
) -> None:
    case = CASES[name]
    page = browser.new_page(viewport=SIZE, color_scheme="light")
    errors = complaints(page)
    show(page, server, case.view, case.query, case.ready)
    if case.view == "compare":
        once_all_is_run(page)
    assert faults(page) == []
    with dark(page):
        assert faults(page) == []
    tab_to(page, case.action)
    assert page.evaluate(WIDTH) <= SIZE["width"]
    assert page.evaluate(CUT) == []
    page.set_viewport_size(WIDE)
    assert eventually(lambda: room(page) > 0.95 * WIDE["width"])
    assert eventually(lambda: page.evaluate(WIDTH) <= WIDE["width"])
    assert_no_error(page)
    assert errors == []
    if case.is_busy:
        stop_jobs(page)
    page.close()


@pytest.mark.nightly
def test_the_theme_is_chosen_in_the_menu(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE, color_scheme="light")
    show(page, server, "words")
    background = page.get_by_test_id("stApp")
    before = brightness(background, "backgroundColor")
    page.get_by_test_id("stMainMenu").click()
    page.get_by_role("menuitemradio", name="Dark").click()
    assert eventually(lambda: brightness(background, "backgroundColor") < before - 400)
    page.close()


def test_a_link_to_no_page_says_so(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    page.goto(f"{server}/nonsense")
    page.wait_for_selector("text=Page not found", timeout=PATIENCE_MS)
    page.close()
