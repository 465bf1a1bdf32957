"""Playing in a real browser: keys, variations, search, listing, links, pictures, no jumps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.pages import PATIENCE_MS, STEP_BYTES, Traffic, eventually, wait_for_map
from tests.browser.test_memory_map import SOME_STAY, number, panel, window
from ui.components.glossary import about
from ui.screenshots import SIZE, open_page, settle

pytestmark = pytest.mark.browser

# How many colours the stays on the map have.
FILLS = """e => {
  const { plan, look } = e.getRootNode().view, seen = new Set();
  for (let i = 0; i < plan.numStays; i++) seen.add(fill(i));
  function fill(i) { return look.colouring.fill(plan.stay_group[i], plan.stay_start[i]); }
  return seen.size;
}"""
ZONE = """(e, y) => {
  const map = e.getRootNode().view;
  return map.zoneOf(200, y - map.top.getBoundingClientRect().top);
}"""
PLACES = """elements => elements.map(e => {
  const box = e.getBoundingClientRect();
  return [box.x, box.y, box.width, box.height];
})"""
HREF = "location.href"
QUERY = "program=resnet50-v5e-b64&move=100"


def opened(browser: Browser, server: str) -> Page:
    found = open_page(browser, server, "play", "light", QUERY)
    wait_for_map(found)
    settle(found)
    return found


@pytest.fixture(scope="module")
def shown(browser: Browser, server: str) -> Iterator[Page]:
    found = opened(browser, server)
    yield found
    found.close()


@pytest.fixture
def page(shown: Page) -> Page:
    """For tests that look and step: none of them leaves the plan."""
    shown.keyboard.press("Escape")
    return shown


@pytest.fixture
def own(browser: Browser, server: str) -> Iterator[Page]:
    """For tests that play."""
    found = opened(browser, server)
    yield found
    found.close()


def press(page: Page, key: str) -> None:
    """Press a key and wait until the map has taken in what came back."""
    before = plan(page), number(page, "move"), number(page, "tip")
    page.keyboard.press(key)
    assert eventually(lambda: (plan(page), number(page, "move"), number(page, "tip")) != before)
    page.wait_for_selector(".map:not([aria-busy])", timeout=PATIENCE_MS)


def plan(page: Page) -> str:
    return page.locator(".map").get_attribute("data-plan") or ""


def variations(page: Page) -> list[str]:
    return page.locator(".tree button").all_inner_texts()


def legal_key(page: Page, is_chosen: bool) -> str:
    """The key of a legal action that is, or is not, the one played here."""
    cards = page.locator("button.choice.chosen" if is_chosen else "button.choice:not(.chosen)")
    return cards.first.locator("kbd").inner_text()


def go_to_a_choice(page: Page) -> int:
    """Step to a move that can be played otherwise; its number."""
    while page.locator("button.choice:not(.chosen)").count() == 0:
        told = panel(page)
        page.keyboard.press("ArrowRight")
        assert eventually(lambda told=told: panel(page) != told)
    return number(page, "move")


def test_the_key_of_a_refused_action_says_why(page: Page) -> None:
    refused = page.locator(".choice.refused b").first
    name = refused.inner_text().removesuffix("✗").strip()
    page.keyboard.press({"Copy": "1", "NoCopy": "2", "Drop": "3"}[name])
    toast = page.locator(".map .toast:not([hidden])")
    start = f"{name} is not allowed here. "
    assert eventually(lambda: toast.count() > 0 and toast.inner_text().startswith(start))
    assert len(toast.inner_text()) > len(start) + 20, "a reason"
    told = panel(page)
    page.keyboard.press("ArrowRight")
    # Well before it would go by itself.
    page.wait_for_selector(".map .toast[hidden]", state="attached", timeout=5_000)
    assert eventually(lambda: panel(page) != told), "the next test begins on the new panel"


def test_a_refused_action_is_explained_on_the_map(page: Page) -> None:
    refused = page.locator(".choice.refused")
    while refused.get_by_role("button", name="show what forbids it").count() == 0:
        told = panel(page)
        page.keyboard.press("ArrowRight")
        assert eventually(lambda told=told: panel(page) != told)
    ghosts = "e => e.getRootNode().view.state.overlay?.ghosts.length ?? 0"
    refused.get_by_role("button", name="show what forbids it").first.click()
    page.wait_for_selector("text=hide")
    assert eventually(lambda: page.locator(".map").evaluate(ghosts) > 0)


def test_a_term_explains_itself_to_the_keyboard(page: Page) -> None:
    """In the panel and in the legend: the text appears on focus, and fits into the window."""
    shown = "e => getComputedStyle(e, '::after').content"
    for place in (".turn .facts dfn", ".turn .refused dfn", ".legend dfn"):
        term = page.locator(place).first
        assert term.evaluate(shown) in ("none", "normal")
        assert eventually(lambda term=term: term.get_attribute("tabindex") == "0")
        term.focus()
        text = term.get_attribute("aria-description")
        assert text == about(term.inner_text())
        assert term.evaluate(shown).strip('"') == text
        term.blur()


def test_the_next_move_that_matters(page: Page) -> None:
    stakes = "e => e.getRootNode().view.plan.move_worth[e.getRootNode().view.state.move]"
    total = "e => e.getRootNode().view.plan.move_worth.reduce((sum, s) => sum + s, 0)"
    all_s = page.locator(".map").evaluate(total)
    for key, way in (("j", 1), ("j", 1), ("k", -1)):
        before = number(page, "move")
        page.keyboard.press(key)
        assert eventually(lambda was=before, way=way: (number(page, "move") - was) * way > 0)
        assert page.locator(".map").evaluate(stakes) >= all_s / 1000


def test_a_question_is_answered_by_a_key(page: Page) -> None:
    page.get_by_role("button", name="guess its decisions").click()
    page.wait_for_selector("text=What would you do?", timeout=PATIENCE_MS)
    page.wait_for_selector(".map:not([aria-busy])")
    assert "→" not in page.locator(".sentence").inner_text()
    assert page.locator("button.choice.chosen").count() == 0
    page.keyboard.press(legal_key(page, is_chosen=False))
    page.wait_for_selector("text=Try again", timeout=PATIENCE_MS)
    page.get_by_role("button", name="End", exact=True).click()
    page.wait_for_selector("text=guess its decisions", timeout=PATIENCE_MS)


def test_what_if_is_answered_by_replay(page: Page) -> None:
    page.get_by_role("button", name="never fast").click()
    page.wait_for_selector(".what-if >> text=Runtime")


def test_search_jumps_and_the_listing_follows(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("conv5_block2")
    page.wait_for_selector(".hits li[data-hit]")
    page.keyboard.press("Enter")
    assert eventually(lambda: "conv5_block2" in page.locator(".row.current").inner_text())
    chip = page.locator(".row.current .chip").first
    group = int(chip.get_attribute("data-group") or -1)
    chip.click()
    assert eventually(lambda: number(page, "selected") == group)
    assert page.locator(".row.touching").count() > 0
    page.keyboard.press("Home")
    assert eventually(lambda: number(page, "move") == 0)
    assert eventually(lambda: page.locator(".row.current .slot").inner_text() == "0")


LEGENDS = {
    "kind": "temporary",
    "saving": "saves by rank",
    "size": "size, log scale",
    "age": "in fast memory since",
    "layer": "pool1",
}


def test_the_legend_says_what_colours_mean(page: Page) -> None:
    legend = page.locator(".legend")
    for colour, text in LEGENDS.items():
        page.locator("select.colour").select_option(colour)
        assert eventually(lambda told=text: told in legend.inner_text())
        others = (told for told in LEGENDS.values() if told != text)
        assert not any(told in legend.inner_text() for told in others)
        if colour != "kind":
            assert page.locator(".map").evaluate(FILLS) > 2
    page.locator("select.colour").select_option("kind")


def test_pictures_are_saved(page: Page, tmp_path: Path) -> None:
    for ending in ("PNG", "SVG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=ending, exact=True).click()
        download.value.save_as(tmp_path / ending)
    assert (tmp_path / "PNG").read_bytes().startswith(b"\x89PNG")
    root = ElementTree.fromstring((tmp_path / "SVG").read_text())
    rectangles = root.findall(".//{http://www.w3.org/2000/svg}rect")
    assert len(rectangles) > number(page, "stays")
    assert "color-mix" not in (tmp_path / "SVG").read_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").click()
    assert download.value.suggested_filename.endswith(".plan.json")


def test_a_pane_scrolls_by_its_own_keys(page: Page) -> None:
    pane, before = page.locator(".pane.program .scroll"), number(page, "move")
    page.keyboard.press("Tab")
    pane.focus()
    top = pane.evaluate("e => e.scrollTop = 0")
    page.keyboard.press("End")
    assert eventually(lambda: pane.evaluate("e => e.scrollTop") > top)
    assert number(page, "move") == before
    pane.evaluate("e => e.blur()")


def test_the_help_lists_the_keys(page: Page) -> None:
    page.keyboard.press("?")
    page.wait_for_selector(".help:visible")
    assert "undo" in page.locator(".help").inner_text()
    before = number(page, "move")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    assert number(page, "move") == before
    assert page.locator(".help button:focus").count() == 1
    page.keyboard.press("Escape")
    assert eventually(lambda: not page.locator(".help").is_visible())


@pytest.mark.nightly
def test_the_figures_stay_while_stepping_and_playing(own: Page) -> None:
    figures = own.locator(".figures", has=own.locator("b"))
    before = figures.inner_text()
    assert "valid" in before
    assert own.locator(".figures dfn").all_inner_texts()[0] == "Runtime"
    for _ in range(2):
        told = panel(own)
        own.keyboard.press("ArrowRight")
        assert eventually(lambda told=told: panel(own) != told)
        assert figures.inner_text() == before
    go_to_a_choice(own)
    press(own, legal_key(own, is_chosen=False))
    assert eventually(lambda: figures.count() == 1 and "valid" in figures.inner_text())
    own.keyboard.press("ArrowLeft")
    own.wait_for_timeout(1500)
    assert "valid" in figures.inner_text()


@pytest.mark.nightly
def test_nothing_jumps_while_stepping(own: Page) -> None:
    spots = ".stage, .legend, .pane, .turn .line, .turn .stake, .turn .choice"
    first = own.locator(spots).evaluate_all(PLACES)
    for _ in range(12):
        told = panel(own)
        own.keyboard.press("ArrowRight")
        assert eventually(lambda told=told: panel(own) != told)
        assert own.locator(spots).evaluate_all(PLACES) == first
    assert own.evaluate("document.documentElement.scrollWidth") <= SIZE["width"]


def test_keys_leave_the_plan_and_undo_and_redo(own: Page) -> None:
    fork, total = go_to_a_choice(own), number(own, "tip")
    press(own, legal_key(own, is_chosen=True))
    assert number(own, "tip") == total
    own.keyboard.press("ArrowLeft")
    assert eventually(lambda: number(own, "move") == fork)
    own.wait_for_selector("button.choice:not(.chosen)")
    own.wait_for_timeout(800)
    press(own, legal_key(own, is_chosen=False))
    tip = number(own, "tip")
    assert fork < tip < total
    own.wait_for_selector("text=Your variation")
    assert len(variations(own)) == 2
    press(own, "z")
    assert (number(own, "move"), number(own, "tip")) == (fork, tip)
    press(own, "y")
    assert number(own, "move") == tip
    own.keyboard.press("ArrowRight")
    own.wait_for_timeout(300)
    assert number(own, "move") == tip


def test_shift_plays_the_other_end(own: Page) -> None:
    fork = go_to_a_choice(own)
    own.wait_for_timeout(800)
    press(own, legal_key(own, is_chosen=False))
    while own.locator("button.other-end").count() == 0:
        press(own, own.locator("button.choice kbd").first.inner_text())
    move = number(own, "move")
    assert move > fork
    other = "e => e.getRootNode().view.state.overlay.ghosts.filter(g => g.other).length"
    assert eventually(lambda: own.locator(".map").evaluate(other) > 0)
    action = own.locator("button.other-end").first.get_attribute("data-action")
    press(own, {"3": "Shift+C", "4": "Shift+N"}[action or ""])
    while (shown := number(own, "move")) > move:
        own.keyboard.press("ArrowLeft")
        assert eventually(lambda shown=shown: number(own, "move") < shown)
    chosen = own.locator("button.other-end.chosen")
    chosen.wait_for(timeout=PATIENCE_MS)
    assert chosen.get_attribute("data-action") == action
    assert "other end" in own.locator(".sentence").inner_text()
    own.keyboard.press({"3": "Shift+Digit1", "4": "Shift+Digit2"}[action or ""])
    assert eventually(lambda: number(own, "move") > move)


@pytest.mark.nightly
def test_a_player_finishes_and_the_plan_comes_back(own: Page) -> None:
    go_to_a_choice(own)
    before = plan(own)
    press(own, legal_key(own, is_chosen=False))
    own.locator(".player").select_option("greedy")
    press(own, "g")
    assert number(own, "move") == number(own, "tip") - 1
    own.wait_for_selector("text=Keep as a plan")
    assert len(variations(own)) >= 2
    own.locator('.tree [data-number="-1"]').click()
    assert eventually(lambda: plan(own) == before)
    own.wait_for_selector("text=guess its decisions")
    assert len(variations(own)) >= 2


@pytest.mark.nightly
def test_playing_on_sends_little(own: Page) -> None:
    go_to_a_choice(own)
    press(own, legal_key(own, is_chosen=False))
    traffic = Traffic(own)
    own.reload()
    wait_for_map(own)
    own.wait_for_selector("text=Your variation")
    traffic.settle()
    for _ in range(2):
        traffic.reset()
        press(own, own.locator("button.choice kbd").first.inner_text())
        traffic.settle()
        assert 0 < traffic.sent < STEP_BYTES
        assert 0 < traffic.received < STEP_BYTES


def test_a_copied_link_restores_the_view(browser: Browser, server: str, own: Page) -> None:
    go_to_a_choice(own)
    press(own, legal_key(own, is_chosen=False))
    spot = own.locator(".map").evaluate(SOME_STAY)
    own.mouse.click(spot["x"], spot["y"])
    own.locator("select.colour").select_option("size")
    own.keyboard.press("+")
    own.keyboard.press("l")
    assert eventually(lambda: own.locator(".map").get_attribute("data-link") is not None)
    link = own.locator(".map").get_attribute("data-link") or ""
    query = parse_qs(urlsplit(link).query)
    assert {"program", "plan", "move", "line", "select", "window", "colour"} <= set(query)
    there = browser.new_page(viewport=SIZE)
    there.goto(link)
    wait_for_map(there)
    assert eventually(lambda: number(there, "tip") == number(own, "tip"))
    assert number(there, "move") == number(own, "move")
    assert number(there, "selected") == number(own, "selected") == spot["group"]
    assert there.locator("select.colour").input_value() == "size"
    assert window(there) == pytest.approx(window(own), rel=1e-3)
    there.close()


@pytest.mark.nightly
def test_scrubbing_and_the_curve_send_nothing_until_the_hand_rests(own: Page) -> None:
    traffic = Traffic(own)
    own.reload()
    wait_for_map(own)
    traffic.settle()
    box = own.locator("canvas.top").bounding_box()
    assert box
    y = box["y"] + box["height"] - 70
    assert own.locator(".map").evaluate(ZONE, y) == "curve"
    traffic.reset()
    own.mouse.move(box["x"] + 120, y)
    own.wait_for_selector(".card:visible")
    assert "has saved" in own.locator(".card").inner_text()
    assert traffic.sent == 0
    before = number(own, "move")
    own.mouse.click(box["x"] + box["width"] - 60, y)
    assert eventually(lambda: number(own, "move") > before)
    traffic.settle()
    assert 0 < traffic.sent < STEP_BYTES


def test_back_leads_to_the_page_before_and_not_through_the_moves(own: Page, server: str) -> None:
    before = own.evaluate("history.length")
    for _ in range(3):
        press(own, "ArrowRight")
        shown = f"move={number(own, 'move') + 1}"
        assert eventually(lambda shown=shown: shown in own.evaluate(HREF))
    assert own.evaluate("history.length") == before
    address = own.evaluate(HREF)
    own.get_by_role("link", name="Words").click()
    own.wait_for_url(f"{server}/words**")
    settle(own)
    own.go_back()
    own.wait_for_url(f"{server}/play**")
    wait_for_map(own)
    assert eventually(lambda: own.evaluate(HREF) == address)
    own.go_forward()
    own.wait_for_url(f"{server}/words**")


def test_back_leads_to_the_program_that_was_shown_there(own: Page, server: str) -> None:
    address, other = own.evaluate(HREF), "teach-fragmentation"
    own.get_by_role("link", name="Programs").click()
    own.get_by_label("Search", exact=True).fill(other)
    own.keyboard.press("Enter")
    own.locator(f".st-key-card_play_{other} button").click(timeout=PATIENCE_MS)
    assert eventually(lambda: other in own.evaluate(HREF))
    wait_for_map(own)
    settle(own)
    own.go_back()
    own.wait_for_url(f"{server}/programs**")
    settle(own)
    own.go_back()
    own.wait_for_url(f"{server}/play**")
    wait_for_map(own)
    settle(own)
    assert eventually(lambda: own.evaluate(HREF) == address)
    assert own.get_by_label("Program", exact=False).first.input_value() == "resnet50-v5e-b64"
