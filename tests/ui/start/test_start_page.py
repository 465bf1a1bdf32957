"""The start page: one sentence, three doors that lead somewhere, real programs, the way back."""

from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.program import library
from engine.program.proof import gap
from engine.solvers import solve
from tests.ui.apps import SECONDS
from ui.components.markdown import plain
from ui.model.programs.catalogue import family
from ui.model.start.toy import telling
from ui.session import caching, links, opening
from ui.session.last_view import View

APP = Path(__file__).resolve().parents[3] / "ui" / "app.py"


def start() -> AppTest:
    at = AppTest.from_file(str(APP), default_timeout=SECONDS).run()
    assert not at.exception
    return at


def test_the_app_opens_on_what_it_is() -> None:
    at = start()
    assert "fast memory" in at.header[0].value
    assert at.markdown[0].value.count(".") == 1, "one sentence"
    keys = [b.key for b in at.button]
    assert {"door_learn", "door_explore", "door_debug"} <= set(keys)
    assert "continue" not in keys, "nobody was anywhere yet"
    assert not at.session_state["explorer"].program_name, "no program is opened unasked"


@pytest.mark.parametrize(
    ("door", "sign"),
    [("learn", "next_lesson"), ("explore", "card_play_"), ("debug", "open_trace")],
)
@pytest.mark.usefixtures("idle_workshop")
def test_every_door_leads_somewhere(door: str, sign: str) -> None:
    at = start()
    at.button(key=f"door_{door}").click().run()
    assert not at.exception and not at.error
    html = " ".join(element.proto.body for element in at.get("html"))
    assert sign in html + " ".join(b.key or "" for b in at.button)


def test_the_title_of_a_page_says_which_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    titles: list[str] = []
    monkeypatch.setattr(st, "set_page_config", lambda page_title, **_: titles.append(page_title))
    start().button(key="door_learn").click().run()
    first, last = titles[0].split(" · "), titles[-1].split(" · ")
    assert (first[0], last[0]) == ("Start", "Learn")
    assert first[1:] == last[1:]


def test_the_way_back() -> None:
    at = start()
    visitor = at.session_state["explorer"].identity
    query = {"program": "teach-loop-carry", "plan": "greedy", "move": "3"}
    caching.last_views().put(visitor, View("play", query))
    at.run()
    button = at.button(key="continue")
    assert "teach-loop-carry" in button.label and "move 3" in button.label
    button.click().run()
    assert not at.exception
    session = at.session_state["explorer"]
    assert (session.program_name, session.cursor.move) == ("teach-loop-carry", 2)


def test_there_is_no_way_back_to_what_was_removed() -> None:
    at = start()
    session = at.session_state["explorer"]
    brought = replace(library.load_sample("teach-prefetch"), name="my *own*")
    opening.add_program(session, brought.name, brought)
    half = f"{brought.name}~1GBps"
    opening.open_named(session, half)
    for name in (brought.name, half):
        opening.open_named(session, name)
        caching.last_views().put(session.identity, View("play", links.address(session)))
        at.run()
        assert at.button(key="continue").label == f"Continue: {plain(name)}"
    opening.open_named(session, brought.name)
    caching.last_views().put(session.identity, View("play", links.address(session)))
    opening.remove(session, brought.name)
    at.run()
    assert "continue" not in [b.key for b in at.button]


@pytest.mark.parametrize("page", ["play", "debug", "challenges"])
def test_the_way_back_leaves_what_other_pages_show(page: str) -> None:
    at = start()
    session = at.session_state["explorer"]
    opening.open_named(session, "teach-loop-carry")
    session.open.comparison.hold("greedy", "random")
    session.open.comparison.is_diff = True
    session.open.comparison.select(1, 2)
    for name in ("random", "greedy"):
        session.open.add_plan(name, solve(name, session.open.program))
    session.show_plan("greedy")
    query = {"program": "teach-loop-carry"} | ({"plan": "greedy"} if page == "play" else {})
    caching.last_views().put(session.identity, View(page, query))
    at.run()
    at.button(key="continue").click().run()
    assert not at.exception
    assert (session.program_name, session.plan_name) == ("teach-loop-carry", "greedy")
    comparison = session.open.comparison
    assert (comparison.is_diff, comparison.group, comparison.slot) == (True, 1, 2)
    assert comparison.plans == ["greedy", "random"] and not comparison.expected


def test_three_real_programs_on_which_plans_differ() -> None:
    entries = library.index()
    found = telling(entries)
    assert len(found) == len({family(e) for e in found}) == 3
    for entry in found:
        xla = gap(entry.xla_latency_s, entry.bound_s)
        best = gap(entry.best_s, entry.bound_s)
        assert xla is not None and best is not None and xla > best


def test_large_programs_are_not_for_a_first_look() -> None:
    larger = replace(telling(library.index())[0], name="larger", touches=9000, xla_latency_s=1.0)
    assert larger.bound_s is not None and larger.bound_s < 1.0
    assert telling((larger, *library.index())) == telling(library.index())


def test_a_card_opens_the_best_plan() -> None:
    at = start()
    entry = next(e for e in telling(library.index()) if e.best_plan)
    at.button(key=f"start_best_{entry.name}").click().run()
    assert not at.exception
    session = at.session_state["explorer"]
    assert (session.program_name, session.plan_name) == (entry.name, "best known")


def test_the_way_back_leads_to_that_program_though_another_is_open_by_now() -> None:
    at = start()
    session = at.session_state["explorer"]
    opening.open_named(session, "teach-prefetch")
    query = {"program": "teach-loop-carry", "plan": "greedy", "move": "3", "select": "1"}
    caching.last_views().put(session.identity, View("play", query))
    session.is_restored = True
    at.run()
    at.button(key="continue").click().run()
    assert not at.exception
    assert (session.program_name, session.plan_name) == ("teach-loop-carry", "greedy")
    assert (session.cursor.move, session.cursor.selected) == (2, 1)
