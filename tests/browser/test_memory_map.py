"""The memory map in a real browser: it draws, steps, zooms and picks without a round trip."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from engine.game.move_list import moves
from engine.plan.io import plan_from_json
from engine.plan.simulate import simulate
from engine.program.library import load_sample
from tests.browser import pages
from tests.browser.pages import (
    STEP_BYTES,
    Traffic,
    assert_no_error,
    brightness,
    colours,
    dark,
    eventually,
    wait_for_map,
)
from ui.components.memory_map.board import saved_before
from ui.components.memory_map.plan_actions import actions_of
from ui.components.units import time_text
from ui.screenshots import open_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened(browser: Browser, server: str) -> Iterator[tuple[Page, Traffic]]:
    """The Play view with its traffic, counted from the page's second load on."""
    page = open_page(browser, server, "play", "light")
    traffic = Traffic(page)
    page.reload()
    wait_for_map(page)
    traffic.settle()
    yield page, traffic
    page.close()


def number(page: Page, name: str) -> int:
    return int(page.locator(".map").get_attribute(f"data-{name}") or -99)


def window(page: Page) -> list[float]:
    return pages.window(page.locator(".map"))


@pytest.mark.nightly
def test_draws_in_both_themes(opened: tuple[Page, Traffic]) -> None:
    page, _ = opened
    assert_is_drawn(page)
    assert brightness(page.locator(".stage"), "backgroundColor") > 600
    with dark(page):
        assert_is_drawn(page)
        assert brightness(page.locator(".stage"), "backgroundColor") < 600


def assert_is_drawn(page: Page) -> None:
    assert colours(page.locator("canvas.base")) > 8
    assert colours(page.locator("canvas.top")) > 2
    assert number(page, "stays") > 0
    assert_no_error(page)


def panel(page: Page) -> str:
    return page.locator(".turn").inner_text()


def test_keys_step_and_little_is_sent(opened: tuple[Page, Traffic]) -> None:
    page, traffic = opened
    before, told = number(page, "move"), panel(page)
    traffic.reset()
    page.keyboard.press("ArrowRight")
    assert eventually(lambda: number(page, "move") == before + 1)
    assert eventually(lambda: panel(page) != told)
    traffic.settle()
    assert 0 < traffic.sent < STEP_BYTES
    assert 0 < traffic.received < STEP_BYTES
    assert all(action in panel(page) for action in ("Copy", "NoCopy", "Drop"))
    page.keyboard.press("ArrowLeft")
    assert eventually(lambda: panel(page) == told)
    assert number(page, "move") == before


def test_zoom_and_pan_send_nothing(opened: tuple[Page, Traffic]) -> None:
    page, traffic = opened
    page.keyboard.press("f")
    traffic.reset()
    whole = window(page)
    box = page.locator("canvas.top").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 3
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    assert eventually(lambda: window(page)[1] - window(page)[0] < whole[1] - whole[0])
    zoomed = window(page)
    page.mouse.down()
    page.mouse.move(x - 80, y + 10, steps=4)
    page.mouse.up()
    assert eventually(lambda: window(page)[0] > zoomed[0])
    page.keyboard.press("f")
    assert eventually(lambda: window(page) == whole)
    traffic.settle()
    assert traffic.sent == 0


def test_the_curve_rises_to_what_the_plan_saves_where_instructions_have_floors(
    browser: Browser, server: str
) -> None:
    program = load_sample("dlrm-v5e-b12288")
    plan = plan_from_json(program.provenance["xla_plan"], "provenance.xla_plan")
    every = moves(program)
    actions = actions_of(program, plan, every)
    saved = saved_before(program, every, actions, simulate(program, plan))
    query = "program=dlrm-v5e-b12288&plan=xla_compiled"
    page = open_page(browser, server, "play", "light", query)
    wait_for_map(page)
    page.keyboard.press("f")
    box = page.locator("canvas.top").bounding_box()
    assert box
    corner = (
        "e => { const { axes } = e.getRootNode().view; return [axes.xOf(%d), axes.curve.top]; }"
    )
    x, y = page.locator(".map").evaluate(corner % (program.num_slots - 1))
    page.mouse.move(box["x"] + x + 1, box["y"] + y + 5)
    row = page.locator(".card tr", has_text="this line has saved")
    told = time_text(saved[-2]).replace("\N{NO-BREAK SPACE}", " ")
    assert row.inner_text().endswith(told)
    page.close()


