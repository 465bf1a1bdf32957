"""The Search view in a real browser: the tree, its budget, its line, all without a round trip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from engine.agent.trace_io import SearchTrace, save_trace
from engine.game.moves import NUM_ACTIONS
from engine.program import library
from tests.browser.pages import (
    PATIENCE_MS,
    STEP_BYTES,
    Traffic,
    address,
    assert_no_error,
    brightness,
    colours,
    dark,
    eventually,
    faults,
    is_whole_tip,
    stop_jobs,
    wait_for_map,
)
from tests.ui.search_traces import grow, made_up_trace
from ui.screenshots import SIZE, settle

pytestmark = pytest.mark.browser

PROGRAM = "alexnet-v4-b24"
TRACE = made_up_trace(library.load_sample(PROGRAM), simulations=32)

TREE = """e => {
  const { view } = e.getRootNode(), { grown } = view.pane;
  return { visits: [...grown.visits], value: [...grown.value], leads: [...view.pane.tree.leads] };
}"""


def told(page: Page, name: str) -> str:
    return page.locator(".search").get_attribute(f"data-{name}") or ""


def pane(page: Page, name: str) -> str:
    return page.locator(".pane").first.get_attribute(f"data-{name}") or ""


def open_search(browser: Browser, server: str, folder: Path) -> tuple[Page, Traffic]:
    """The view of a trace that was brought as a file, on its tenth move.

    Its legal actions are all in the tree, the other end leads, and that flips late.
    """
    save_trace(TRACE, folder / "a.npz")
    page = browser.new_page(viewport=SIZE)
    traffic = Traffic(page)
    page.goto(f"{server}/search?program={PROGRAM}&move=10")
    stop_jobs(page)
    page.get_by_text("Open a trace file").click(timeout=PATIENCE_MS)
    page.set_input_files("input[type=file]", folder / "a.npz")
    page.locator(".st-key-open_trace button:enabled").click(timeout=PATIENCE_MS)
    page.wait_for_selector(".search[data-move]", timeout=PATIENCE_MS)
    settle(page)
    return page, traffic


@pytest.fixture(scope="module")
def opened(
    browser: Browser, server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Page, Traffic]]:
    page, traffic = open_search(browser, server, tmp_path_factory.mktemp("search"))
    yield page, traffic
    page.close()


@pytest.fixture
def page(opened: tuple[Page, Traffic]) -> Page:
    found = opened[0]
    found.locator(".search").focus()
    found.keyboard.press("Escape")
    found.keyboard.press("Escape")
    found.locator("input.scrub").first.fill("32")
    assert eventually(lambda: pane(found, "count") == "32" and pane(found, "selected") == "0")
    found.locator(".search").focus()
    return found


def move_of(page: Page) -> int:
    return int(told(page, "board"))


def test_the_link_opens_its_move_and_everything_is_drawn(page: Page) -> None:
    assert told(page, "move") == "9"
    for canvas in (".curve canvas", ".tree canvas", "canvas.history", ".film canvas"):
        assert colours(page.locator(canvas).first) > 4, canvas
    assert_no_error(page)


def test_both_themes(page: Page) -> None:
    assert faults(page) == []
    with dark(page):
        assert faults(page) == []
        assert colours(page.locator(".tree canvas").first) > 4
        assert brightness(page.locator(".search"), "color") > 450


def test_the_tree_at_any_budget_is_what_it_was(page: Page) -> None:
    move = move_of(page)
    left = TRACE.num_moves - move
    for count in (32, 1, 17, 0):
        page.locator("input.scrub").first.fill(str(count))
        assert eventually(lambda n=count: pane(page, "count") == str(n))
        found = page.locator(".search").evaluate(TREE)
        columns = (TRACE.tree_parent, TRACE.tree_raw_value, TRACE.tree_reward)
        visits, value = grow(*(c[move] for c in columns), left, count)
        assert found["visits"] == visits.tolist()
        assert found["value"] == pytest.approx(value.tolist(), abs=1e-5)
    page.locator("input.scrub").first.fill("32")
    assert eventually(lambda: pane(page, "count") == "32")
    found = page.locator(".search").evaluate(TREE)
    assert found["visits"] == TRACE.tree_visits[move].tolist()


def test_the_choice_flips_where_the_improved_policy_does(page: Page) -> None:
    leads = page.locator(".search").evaluate(TREE)["leads"]
    move = move_of(page)
    assert leads == [leader(TRACE, move, count) for count in range(33)]
    flips = [k for k in range(1, 33) if leads[k] != leads[k - 1]]
    text = page.locator(".flip").first.inner_text()
    if flips:
        assert f"last flip at {flips[-1]}" in text
        page.locator(".flip").first.click()
        assert eventually(lambda: pane(page, "count") == str(flips[-1]))
    else:
        assert "from the start" in text


def leader(trace: SearchTrace, move: int, count: int) -> int:
    """The best logit of Gumbel MuZero's improved policy, written once more."""
    columns = (trace.tree_parent, trace.tree_raw_value, trace.tree_reward)
    parent, raw, reward = (c[move] for c in columns)
    left = trace.num_moves - move
    visits, value = grow(parent, raw, reward, left, count)
    prior, worth, seen = trace.prior[move], np.zeros(NUM_ACTIONS), np.zeros(NUM_ACTIONS)
    for node in range(1, count + 1):
        if parent[node] == 0:
            action = trace.tree_action[move, node]
            seen[action] = visits[node]
            worth[action] = reward[node] + (0.0 if left <= 1 else value[node])
    mass = prior[seen > 0].sum()
    mean = (prior * worth)[seen > 0].sum() / mass if mass else 0.0
    mixed = (raw[0] + seen.sum() * mean) / (seen.sum() + 1)
    completed = np.where(seen > 0, worth, mixed)
    logits = np.log(np.maximum(prior, 1e-9)) + (50 + seen.max()) * 0.05 * completed
    return int(np.where(trace.legal[move], logits, -np.inf).argmax())


