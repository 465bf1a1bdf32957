"""Decisive moves: whoever plays them as the strong game does, and greedily elsewhere, leads."""

from __future__ import annotations

import pytest

from engine.game.moves import Rules
from engine.lessons.mining import lead, pivotal_moves, strong_at
from engine.lessons.opponents import greedy_game, recorded
from engine.lessons.positions import read_positions
from engine.program import library
from tests.chosen import chosen

PIVOTAL = {mined.program: mined for mined in read_positions() if mined.pivotal}


def test_several_programs_can_be_won() -> None:
    assert len(PIVOTAL) >= 12
    assert len(PIVOTAL) == sum(bool(mined.pivotal) for mined in read_positions())


@pytest.mark.parametrize("name", chosen(PIVOTAL))
def test_the_moves_that_ship_beat_greedy_and_none_is_idle(name: str) -> None:
    mined, program = PIVOTAL[name], library.load_sample(name)
    strong = mined.strong(program)
    greedy = max(greedy_game(program, rules).total for rules in (mined.rules, Rules()))
    wanted = greedy + (strong.total - greedy) / 2
    assert strong_at(program, mined.rules, strong, mined.pivotal).total_reward >= wanted
    assert wanted > greedy
    assert lead(program, mined.rules, strong) == pytest.approx(mined.lead, abs=1e-6)
    for move in mined.pivotal:
        without = strong_at(program, mined.rules, strong, set(mined.pivotal) - {move})
        assert without.total_reward < wanted, f"{move} is idle"


def test_without_a_lead_nothing_is_pivotal() -> None:
    program, rules = library.load_sample("teach-fragmentation"), Rules()
    assert pivotal_moves(program, rules, greedy_game(program, rules)) == ()


def test_a_lead_over_greedy_under_odd_rules_alone_is_none() -> None:
    """Under the strong game's place rule greedy may do worse than the opponent, who has the usual
    one.
    """
    program, rules = library.load_sample("lstm-v5e-b64-train"), Rules(place="two_ended")
    usual = greedy_game(program, Rules())
    likewise = recorded(program, rules, strong_at(program, rules, usual, ()).actions)
    assert likewise.total < usual.total
    assert lead(program, rules, likewise) < 0
    assert pivotal_moves(program, rules, likewise) == ()


def test_at_all_moves_it_is_the_strong_game() -> None:
    mined = min(PIVOTAL.values(), key=lambda m: len(m.game))
    program = library.load_sample(mined.program)
    strong = mined.strong(program)
    game = strong_at(program, mined.rules, strong, range(len(strong.actions)))
    assert tuple(game.actions) == strong.actions
    assert pivotal_moves(program, mined.rules, strong) == mined.pivotal