def test_an_area_is_selected_by_hand_and_by_keys_and_copied(
    opened: tuple[Page, Traffic],
) -> None:
    page, traffic = opened
    page.keyboard.press("f")
    traffic.reset()
    box = page.locator("canvas.top").bounding_box()
    assert box
    x, y = box["x"] + 0.3 * box["width"], box["y"] + 40
    page.keyboard.down("Shift")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 150, y + 120, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    pane = page.locator("section.area")
    pane.wait_for()
    rows, sums = pane.locator("tbody tr"), pane.locator(".sums")
    assert "saves" in sums.inner_text() and rows.count() > 0
    drawn = page.locator(".map").get_attribute("data-area")
    by_hand = sums.inner_text()
    pane.get_by_label("First slot").fill("0")
    page.keyboard.press("Enter")
    assert eventually(lambda: sums.inner_text() != by_hand)
    assert page.locator(".map").get_attribute("data-area") != drawn
    pane.get_by_role("button", name="stay", exact=True).click()
    pane.get_by_role("button", name="copy CSV").click()
    csv = (page.locator(".map").get_attribute("data-csv") or "").splitlines()
    assert len(csv) == rows.count() + 1 and csv[0].startswith("tensor,shape,kind,layer,bytes")
    page.keyboard.press("Escape")
    pane.wait_for(state="hidden")
    assert page.locator(".map").get_attribute("data-area") == ""
    page.keyboard.press("a")
    pane.wait_for()
    page.keyboard.press("a")
    pane.wait_for(state="hidden")
    traffic.settle()
    assert traffic.sent == 0, "all of it in the browser"


def test_stays_zoomed_while_stepping(opened: tuple[Page, Traffic]) -> None:
    page, _ = opened
    whole, told = window(page), panel(page)
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert eventually(lambda: window(page)[1] - window(page)[0] < 0.5 * (whole[1] - whole[0]))
    zoomed = window(page)
    page.keyboard.press("ArrowRight")
    assert eventually(lambda: panel(page) != told)
    assert window(page)[1] - window(page)[0] == pytest.approx(zoomed[1] - zoomed[0], rel=1e-3)
    page.keyboard.press("f")
    assert eventually(lambda: window(page) == whole)


def test_home_and_end_jump(opened: tuple[Page, Traffic]) -> None:
    page, _ = opened
    page.keyboard.press("Home")
    assert eventually(lambda: number(page, "move") == 0)
    total = int((page.locator(".total").text_content() or "").removeprefix("of ").replace(",", ""))
    page.keyboard.press("End")
    assert eventually(lambda: number(page, "move") == total - 1)


def test_hover_tells_and_click_selects(opened: tuple[Page, Traffic]) -> None:
    page, _ = opened
    spot = page.locator(".map").evaluate(SOME_STAY)
    page.mouse.move(spot["x"], spot["y"])
    page.wait_for_selector(".card:visible")
    assert "address" in page.locator(".card").inner_text()
    page.mouse.click(spot["x"], spot["y"])
    assert eventually(lambda: number(page, "selected") == spot["group"])
    page.keyboard.press("Escape")
    assert eventually(lambda: number(page, "selected") == -1)


# The middle of the stay that is largest on the screen, asked from the map itself.
SOME_STAY = """element => {
  const map = element.getRootNode().view, bounds = map.top.getBoundingClientRect();
  let best = { area: 0 };
  for (let i = 0; i < map.plan.numStays; i++) {
    const { plan, axes } = map, low = plan.stay_offset[i];
    const high = low + plan.group_granules[plan.stay_group[i]];
    const x0 = axes.xOf(plan.stay_start[i]), x1 = axes.xOf(plan.stay_end[i]);
    const y0 = axes.yOf(high), y1 = axes.yOf(low), area = (x1 - x0) * (y1 - y0);
    if (area > best.area) {
      const x = bounds.left + (x0 + x1) / 2, y = bounds.top + (y0 + y1) / 2;
      best = { area, x, y, group: plan.stay_group[i] };
    }
  }
  return best;
}"""
