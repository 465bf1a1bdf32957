"""The JAX environment against the plain game, with games side by side and actions of any kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np
import pytest

from engine.errors import ConfigError, UsageError
from engine.game.environment import Environment, EnvState
from engine.game.moves import NO_COPY, NUM_ACTIONS, Rules
from engine.game.notes import noted_actions
from engine.game.observation.layout import NUM_OUTLOOK, PARTS
from engine.game.reference.game import ReferenceGame
from engine.hardware.what_if import WhatIf, derive
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program.model import Program
from tests.strategies import random_program

Step = Callable[[EnvState, np.ndarray], EnvState]
SEED = 9
GAMES = 16
AFTER = 3
"""Steps after the end of the games."""


@pytest.fixture(scope="module")
def program() -> Program:
    return random_program(SEED, 40)


@pytest.fixture(scope="module")
def env(program: Program) -> Environment:
    return Environment(program)


@pytest.fixture(scope="module")
def step(env: Environment) -> Step:
    """A step of all games."""
    return jax.jit(jax.vmap(env.step))


@pytest.fixture(scope="module")
def played(env: Environment, step: Step) -> tuple[np.ndarray, EnvState]:
    """Any actions `[steps, games]`, and the states after each of them, under jit and vmap."""
    actions = np.random.default_rng(SEED).integers(
        -2, NUM_ACTIONS + 2, (env.num_steps + AFTER, GAMES)
    )

    states = [jax.device_get(jax.vmap(env.init)(jax.random.split(jax.random.key(0), GAMES)))]
    for row in actions:
        states.append(jax.device_get(step(states[-1], row)))
    return actions, jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def state_of(states: EnvState, move: int, game: int) -> EnvState:
    return jax.tree.map(lambda leaf: leaf[move, game], states)


@pytest.mark.nightly
def test_games_are_those_of_the_plain_rules(
    program: Program, env: Environment, played: tuple[np.ndarray, EnvState]
) -> None:
    actions, states = played
    for number in range(GAMES):
        game = ReferenceGame(program)
        for move in range(env.num_steps):
            assert states.legal_action_mask[move, number].tolist() == list(game.legal())
            assert not states.terminated[move, number]
            action = int(actions[move, number])
            known = action if 0 <= action < NUM_ACTIONS else NO_COPY
            reward = game.step(game.nearest(known))
            assert states.reward[move + 1, number] == pytest.approx(reward, abs=1e-6)
        assert game.is_over
    assert not states.truncated.any()


@pytest.mark.nightly
def test_rewards_add_up_to_what_the_plan_saves(
    program: Program, env: Environment, played: tuple[np.ndarray, EnvState]
) -> None:
    _, states = played
    totals = states.reward.astype(np.float64).sum(axis=0)
    assert len(set(totals.round(6))) > GAMES // 2
    for number in range(GAMES):
        plan = env.plan(state_of(states, -1, number), solver="chance")
        assert check(program, plan) is None
        assert plan.solver == "chance"
        assert len(noted_actions(plan, env.num_steps) or ()) == env.num_steps
        saved = 1 - simulate(program, plan).latency_s / program.all_slow_s
        assert totals[number] == pytest.approx(saved, abs=1e-6)


@pytest.mark.nightly
def test_nothing_happens_after_the_end(
    env: Environment, step: Step, played: tuple[np.ndarray, EnvState]
) -> None:
    _, states = played
    ended = jax.tree.map(lambda leaf: leaf[env.num_steps :], states)
    assert ended.terminated.all() and ended.legal_action_mask.all()
    assert not ended.observation.any()
    assert not ended.reward[1:].any()
    # Beside games that go on, too: some still have stalls of their last move to tell.
    mixed = jax.tree.map(
        lambda first, last: np.stack([first, *last]),
        *(
            state_of(states, 0, 0),
            jax.tree.map(lambda leaf: leaf[-1, 1:], states),
        ),
    )
    after = step(mixed, np.full(GAMES, NO_COPY))
    assert not after.reward[1:].any()
    assert after.terminated.tolist() == [False, *[True] * (GAMES - 1)]
    assert states.observation[: env.num_steps].any(axis=-1).all()
    assert (ended.actions[..., : env.num_steps] == ended.actions[0, :, : env.num_steps]).all()


def test_a_bound_shows_its_prices(program: Program, env: Environment) -> None:
    bare = env.init(jax.random.key(0)).observation
    priced = Environment(program, prices=lower_bound(program)).init(jax.random.key(0)).observation
    of_prices = np.zeros(bare.shape, bool)
    for name in ("prices", "prices_ahead"):
        of_prices[PARTS[name].start : PARTS[name].end] = True
    differs = np.asarray(bare != priced)[:NUM_OUTLOOK]
    assert differs[of_prices[:NUM_OUTLOOK]].any()


@pytest.mark.parametrize("tells", [True, False])
def test_a_bound_of_another_program_is_refused(program: Program, tells: bool) -> None:
    """Of an older bound, which does not tell its program, that is seen by its size alone."""
    others = [random_program(SEED, 8)]
    if tells:
        fast_bytes = 2 * program.hardware.fast_bytes
        others.append(derive(program, WhatIf(fast_bytes=fast_bytes), program.name))
    for other in others:
        bound = lower_bound(other)
        bound = bound if tells else replace(bound, program_hash="")
        assert Environment(other, prices=bound).num_steps
        with pytest.raises(UsageError, match="of another program"):
            Environment(program, prices=bound)


def test_a_plan_is_of_one_game_that_is_over(
    env: Environment, played: tuple[np.ndarray, EnvState]
) -> None:
    _, states = played
    with pytest.raises(UsageError, match="cut one game out"):
        env.plan(jax.tree.map(lambda leaf: leaf[-1], states))
    with pytest.raises(UsageError, match="not over"):
        env.plan(state_of(states, 0, 0))


def test_rules_that_it_does_not_have_are_refused(program: Program) -> None:
    with pytest.raises(ConfigError, match="no strict sinks"):
        Environment(program, Rules(strict=True))