def test_scrubbing_walking_zooming_and_colours_send_nothing(
    page: Page, opened: tuple[Page, Traffic]
) -> None:
    traffic = opened[1]
    traffic.reset()
    page.keyboard.press("{")
    assert eventually(lambda: int(pane(page, "count")) < 32)
    page.keyboard.press("]")
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    assert eventually(lambda: pane(page, "selected") != "0")
    assert eventually(page.locator('[data-pane="out"]').first.is_enabled)
    for colour in ("reward", "prior", "rules", "worth"):
        page.keyboard.press("h")
        assert eventually(lambda c=colour: told(page, "colour") == c)
    page.keyboard.press("v")
    page.keyboard.press(" ")
    assert eventually(lambda: pane(page, "count") == "32")
    traffic.settle()
    assert traffic.sent == 0
    page.keyboard.press("v")


def test_a_step_sends_little(page: Page, opened: tuple[Page, Traffic]) -> None:
    traffic, before = opened[1], move_of(page)
    traffic.reset()
    page.keyboard.press(".")
    assert eventually(lambda: move_of(page) == before + 1)
    traffic.settle()
    assert f"move={before + 2}" in address(page)
    assert 0 < traffic.sent < STEP_BYTES
    assert 0 < traffic.received < STEP_BYTES
    page.keyboard.press(",")
    assert eventually(lambda: move_of(page) == before)


def test_walking_the_tree_follows_parents_and_siblings(page: Page) -> None:
    move = move_of(page)
    page.keyboard.press("ArrowDown")
    assert eventually(lambda: pane(page, "selected") != "0")
    first = int(pane(page, "selected"))
    assert TRACE.tree_parent[move, first] == 0
    assert TRACE.tree_action[move, first] == int(pane(page, "leader"))
    page.keyboard.press("ArrowDown")
    assert eventually(lambda: pane(page, "selected") != str(first))
    second = int(pane(page, "selected"))
    assert TRACE.tree_parent[move, second] == first
    page.keyboard.press("ArrowUp")
    assert eventually(lambda: pane(page, "selected") == str(first))


def test_hover_tells_and_a_row_shows_its_line(page: Page) -> None:
    box = page.locator(".tree canvas").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + 80, box["y"] + 35)
    page.wait_for_selector(".tree .card:visible")
    card = page.locator(".tree .card").first.inner_text()
    assert all(word in card for word in ("visits", "worth", "reward", "prior"))
    page.mouse.move(5, 5)
    rows = page.locator("tr[data-action]")
    assert rows.count() > 1
    for row in rows.all():
        action = row.get_attribute("data-action") or ""
        row.hover()
        assert eventually(lambda a=action: told(page, "line").startswith(a))
    page.mouse.move(5, 5)


def test_keys_work_on_a_row_of_the_root(page: Page) -> None:
    move = move_of(page)
    row = page.locator("tr[data-action]").first
    row.click()
    page.mouse.move(5, 5)
    page.keyboard.press(".")
    assert eventually(lambda: move_of(page) == move + 1)
    page.keyboard.press(",")
    assert eventually(lambda: move_of(page) == move)
    row.focus()
    for count in (31, 30, 29):
        page.keyboard.press("[")
        assert eventually(lambda n=count: pane(page, "count") == str(n))
    action = row.get_attribute("data-action")
    assert row.evaluate("e => e.getRootNode().activeElement.dataset.action") == action


def test_the_card_of_a_node_goes_with_its_tree(page: Page) -> None:
    box = page.locator(".tree canvas").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + 80, box["y"] + 35)
    card = page.locator(".tree .card").first
    card.wait_for(timeout=PATIENCE_MS)
    before = card.inner_text()
    page.keyboard.press("{")
    assert eventually(lambda: pane(page, "count") == "29")
    assert eventually(lambda: card.inner_text() != before)
    page.locator("input.scrub").first.fill("0")
    assert eventually(card.is_hidden)
    page.mouse.move(5, 5)


