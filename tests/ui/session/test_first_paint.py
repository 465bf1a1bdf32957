"""The first paint shows what a page is about to open, and nothing that a link smuggles in."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

import pytest

from engine.program import library
from ui.server import Addition, first_paint
from ui.session import pictures
from ui.session.first_paint import body, head
from ui.session.pages import PAGES

LARGE = "bertlarge-v5e-b4-train"


@pytest.mark.parametrize("page", ["play", "search", "debug", "compare", "compiler"])
def test_a_page_of_a_program_begins_with_the_picture_of_the_one_asked_for(page: str) -> None:
    told = body(page, f"move=3&program={LARGE}")
    assert f"Opening {LARGE}" in told and "data:image/svg+xml" in told
    assert 'class="outline"' not in told


def test_the_root_leads_a_link_to_a_program_on_to_play() -> None:
    assert f"Opening {LARGE}" in body("start", f"program={LARGE}")
    assert "Opening" not in body("start", "")


def test_where_the_link_asks_for_no_program_it_is_the_first_one() -> None:
    first = library.index()[0].name
    assert f"Opening {first}" in body("play", "") and f"Opening {first}" in body("compare", "")
    assert "Opening" not in body("debug", ""), "it opens one that has been recorded"


@pytest.mark.parametrize("page", ["learn", "challenges", "programs", "words"])
def test_another_page_begins_with_its_outline(page: str) -> None:
    told = body(page, f"program={LARGE}")
    assert 'class="outline"' in told and "Opening" not in told
    assert PAGES[page][0] in told


def test_a_link_puts_nothing_into_the_page() -> None:
    hostile = "<script>alert(1)</script>"
    for query in (f"program={quote(hostile)}", f"program={hostile}", "%ff%00&&=&program", hostile):
        told = body("play", query)
        assert hostile not in told and escape(hostile) not in told


def test_a_program_without_a_picture_is_not_drawn_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "shipped", dict)
    monkeypatch.setattr(pictures, "draw", lambda name: pytest.fail(f"{name} is drawn"))
    assert 'class="outline"' in body("play", f"program={LARGE}")


def test_scripts_that_come_late_are_asked_for_at_once() -> None:
    assert "PlotlyChart." in head("compare") and "DataFrame." in head("debug")
    assert head("learn") == ""


def test_a_page_that_is_not_there_gets_nothing() -> None:
    assert first_paint("nosuch", "") == Addition()
    assert first_paint("learn", "").body
