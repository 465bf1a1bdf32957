"""Opponents on real programs: from weak to strong, and to be beaten by a few good decisions."""

from __future__ import annotations

import pytest

from engine.game.moves import Rules
from engine.game.reference.game import ReferenceGame
from engine.lessons.opponents import (
    CHANCE,
    COMPILER,
    GREEDY,
    RECORD,
    greedy_end_s,
    greedy_game,
    opponents,
    play_on,
    saved_before,
    weighty_moves,
)
from engine.plan.io import plan_from_json
from engine.program import library
from engine.solvers import solve

NAME = "llamadecode-v6e-b8"
PROGRAM = library.load_sample(NAME)
ENTRY = library.find_sample(NAME)


def test_the_ladder_goes_from_weak_to_strong() -> None:
    compiled = plan_from_json(PROGRAM.provenance["xla_plan"], "xla")
    found = opponents(PROGRAM, compiled, ENTRY.bound_s, ENTRY.best_s)
    limits = [opponent.limit_s for opponent in found]
    assert limits == sorted(limits, reverse=True)
    names = [opponent.name for opponent in found]
    assert names[0] == CHANCE and names[-1] == RECORD and {GREEDY, COMPILER} <= set(names)
    assert any(name.startswith("within") for name in names)
    assert ENTRY.best_s is not None and all(opponent.is_won(ENTRY.best_s) for opponent in found)
    assert not any(opponent.is_won(limits[0]) for opponent in found)


def test_a_record_that_greedy_all_but_reaches_is_no_opponent() -> None:
    """Else greedy would beat it, and be the weaker one."""
    greedy_s = greedy_end_s(ReferenceGame(PROGRAM))
    for share, names in ((0.996, {CHANCE, GREEDY}), (0.99, {CHANCE, GREEDY, RECORD})):
        found = opponents(PROGRAM, None, None, share * greedy_s)
        assert {opponent.name for opponent in found} == names
        assert [opponent.limit_s for opponent in found] == sorted(
            (r.limit_s for r in found), reverse=True
        )


def test_without_a_bound_or_the_compilers_plan_the_rest_is_there() -> None:
    assert {opponent.name for opponent in opponents(PROGRAM, None, None, None)} == {CHANCE, GREEDY}


def test_greedy_plays_what_is_not_the_players() -> None:
    own = weighty_moves(PROGRAM, Rules(), 10)
    assert len(own) == 10
    game = ReferenceGame(PROGRAM)
    least = min(game.moves[m].saving_s for m in own)
    others = [m.saving_s for n, m in enumerate(game.moves) if n not in own]
    assert least >= max(others)
    play_on(game, own)
    assert game.move_index in own and sum(game.legal()) > 1
    play_on(game, frozenset())
    assert game.is_over


def test_the_clock_at_the_start_is_greedys_time() -> None:
    clock = greedy_end_s(ReferenceGame(PROGRAM))
    known = greedy_game(PROGRAM, Rules())
    saved = saved_before(PROGRAM, known)
    assert len(saved) == len(known.actions) + 1
    assert PROGRAM.all_slow_s - saved[-1] == pytest.approx(clock)
    plan = solve("greedy", PROGRAM)
    assert sum(plan.is_fast) > 0
    greedy = next(r for r in opponents(PROGRAM, None, None, None) if r.name == GREEDY)
    assert greedy.limit_s == pytest.approx(clock, rel=1e-6)
