"""Beside a plan that was placed outside the game, map and panel speak of the same addresses."""

import re

import pytest

from engine.game.units import range_text
from tests.ui.apps import session_of
from tests.ui.play_page import line_of, opened, panel_text, tell
from ui.model.play.placed import room_text, stay_of
from ui.session.opening import BEST_KNOWN

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
