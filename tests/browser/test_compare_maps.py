"""Compare and Programs in a real browser: linked maps, picking, links, upload, cancel, themes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, TimeoutError, ViewportSize, expect

from tests.browser import pages
from tests.browser.pages import (
    PATIENCE_MS,
    Traffic,
    address,
    assert_no_error,
    colours,
    dark,
    eventually,
    wait_for_map,
)
from ui.screenshots import SIZE, settle

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

PAIR = "program=alexnet-v4-b24&plans=xla_compiled,greedy&mode=layouts"
TALL: ViewportSize = {"width": 1280, "height": 1200}


def new_page(browser: Browser, size: ViewportSize = SIZE) -> Page:
    """A page that bears with a busy machine."""
    page = browser.new_page(viewport=size)
    page.set_default_timeout(PATIENCE_MS)
    return page


@pytest.fixture(scope="module")
def opened(browser: Browser, server: str) -> Iterator[tuple[Page, Traffic]]:
    page = new_page(browser, TALL)
    traffic = Traffic(page)
    page.goto(f"{server}/compare?{PAIR}")
    try:
        page.wait_for_selector('.sheet .grid[data-count="2"] canvas', timeout=PATIENCE_MS)
    except TimeoutError:
        told = page.locator(".stMainBlockContainer").inner_text()
        pytest.fail(f"no two maps at {address(page)}, but: {told}")
    page.wait_for_selector("text=First divergence", timeout=PATIENCE_MS)
    traffic.settle()
    yield page, traffic
    page.close()


@pytest.fixture
def page(opened: tuple[Page, Traffic]) -> Page:
    return opened[0]


def window(page: Page) -> list[float]:
    return pages.window(page.locator(".sheet"))


@pytest.mark.nightly
def test_both_plans_are_drawn_in_both_themes(page: Page) -> None:
    assert_are_drawn(page)
    assert page.locator(".sheet h4 b").all_inner_texts() == ["xla_compiled", "greedy"]
    with dark(page):
        assert_are_drawn(page)


def assert_are_drawn(page: Page) -> None:
    canvases = page.locator(".sheet canvas")
    assert eventually(lambda: canvases.count() == 2)
    for number in range(2):
        assert colours(canvases.nth(number)) > 5
    assert_no_error(page)


def test_zoom_and_cursor_are_shared_and_send_nothing(opened: tuple[Page, Traffic]) -> None:
    page, traffic = opened
    before = [page.locator(".sheet canvas").nth(n).evaluate("c => c.toDataURL()") for n in range(2)]
    whole = window(page)
    traffic.reset()
    box = page.locator(".sheet canvas").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    assert eventually(lambda: window(page)[1] - window(page)[0] < whole[1] - whole[0])
    for number, picture in enumerate(before):
        canvas = page.locator(".sheet canvas").nth(number)
        assert eventually(lambda c=canvas, p=picture: c.evaluate("c => c.toDataURL()") != p)
    assert int(page.locator(".sheet").get_attribute("data-slot") or "-1") >= 0
    page.locator('.sheet [data-unit="seconds"]').click()
    page.locator('.sheet [data-do="fit"]').click()
    page.locator('.sheet [data-unit="slots"]').click()
    assert eventually(lambda: window(page) == whole)
    traffic.settle()
    assert traffic.sent == 0


# The middle of the largest stay of the first panel.
SOME_STAY = """element => {
  const sheet = element.getRootNode().view;
  const panel = sheet.panels[0], bounds = panel.canvas.getBoundingClientRect();
  let best = { area: 0 };
  for (let i = 0; i < panel.plan.stay_group.length; i++) {
    const [x, y, width, height] = panel.box(i);
    if (width * height > best.area) best = {
      area: width * height, x: bounds.left + x + width / 2, y: bounds.top + y + height / 2,
      group: panel.plan.stay_group[i],
    };
  }
  return best;
}"""


def test_a_picked_tensor_leads_to_its_move(page: Page) -> None:
    spot = page.locator(".sheet").evaluate(SOME_STAY)
    page.mouse.click(spot["x"], spot["y"])
    assert eventually(
        lambda: page.locator(".sheet").get_attribute("data-group") == str(spot["group"])
    )
    page.wait_for_selector("text=is selected. Open it on the map", timeout=PATIENCE_MS)
    assert "MiB" in page.locator(".sheet .sentence").inner_text()
    page.locator('[class*="st-key-picked_1"] button').first.click()
    wait_for_map(page)
    expect(page.locator(".map")).to_have_attribute(
        "data-selected", str(spot["group"]), timeout=PATIENCE_MS
    )
    assert "plan=greedy" in address(page)
    page.get_by_role("link", name="Compare").click()
    page.wait_for_selector('.sheet .grid[data-count="2"] canvas', timeout=PATIENCE_MS)


def test_the_diff_fades_what_is_the_same(page: Page) -> None:
    canvas = page.locator(".sheet canvas").first
    before = canvas.evaluate("c => c.toDataURL()")
    page.get_by_text("Only what differs").click()
    expect(page.locator(".sheet")).to_have_attribute("data-diff", "true", timeout=PATIENCE_MS)
    assert eventually(lambda: canvas.evaluate("c => c.toDataURL()") != before)
    assert eventually(lambda: "diff=1" in address(page))
    assert "only here" in page.locator(".sheet .legend").inner_text()


def _shows_times(page: Page) -> bool:
    """Ask for the times; while a run begins, the page may redraw under a click and lose it.

    The heading depends on whether a second plan was there by then to compare with.
    """
    page.get_by_role("radio", name="Where the time goes").click()
    page.wait_for_timeout(500)
    heading = re.compile("Time per instruction|What each instruction takes more")
    return page.get_by_text(heading).count() > 0


@pytest.mark.nightly
def test_a_long_run_can_be_cancelled(browser: Browser, server: str) -> None:
    page = new_page(browser)
    page.goto(f"{server}/compare?program=alexnet-v4-b24&mode=runtimes")
    page.get_by_test_id("stButtonGroup").first.wait_for(timeout=PATIENCE_MS)
    for name in ("xla_like", "greedy", "random"):
        page.get_by_role("button", name=name, exact=True).click()
    slider = page.get_by_role("slider").first
    slider.focus()
    slider.press("End")
    settle(page)
    page.get_by_role("button", name="Run").click()
    stop = page.locator('[class*="st-key-stop_"] button').last
    stop.wait_for(timeout=PATIENCE_MS)
    assert page.get_by_text("random", exact=False).count() > 0
    assert eventually(lambda: _shows_times(page))
    stop.click()
    page.wait_for_selector('[class*="st-key-stop_"]', state="detached", timeout=PATIENCE_MS)
    assert_no_error(page)
    page.close()


@pytest.mark.nightly
def test_an_upload_opens_and_a_bad_one_says_why(
    browser: Browser, server: str, tmp_path: Path
) -> None:
    bad, good = tmp_path / "bad.65536.csv", tmp_path / "good.65536.csv"
    bad.write_text("id,lower,upper,size\na,4,4,1\n")
    good.write_text("id,lower,upper,size\na,0,4,4096\nb,2,6,8192\n")
    page = new_page(browser)
    page.goto(f"{server}/programs")
    page.wait_for_selector(".card", timeout=PATIENCE_MS)
    settle(page)
    page.get_by_text("Open a file of your own").click()
    chooser = page.locator('[data-testid="stFileUploader"] input[type="file"]')
    open_button = page.locator('[class*="st-key-open_files"] button')
    chooser.set_input_files(bad, timeout=PATIENCE_MS)
    expect(open_button).to_be_enabled(timeout=PATIENCE_MS)
    open_button.click()
    alert = page.locator('[data-testid="stAlert"]')
    alert.wait_for(timeout=PATIENCE_MS)
    assert "bad.65536.csv, line 2" in alert.inner_text()
    page.get_by_role("button", name="Remove bad.65536.csv").click()
    expect(open_button).to_be_disabled(timeout=PATIENCE_MS)
    chooser.set_input_files(good)
    expect(open_button).to_be_enabled(timeout=PATIENCE_MS)
    open_button.click()
    page.locator('[class*="st-key-yours_play_good"] button').click(timeout=PATIENCE_MS)
    wait_for_map(page)
    assert re.search("program=good", address(page))
    page.reload()
    wait_for_map(page)
    assert re.search("program=good", address(page)), "it is kept"
    page.get_by_role("link", name="Programs").first.click()
    page.get_by_role("button", name="Remove", exact=True).click(timeout=PATIENCE_MS)
    page.locator('[class*="st-key-yours_remove_good"] button').click(timeout=PATIENCE_MS)
    expect(page.locator('[class*="st-key-yours_play_good"]')).to_have_count(0, timeout=PATIENCE_MS)
    page.close()


def test_search_narrows_the_gallery(browser: Browser, server: str) -> None:
    page = new_page(browser)
    page.goto(f"{server}/programs")
    page.wait_for_selector(".card", timeout=PATIENCE_MS)
    # Until then the cards come one by one, not in their order; that the script runs is shown late.
    settle(page)
    top = page.locator(".card").first.bounding_box()
    settle(page)
    assert page.locator(".card").first.bounding_box() == top, "nothing jumps"
    assert page.locator(".card img").first.evaluate("i => i.complete && i.naturalWidth") > 0
    everything = page.locator(".card").count()
    page.get_by_role("textbox", name="Search").fill("bert")
    page.keyboard.press("Enter")
    assert eventually(lambda: 0 < page.locator(".card").count() < everything)
    settle(page)
    assert page.locator(".card").first.bounding_box() == top
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZE["width"]
    page.close()


# Boxes of what is written on charts, and of the camera that floats over them: left, top, right,
# bottom.
BOXES = """selector => [...document.querySelectorAll(selector)].map(e => {
  const { left, top, right, bottom } = e.getBoundingClientRect();
  return [left, top, right, bottom];
})"""


def test_the_camera_covers_no_label_and_every_solver_is_seen(browser: Browser, server: str) -> None:
    page = new_page(browser)
    page.goto(f"{server}/compare?program=alexnet-v4-b24&plans=xla_compiled,greedy&mode=runtimes")
    page.wait_for_selector(".js-plotly-plot .annotation", timeout=PATIENCE_MS)
    settle(page)
    page.locator(".js-plotly-plot").first.hover()
    (camera,) = page.evaluate(BOXES, ".modebar")
    labels = page.evaluate(BOXES, ".js-plotly-plot .annotation, .js-plotly-plot .legendtext")
    assert labels
    for label in labels:
        is_beside = label[2] <= camera[0] or label[0] >= camera[2]
        assert is_beside or label[3] <= camera[1] or label[1] >= camera[3]
    ((_, _, edge, _),) = page.evaluate(BOXES, ".st-key-solvers")
    pills = page.evaluate(BOXES, ".st-key-solvers [role] button, .st-key-solvers button[kind]")
    assert len(pills) > 8
    assert max(pill[2] for pill in pills) <= edge + 1
    page.close()


@pytest.mark.nightly
def test_plans_that_were_made_survive_a_reload(browser: Browser, server: str) -> None:
    context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{server}/compare?program=teach-fragmentation&plans=greedy,random&mode=runtimes")
    page.wait_for_selector(".js-plotly-plot >> text=random", timeout=PATIENCE_MS)
    page.goto(f"{server}/play?program=teach-fragmentation")
    wait_for_map(page)
    page.get_by_role("combobox", name="Plan").click()
    page.get_by_role("option", name="random").wait_for(timeout=PATIENCE_MS)
    context.close()


def test_a_layer_opens_and_the_roofline_is_drawn(browser: Browser, server: str) -> None:
    page = new_page(browser)
    page.goto(f"{server}/compare?program=resnet50-v5e-b64&plans=xla_compiled&mode=layers")
    slices = page.locator(".icicle .slice")
    slices.first.wait_for(timeout=PATIENCE_MS)
    settle(page)
    names = page.locator(".icicle .slicetext")
    assert any("conv3" in text for text in names.all_text_contents())
    before = slices.count()
    names.filter(has_text="conv3").first.click(force=True)
    assert eventually(lambda: page.locator(".icicle .pathbar").count() > 0)
    assert eventually(lambda: 0 < slices.count() < before), "only that layer is shown"
    page.get_by_role("button", name="Roofline").or_(
        page.get_by_role("radio", name="Roofline")
    ).first.click()
    assert eventually(lambda: page.locator(".scatterlayer .point").count() > 100)
    assert eventually(lambda: "mode=roofline" in address(page))
    assert_no_error(page)
    page.close()
