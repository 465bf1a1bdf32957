"""Forced actions: what comes of them is what the simulator says of the whole game, exactly."""

from __future__ import annotations

import random

import pytest

from engine.debugging.counterfactual import AS_PLAYED, GREEDY, LOCAL, Counterfactual, Forcing
from engine.errors import UsageError
from engine.game.moves import DROP, NUM_ACTIONS, Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program.library import load_sample
from engine.program.model import Program
from tests.strategies import random_program

RULES = Rules()


def random_actions(program: Program, seed: int) -> list[int]:
    chance, game = random.Random(seed), ReferenceGame(program)
    while not game.is_over:
        game.step(chance.choice(game.legal_actions()))
    return game.actions


def replayed_s(program: Program, actions: tuple[int, ...]) -> float:
    game = ReferenceGame(program, RULES)
    for action in actions:
        game.step(action)
    return simulate(program, game.plan("again")).latency_s


@pytest.mark.parametrize("seed", range(3))
def test_every_answer_equals_a_full_replay_by_the_simulator(seed: int) -> None:
    program = random_program(seed, 12)
    actions = random_actions(program, seed)
    forcing = Forcing(program, actions, RULES)
    assert forcing.original_s == replayed_s(program, tuple(actions))
    game, asked = ReferenceGame(program, RULES), 0
    for move, action in enumerate(actions):
        for other in game.legal_actions():
            for name in (AS_PLAYED, GREEDY):
                found = forcing.play(move, other, name)
                assert found.actions is not None
                assert found.actions[: move + 1] == (*actions[:move], other)
                assert found.latency_s == replayed_s(program, found.actions)
                assert found.original_s == forcing.original_s
                assert check(program, found.plan) is None
                asked += 1
        if game.legal()[action]:
            assert forcing.play(move, action, AS_PLAYED).change_us == 0
        game.step(action)
    assert asked > len(actions)


def test_greedy_goes_on_greedily() -> None:
    program = load_sample("alexnet-v4-b24")
    forcing = Forcing(program, random_actions(program, 1), RULES)
    found = forcing.play(0, DROP, GREEDY)
    game = ReferenceGame(program, RULES)
    game.step(DROP)
    while not game.is_over:
        game.step(best_action(game))
    assert found.actions == tuple(game.actions)


def test_somebody_elses_game_is_judged_alike_and_must_obey() -> None:
    program = load_sample("alexnet-v4-b24")
    actions = random_actions(program, 1)
    forcing, at = Forcing(program, actions, RULES), actions.index(DROP)
    own = forcing.play(at, DROP, GREEDY)
    assert own.actions is not None
    again = forcing.played(own.actions, at, "search")
    assert (again.latency_s, again.continuation) == (own.latency_s, "search")
    assert forcing.begun(at, DROP) == (*actions[:at], DROP)
    other = [a for a in range(NUM_ACTIONS) if a != own.actions[0]]
    with pytest.raises(UsageError, match=f"leaves the original before move {at + 1}"):
        forcing.played((other[0], *own.actions[1:]), at, "search")


def test_what_is_not_a_move_of_the_game_is_refused() -> None:
    program = load_sample("alexnet-v4-b24")
    actions = random_actions(program, 1)
    forcing, game = Forcing(program, actions, RULES), ReferenceGame(program)
    while all(game.legal()):
        game.step(actions[game.move_index])
    at, refused = game.move_index, game.legal().index(False)
    with pytest.raises(UsageError, match=f"is illegal at move {at + 1}"):
        forcing.play(at, refused, GREEDY)
    with pytest.raises(UsageError, match="9 is illegal at move 1"):
        forcing.play(0, 9, GREEDY)
    with pytest.raises(UsageError, match=r"the game has the moves 1 to"):
        forcing.play(len(actions), DROP, GREEDY)
    with pytest.raises(UsageError, match="does not go on by itself"):
        forcing.play(0, DROP, LOCAL)
    with pytest.raises(UsageError, match=r"the game has 3 actions"):
        Forcing(program, actions[:3], RULES)


def test_local_begins_with_the_forced_game_and_says_whether_it_kept_the_action() -> None:
    program = load_sample("alexnet-v4-b24")
    game = ReferenceGame(program)
    while not game.is_over:
        game.step(best_action(game))
    forcing = Forcing(program, game.actions, RULES)
    costly = max(
        (m for m, a in enumerate(game.actions) if a != DROP),
        key=lambda m: _drop(forcing, m),
    )
    found: Counterfactual = forcing.by_local(costly, DROP, 0.5, lambda share, word: True)
    assert check(program, found.plan) is None
    assert found.latency_s == simulate(program, found.plan).latency_s
    assert found.latency_s <= forcing.play(costly, DROP, AS_PLAYED).latency_s
    # What a Drop loses here, the whole plan can only get back by undoing it.
    assert not found.keeps_action
    assert found.actions is None


def _drop(forcing: Forcing, move: int) -> float:
    try:
        return forcing.play(move, DROP, AS_PLAYED).change_us
    except UsageError:
        return 0.0
