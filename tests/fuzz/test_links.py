"""Links may say anything: a page opens something all the same, and touches no file but ours."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.solvers.demonstrations  # noqa: F401  (JAX looks at the machine when it is loaded)
from engine.debugging.move_notes import notes_from_link
from engine.errors import EngineError
from engine.game.moves import PLACE_RULES, RULES_VERSION
from tests.fuzz.hostile import MARKUP, NUMBERS, PATHS, TEXTS
from tests.fuzz.watched import strays
from tests.ui.apps import open_view
from ui.jobs.queue import Workshop
from ui.session import caching, films, links, opening
from ui.session.link_query import game_text, move_of
from ui.session.state import Session

# The first download of a process reads the machine's types of files.
mimetypes.init()

TEACHING = "teach-keep-or-drop"
NAMES = (TEACHING, "teach-prefetch", "teach-loop-hoist", "no such program")
PARAMETERS = (
    "program", "plan", "move", "select", "line", "window", "axis", "colour", "curve", "mode",
    "plans", "diff", "group", "slot", "peak", "free", "notes", "lesson", "tab", "quiz", "game",
)  # fmt: skip
WISHES = st.tuples(
    st.sampled_from(NAMES),
    st.lists(
        st.one_of(
            TEXTS,
            TEXTS.map("{}MiB".format),
            TEXTS.map("{}GBps".format),
            st.sampled_from(["tpu-v5e", "tpu-v4", "tpu-v6e", "0.000000000001GBps", "1048576MiB"]),
        ),
        max_size=3,
    ),
).map(lambda parts: "~".join([parts[0], *parts[1]]))
GAMES = st.fixed_dictionaries(
    {"rules": st.sampled_from([RULES_VERSION, 1]), "place": st.sampled_from([*PLACE_RULES, "x"])},
    optional={
        "moves": st.one_of(TEXTS, st.text("01234", max_size=20)),
        "planned": st.lists(st.lists(st.integers(-2, 2**40), min_size=3, max_size=3), max_size=4),
        "look_back": st.integers(-1, 2**40),
        "max_blocks": st.integers(-1, 8),
    },
).map(game_text)
QUERIES = st.fixed_dictionaries(
    {"program": st.one_of(st.sampled_from(NAMES), WISHES, TEXTS)},
    optional={
        "plan": st.one_of(st.sampled_from(["greedy", "muzero", "best known"]), TEXTS),
        "line": st.one_of(TEXTS, st.from_regex(r"[0-9]{1,3}-[0-4a-z.]{0,20}", fullmatch=True)),
        "game": st.one_of(TEXTS, GAMES),
        "mode": st.one_of(st.sampled_from(["runtimes", "layouts", "time", "peak"]), TEXTS),
        **dict.fromkeys(
            [p for p in PARAMETERS if p not in ("program", "plan", "line", "game")], TEXTS
        ),
    },
)
PAGES = (
    "play",
    "compare",
    "compiler",
    "search",
    "debug",
    "programs",
    "challenges",
    "learn",
    "words",
)
SAID = (MARKUP[0], PATHS[0], PATHS[11], NUMBERS[0], NUMBERS[7])


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_started() -> Iterator[None]:
    """What a link orders stays in the queue: the readers are tried here, not the solvers."""
    workshop = Workshop(at_once=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(caching, "workshop", lambda: workshop)
        yield


def request(query: Mapping[str, str]) -> Session:
    """What all pages do with a link before they draw anything."""
    session = Session()
    opening.open_link(session, query)
    opened = session.open
    if not opened.plans:
        opening._solve_here(opened)
    if (plan := session.plan) is not None:
        links.follow(session, films.line_of(session, plan), query)
        assert links.query(session, plan, films.line_of(session, plan))
    opened.comparison.settle(list(opened.plans))
    assert opened.comparison.to_query()
    move, told = move_of(query, opened.program.num_slots)
    assert move is None or 0 <= move < opened.program.num_slots
    assert "\n" not in told or "\n" in query.get("move", "")
    return session


@given(QUERIES)
def test_a_link_that_says_anything_opens_something(query: dict[str, str]) -> None:
    with strays() as touched:
        session = request(query)
    assert session.program_name in session.programs
    assert 0 <= session.cursor.move < max(1, len(session.open.program.touches) + 1)
    assert not touched


@given(TEXTS)
def test_notes_of_a_link_are_read_or_refused(text: str) -> None:
    try:
        notes_from_link(text)
    except EngineError as error:
        assert len(str(error).splitlines()) == 1


def _page(name: str) -> None:
    from importlib import import_module

    import_module(f"ui.{name}.page").render()


# A push has one text on all pages, and all texts on one page.
@pytest.mark.parametrize(
    ("page", "text"),
    [
        pytest.param(p, t, marks=() if p == PAGES[0] or t == SAID[0] else pytest.mark.nightly)
        for t in SAID
        for p in PAGES
    ],
)
def test_no_page_shows_a_traceback(page: str, text: str) -> None:
    """With a program that there is, so that all other parameters are read."""
    others = {name: text for name in PARAMETERS if name != "program"}
    for program in (TEACHING, f"{TEACHING}~{text}MiB", text):
        with strays() as touched:
            open_view(_page, page, program=program, **others)
        assert not touched