@pytest.mark.parametrize("width", [640, 900, 1000, 1280])
def test_the_table_of_the_root_has_its_room(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    table, tree = page.locator(".pane table").first, page.locator(".tree canvas").first

    def is_beside_or_above() -> bool:
        one, other = table.bounding_box(), tree.bounding_box()
        assert one and other
        return one["x"] + one["width"] <= min(other["x"], width) or (
            one["y"] + one["height"] <= other["y"] and one["x"] + one["width"] <= width
        )

    assert eventually(lambda: page.locator(".search").evaluate("e => e.clientWidth") < width)
    assert eventually(is_beside_or_above)
    page.set_viewport_size(SIZE)


def test_what_the_columns_mean_can_be_read(page: Page) -> None:
    terms = page.locator(".pane thead").first.locator("dfn")
    assert terms.count() > 1
    for term in terms.all():
        term.focus()
        assert is_whole_tip(term), term.inner_text()


def test_the_view_shows_that_it_has_the_focus(page: Page) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert told(page, "move")
    colour = "e => getComputedStyle(e.querySelector('.curve')).borderColor"
    with_focus = page.locator(".search").evaluate(colour)
    page.keyboard.press("Tab")
    assert page.locator(".search").evaluate(colour) != with_focus


def test_the_film_plays_the_line_move_by_move(page: Page) -> None:
    steps = page.locator("li[data-step]")
    count = steps.count()
    assert count >= 2
    assert told(page, "shown") == str(count - 1)
    steps.first.hover()
    assert eventually(lambda: told(page, "shown") == "0")
    assert page.locator("li.later").count() == count - 1
    page.mouse.move(5, 5)
    assert eventually(lambda: told(page, "shown") == str(count - 1))
    page.locator(".steps ol").focus()
    page.keyboard.press("ArrowUp")
    assert eventually(lambda: told(page, "shown") == str(count - 2))
    assert faults(page) == []
    page.locator(".search").focus()
    page.keyboard.press("m")
    assert eventually(lambda: told(page, "shown") == "0")
    assert eventually(lambda: told(page, "shown") == str(count - 1))


def test_surprises_are_visited_in_their_order(page: Page) -> None:
    from engine.debugging.surprise import surprises

    order = surprises(TRACE).order()
    page.locator(".counter input").fill(str(order[30] + 1))
    page.keyboard.press("Enter")
    assert eventually(lambda: move_of(page) == order[30])
    page.keyboard.press("s")
    assert eventually(lambda: move_of(page) == order[0])
    page.keyboard.press("s")
    assert eventually(lambda: move_of(page) == order[1])
    page.keyboard.press("S")
    assert eventually(lambda: move_of(page) == order[0])
    assert "surprise 1 of" in page.locator(".sentence").inner_text()


def test_enter_gives_the_keys_back_though_the_number_is_the_same(page: Page) -> None:
    page.keyboard.press("Home")
    assert eventually(lambda: move_of(page) == 0)
    page.locator(".counter input").press("Enter")
    page.keyboard.press("End")
    assert eventually(lambda: move_of(page) == TRACE.num_moves - 1)


def test_a_click_on_the_curve_jumps(page: Page) -> None:
    box = page.locator(".curve canvas").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] - 10, box["y"] + 20)
    assert eventually(lambda: move_of(page) == TRACE.num_moves - 1)
    page.keyboard.press("Home")
    assert eventually(lambda: move_of(page) == 0)


def test_help_lists_the_keys_and_closes(page: Page) -> None:
    page.keyboard.press("?")
    assert page.locator(".help dt").count() > 10
    page.keyboard.press("Escape")
    assert eventually(lambda: page.locator(".help:visible").count() == 0)


def test_the_line_opens_in_play_and_the_way_back_is_kept(page: Page) -> None:
    page.keyboard.press("Home")
    assert eventually(lambda: move_of(page) == 0)
    legal = [a for a in range(NUM_ACTIONS) if TRACE.legal[0][a] and a != TRACE.action[0]]
    page.locator(f'tr[data-action="{legal[0]}"]').first.click()
    assert eventually(lambda: told(page, "line").startswith(str(legal[0])))
    page.locator(".search").focus()
    page.keyboard.press("o")
    wait_for_map(page)
    settle(page)
    assert page.locator(".map").get_attribute("data-move") == "0"
    page.wait_for_selector("text=Your variation", timeout=PATIENCE_MS)
    page.get_by_role("link", name="Search").click()
    page.wait_for_selector(".search[data-move]", timeout=PATIENCE_MS)
    settle(page)
    assert move_of(page) == 0
