"""Compiler in a browser: the options reach the clipboard, by mouse and by keyboard."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Browser, expect

from engine.compiler.steering.export import SORT_ORDER
from ui.screenshots import READY, SIZE, settle

pytestmark = pytest.mark.browser


def test_options_are_copied_whole(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=SIZE)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{server}/compiler?program=t5-v5e-b24")
    page.wait_for_selector(READY["compiler"], timeout=600_000)
    settle(page)
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    lines = page.evaluate("navigator.clipboard.readText()")
    assert SORT_ORDER in lines
    assert lines.endswith("compile(compiler_options=options)")
    page.get_by_role("tab", name="JSON").click()
    button = page.get_by_role("tabpanel", name="JSON").get_by_role("button")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_text("Copied")
    assert SORT_ORDER in json.loads(page.evaluate("navigator.clipboard.readText()"))
    page.close()
