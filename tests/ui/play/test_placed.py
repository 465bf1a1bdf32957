"""Beside a plan that was placed outside the game, map and panel speak of the same addresses."""

import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from engine.game.units import range_text
from engine.plan.simulate import simulate
from tests.ui.apps import session_of
from tests.ui.play_page import first_choice, line_of, opened, panel_text, tell
from ui.components.units import time_text
from ui.model.play.placed import room_text, stay_of
from ui.session.opening import BEST_KNOWN, COMPILED

PROGRAM = "alphatensor-v5e-b16"


@pytest.fixture
def at():  # type: ignore[no-untyped-def]
    """The best plan of a program, whose replay as moves has other addresses in places."""
    page = opened(PROGRAM, plan=BEST_KNOWN, move="1")
    assert not line_of(page).film.is_exact
    return page


def shifted_move(at) -> int:  # type: ignore[no-untyped-def]
    """A move whose tensor stands elsewhere in the game than in the plan."""
    session, line = session_of(at), line_of(at)
    assert session.plan is not None
    for number, move in enumerate(line.game_at(0).moves):
        stay = stay_of(session.plan.plan, move.group, move.time)
        if stay is None or move.is_sink:
            continue
        block = line.game_at(number + 1).state.live.get(move.group)
        granule = session.open.program.hardware.alignment
        if block is not None and block.offset * granule != stay.offset:
            return number
    raise AssertionError("the replay has the addresses of the plan")


def test_the_card_has_the_address_that_the_map_shows(at) -> None:  # type: ignore[no-untyped-def]
    number = shifted_move(at)
    session, line = session_of(at), line_of(at)
    tell(at, number)
    move = line.game_at(0).moves[number]
    assert session.plan is not None
    stay = stay_of(session.plan.plan, move.group, move.time)
    assert stay is not None
    size = session.open.program.groups[move.group].size_bytes
    cards = re.findall(r'<(?:button|div) class="choice.*?</(?:button|div)>', panel_text(at))
    assert len(cards) == 3
    intervals = [text for card in cards for text in re.findall(r"\[[^\[\]]+\)", card)]
    assert intervals == [range_text(stay.offset, stay.offset + size)]
    assert room_text(session.open.program, session.plan.plan, move.time) in panel_text(at)


def test_what_forbids_an_action_is_shown_where_the_game_has_it(at) -> None:  # type: ignore[no-untyped-def]
    session, line = session_of(at), line_of(at)
    number, action = next(
        (number, action)
        for number in range(line.film.num_moves)
        for action in range(3)
        if not line.game_at(number).legal()[action]
    )
    tell(at, number, do="ask", action=action)
    assert session.is_as_moves, "the map shows the plan as moves, to which the answer belongs"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0, 512, "[0 B, 512 B)"),
        (79 * 2**20, 128 * 2**20, "[79 MiB, 128 MiB)"),
        (16 * 2**20, 16 * 2**20 + 512, "[16 MiB, 16.0005 MiB)"),
        (0, 512 * 2**10, "[0 B, 512 KiB)"),
    ],
)
def test_no_interval_looks_empty(low: int, high: int, text: str) -> None:
    assert range_text(low, high) == text


SLOWER = "gatedkernel-v6e-b32"
"""Its compiled plan takes 3 % longer than the game that follows it."""


def runtimes(at: AppTest) -> tuple[str, str]:
    """Of the plan itself, and of the game that follows it."""
    session, film = session_of(at), line_of(at).film
    assert session.plan is not None
    plans = (session.plan.plan, film.plan)
    itself, as_moves = (time_text(simulate(session.open.program, p).latency_s) for p in plans)
    assert itself != as_moves
    return itself, as_moves


def test_the_figures_are_of_the_plan_on_the_map_and_the_panel_has_both() -> None:
    at = opened(SLOWER, plan=COMPILED, move="1")
    itself, as_moves = runtimes(at)
    for shown in (itself, as_moves):
        assert f"<b>{shown}</b>" in header(at)
        assert itself in turn(at) and as_moves in turn(at)
        tell(at, 0, do="as_moves")


def test_what_is_measured_against_the_game_says_so() -> None:
    at = opened(SLOWER, plan=COMPILED, move="1")
    _, as_moves = runtimes(at)
    move, action = first_choice(at)
    tell(at, move, do="evict", for_ever=0)
    assert f"instead of {as_moves} as moves" in turn(at)
    tell(at, move, do="play", action=action)
    assert f"than the plan as moves ({as_moves})" in turn(at)
    sent = json.loads(at.get("bidi_component")[-1].proto.json)
    assert sent["tree"]["as_moves"]


def test_no_game_is_shown_in_place_of_another_programs_plan() -> None:
    at = opened(SLOWER, plan=COMPILED, move="1")
    tell(at, 0, do="as_moves")
    at.selectbox[0].set_value(PROGRAM).run()
    assert not session_of(at).is_as_moves


def test_after_the_questions_the_plan_itself_is_shown() -> None:
    at = opened(SLOWER, plan=COMPILED, move="1")
    tell(at, 0, do="quiz", to="begin")
    assert session_of(at).is_as_moves
    tell(at, 0, do="quiz", to="end")
    assert not session_of(at).is_as_moves


def turn(at: AppTest) -> str:
    """The panel beside the map."""
    return next(e.proto.body for e in at.get("html") if 'class="turn"' in e.proto.body)


def header(at: AppTest) -> str:
    """The figures above the map."""
    found = [e.proto.body for e in at.get("html") if 'class="figures"' in e.proto.body]
    return found[-1]
