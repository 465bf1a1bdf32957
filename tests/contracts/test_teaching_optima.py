"""The optimum of each teaching program, by playing every sequence of moves."""

from __future__ import annotations

import pytest

from engine.game.reference.game import ReferenceGame
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library

NAMES = [e.name for e in library.index() if e.best_solver == "exhaustive"]


def best_game(game: ReferenceGame) -> ReferenceGame:
    """The game with the highest return among all that go on from here."""
    if game.is_over:
        return game
    ends = []
    for action, is_legal in enumerate(game.legal()):
        if is_legal:
            following = game.clone()
            following.step(action)
            ends.append(best_game(following))
    return max(ends, key=lambda end: end.total_reward)


def test_there_are_five() -> None:
    assert len(NAMES) == 5


@pytest.mark.parametrize("name", NAMES)
def test_brute_force_confirms_the_known_optimum(name: str) -> None:
    program = library.load_sample(name)
    game = best_game(ReferenceGame(program))
    plan = game.plan("exhaustive")
    assert check(program, plan) is None
    latency = simulate(program, plan).latency_s
    assert latency == pytest.approx(library.find_sample(name).best_s, rel=1e-6)
    assert lower_bound(program).bound_s <= latency * (1 + 1e-9)
