"""Games side by side: `jax.vmap` of the rules plays each game as it is played alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine.game.jaxgame.encoding import EncodedProgram, common_shape, encode
from engine.game.jaxgame.env import Position, reset, step
from engine.game.moves import NO_COPY, Rules
from tests.strategies import random_program

NUM_GAMES = 3
NUM_STEPS = 12
PROGRAMS = [random_program(seed, 24) for seed in range(NUM_GAMES)]
SMALL = Rules(max_blocks=8, look_back=12)
USUAL = pytest.param(Rules(), marks=pytest.mark.nightly)
play = jax.jit(step)


def stack(rules: Rules) -> tuple[list[EncodedProgram], EncodedProgram]:
    shape = common_shape([encode(program, rules) for program in PROGRAMS])
    single = [encode(program, rules, shape) for program in PROGRAMS]
    return single, jax.tree.map(lambda *leaves: jnp.stack(leaves), *single)


def assert_same(alone: list[Position], together: Position) -> None:
    for number, position in enumerate(alone):
        mine = jax.tree.map(lambda leaf, i=number: leaf[i], together)
        assert mine.options.mask.tolist() == position.options.mask.tolist()
        jax.tree.map(np.testing.assert_array_equal, position.state, mine.state)


@pytest.mark.nightly
@pytest.mark.parametrize("is_one_program", [True, False])
def test_games_apart_play_as_alone(is_one_program: bool) -> None:
    """The games are at different moves of their programs."""
    single, stacked = stack(SMALL)
    if is_one_program:
        single, stacked = [single[2]] * NUM_GAMES, single[2]
    axis = None if is_one_program else 0
    play_all = jax.jit(jax.vmap(step, in_axes=(axis, 0, 0)))
    alone = [reset(encoded) for encoded in single]
    for number, encoded in enumerate(single):
        for _ in range(number):
            alone[number], _ = play(encoded, alone[number], jnp.int32(NO_COPY))
    assert len({int(position.state.move) for position in alone}) == NUM_GAMES
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *alone)
    chance = np.random.default_rng(0)
    for _ in range(NUM_STEPS):
        actions = jnp.asarray(chance.integers(0, 3, NUM_GAMES), jnp.int32)
        played = [play(e, p, a) for e, p, a in zip(single, alone, actions, strict=True)]
        together, rewards = play_all(stacked, together, actions)
        alone = [position for position, _ in played]
        assert_same(alone, together)
        np.testing.assert_array_equal(rewards, np.array([reward for _, reward in played]))


@pytest.mark.nightly
@pytest.mark.parametrize("rules", [SMALL, USUAL], ids=["small tables", "usual tables"])
def test_a_stack_of_programs_resets_as_each_alone(rules: Rules) -> None:
    single, stacked = stack(rules)
    assert_same([reset(encoded) for encoded in single], jax.jit(jax.vmap(reset))(stacked))
