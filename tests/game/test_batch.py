"""Batches of scripts against the plain game, and resumed games against whole ones."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine.game.jaxgame.batching import NUM_CHECKPOINTS, BatchGame, play_words
from engine.game.jaxgame.encoding import encode
from engine.game.jaxgame.state import initial_state, packed, unpacked
from engine.game.jaxgame.step import step
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.quantise import TICKS
from engine.game.reference.game import ReferenceGame
from engine.game.scripts import EARN, NUM_WORDS, play_script
from engine.program.floors import above_floor
from tests.strategies import random_program

NUM_GAMES = 6
SEEDS = (3, 8)
BEGIN, ADVANCE = jax.jit(initial_state), jax.jit(jax.vmap(step, in_axes=(None, 0, 0)))


def scripts_of(num_moves: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, NUM_WORDS, (NUM_GAMES, num_moves)).astype(np.int8)


@pytest.mark.parametrize("seed", SEEDS)
def test_returns_are_those_of_the_plain_game(seed: int) -> None:
    program = random_program(seed, 60)
    game = BatchGame(program)
    scripts = scripts_of(game.num_moves, seed)
    scripts[0] = EARN
    played = game.play(scripts, [game.beginning] * NUM_GAMES, 0)
    assert len(set(played.ticks.tolist())) > 2
    for number, script in enumerate(scripts):
        plain = play_script(program, script)
        expected = max(-TICKS, plain.total_reward * TICKS)
        assert played.ticks[number] == pytest.approx(expected, abs=1e-6 * TICKS)
        assert played.actions[: game.num_moves, number].tolist() == plain.actions


@pytest.mark.parametrize("seed", SEEDS)
def test_resumed_games_equal_whole_ones(seed: int) -> None:
    game = BatchGame(random_program(seed, 60))
    old, new = scripts_of(game.num_moves, seed), scripts_of(game.num_moves, seed + 1)
    whole = game.play(old, [game.beginning] * NUM_GAMES, 0)
    trails = [whole.trail(k) for k in range(NUM_GAMES)]
    for first in (1, game.num_checkpoints // 2, game.num_checkpoints - 1):
        mixed = old.copy()
        mixed[:, first * game.spacing :] = new[:, first * game.spacing :]
        resumed = game.play(mixed, trails, first)
        again = game.play(mixed, [game.beginning] * NUM_GAMES, 0)
        assert resumed.ticks.tolist() == again.ticks.tolist()
        for k, parent in enumerate(trails):
            spliced, expected = resumed.trail(k).spliced(parent, first), again.trail(k)
            upto = game.num_checkpoints
            assert spliced.ticks[:upto].tolist() == expected.ticks[:upto].tolist()
            assert len(spliced.states) == NUM_CHECKPOINTS
            np.testing.assert_array_equal(spliced.states[:upto], expected.states[:upto])


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
def test_words_are_played_on_from_any_position_as_in_the_plain_game(seed: int) -> None:
    program = random_program(seed, 60)
    encoded, middle = encode(program), 20
    num_rows, num_moves = encoded.moves.shape[0], int(encoded.num_moves)
    old, new = scripts_of(num_rows, seed), scripts_of(num_rows, seed + 1)
    new[:, :middle] = old[:, :middle]
    played = np.array([play_script(program, script).actions for script in old[:, :num_moves]])
    start = BEGIN(encoded)
    states = jax.tree.map(lambda leaf: jnp.stack([leaf] * NUM_GAMES), start)
    for move in range(middle):
        states, _ = ADVANCE(encoded, states, jnp.asarray(played[:, move]))
    spacing = middle // 2
    nothing, first = jnp.zeros(NUM_GAMES, jnp.int32), jnp.int32(middle // spacing)
    found = play_words(encoded, packed(states), nothing, new.T, first, spacing)
    actions, ticks = found.actions, found.ticks
    for k, script in enumerate(new):
        whole = play_script(program, script[:num_moves])
        mine = np.asarray(actions)[middle : len(whole.actions), k]
        assert mine.tolist() == whole.actions[middle:]
        before = play_script(program, script[:middle]).total_reward
        expected = (whole.total_reward - before) * TICKS
        assert ticks[k] == pytest.approx(expected, abs=1e-6 * TICKS)
    assert (np.asarray(actions)[:middle] == -1).all()


def test_earn_brings_in_what_its_stall_does_not_eat() -> None:
    """Every choice of `EARN` in some games, judged by what the position says."""
    seen = set()
    for seed in range(12):
        program = random_program(seed, 60)
        game = ReferenceGame(program)
        actions = play_script(program, [EARN] * game.num_moves).actions
        for action in actions:
            legal = game.legal()
            saving = above_floor(game.move.saving_ticks, game.state.spare_ticks)
            stay = game.effect(NO_COPY)
            pays = legal[COPY] and game.effect(COPY).stall_ticks < saving
            is_there = game.move.group in game.state.live
            may_stay = legal[NO_COPY] and stay.stall_ticks < max(1, saving)
            copies = pays and not is_there and not (may_stay and stay.is_hoisted)
            assert action == (COPY if copies else NO_COPY if may_stay else DROP)
            seen.add((legal[COPY], pays))
            game.step(action)
    assert seen == {(True, True), (True, False), (False, False)}


def test_a_packed_state_is_the_same_when_unpacked() -> None:
    program = random_program(SEEDS[0], 60)
    game, encoded = BatchGame(program), encode(program)
    scripts = scripts_of(game.num_moves, SEEDS[0])
    rows = game.play(scripts, [game.beginning] * NUM_GAMES, 0).states[game.num_checkpoints - 1]
    states = unpacked(encoded, rows)
    np.testing.assert_array_equal(packed(states), rows)
    start = BEGIN(encoded)
    for mine, first in zip(jax.tree.leaves(states), jax.tree.leaves(start), strict=True):
        assert (mine.dtype, mine.shape) == (first.dtype, (NUM_GAMES, *first.shape))
