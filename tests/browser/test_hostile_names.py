"""Names in a file that a visitor brings are shown, never obeyed: in the page, its canvases' texts
and the pictures made of them."""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page

from engine.program.io import to_json
from tests.browser.pages import PATIENCE_MS, assert_no_error, eventually, wait_for_map
from tests.ui.builders import LINKS, MARKDOWN, MARKUP, first_fit_plan, hostile_program
from tests.ui.network import residual_network
from ui.components.map_svg import picture, thumbnail
from ui.screenshots import SIZE


def assert_nothing_struck(page: Page) -> None:
    assert page.evaluate("window.struck ?? 0") == 0
    links = 'a[href*="struck"], a[href*="evil"]'
    obeyed = page.locator(f'img[src="x"], {links}, .katex, .stMarkdownColoredText')
    assert obeyed.count() == 0
    assert_no_error(page)


@pytest.mark.nightly
@pytest.mark.browser
def test_names_in_an_upload_are_only_shown(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    page.goto(f"{server}/programs")
    page.get_by_text("Open a file of your own").click(timeout=PATIENCE_MS)
    body = json.dumps(to_json(hostile_program())).encode()
    file = {"name": f"{MARKUP}.json", "mimeType": "application/json", "buffer": body}
    page.locator('input[type="file"]').first.set_input_files(file)  # type: ignore[arg-type]
    page.locator(".st-key-open_files button:enabled").click(timeout=PATIENCE_MS)
    page.wait_for_selector("text=Yours", timeout=PATIENCE_MS)
    assert_nothing_struck(page)
    page.locator('[class*="st-key-yours_play_"] button').click(timeout=PATIENCE_MS)
    wait_for_map(page)
    assert_nothing_struck(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("/")
    page.keyboard.type("img")
    assert eventually(lambda: MARKUP[:8] in page.locator("body").inner_text())
    page.keyboard.press("Escape")
    assert_nothing_struck(page)
    page.get_by_role("link", name="Compare").first.click()
    page.get_by_role("radio", name="Peak").click(timeout=PATIENCE_MS)
    page.wait_for_selector("text=largest gap", timeout=PATIENCE_MS)
    assert_nothing_struck(page)
    page.get_by_role("link", name="Programs").first.click()
    page.wait_for_selector("text=Yours", timeout=PATIENCE_MS)
    assert_nothing_struck(page)
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"program": MARKUP}, "![](x)"),
        (dict.fromkeys(("move", "axis"), MARKDOWN), "![](x)"),
        ({"program": LINKS}, "evil.test"),
    ],
)
def test_what_a_link_says_is_only_shown(
    browser: Browser, server: str, query: dict[str, str], shown: str
) -> None:
    page = browser.new_page(viewport=SIZE)
    page.goto(f"{server}/play?{urlencode({'program': 'teach-prefetch', **query})}")
    warning = page.get_by_text(shown, exact=False).first
    warning.wait_for(timeout=PATIENCE_MS)
    assert_nothing_struck(page)
    page.close()


def test_pictures_hold_names_as_texts() -> None:
    program = hostile_program()
    plan = first_fit_plan(program)
    whole = picture(program, plan, MARKUP, 1e-3)
    for drawn in (whole, thumbnail(program, plan)):
        tags = {element.tag.split("}")[-1] for element in ElementTree.fromstring(drawn).iter()}
        assert tags <= {"svg", "title", "rect", "path", "text", "g", "line", "style"}
    assert "&lt;img" in whole


def test_a_picture_is_xml_whatever_signs_its_names_have() -> None:
    program, odd = residual_network(), "\x01\b\x1f\ufffe\ud800"
    values = tuple(replace(v, name=f"{odd}{v.name}") for v in program.values)
    program = replace(program, name=odd, values=values)
    plan = first_fit_plan(program)
    for drawn in (picture(program, plan, odd, 1e-3), thumbnail(program, plan)):
        ElementTree.fromstring(drawn)
