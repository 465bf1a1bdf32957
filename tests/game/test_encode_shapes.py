"""Padded encodings: programs of one shape stack, and padding changes no game."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine.game.jaxgame.encoding import (
    EncodedProgram,
    Shape,
    common_shape,
    encode,
    shape_of,
)
from engine.game.jaxgame.env import Record, rollout, scripted
from engine.game.jaxgame.state import initial_state, insert
from engine.game.moves import Rules
from tests.game.tiny_programs import Buffer, program_of
from tests.strategies import random_program

NUM_SLOTS = (8, 40)
SMALL = Rules(max_blocks=9, look_back=10)
PROGRAMS = [random_program(seed, slots) for seed, slots in enumerate(NUM_SLOTS)]


def as_wanted(seed: int, num_moves: int) -> list[int]:
    return np.random.default_rng(seed).integers(0, 3, num_moves).tolist()


def played(encoded: EncodedProgram, seed: int) -> Record:
    """A game that tries the same actions whatever the padding."""
    wanted = as_wanted(seed, int(encoded.num_moves))
    record: Record = rollout(encoded, jax.random.key(0), scripted(encoded, wanted))[1]
    return jax.tree.map(lambda column: np.asarray(column)[: len(wanted)], record)


@pytest.mark.parametrize("rules", [SMALL, Rules()])
def test_the_shape_of_an_encoding_is_known_before(rules: Rules) -> None:
    for program in PROGRAMS:
        assert shape_of(program, rules) == encode(program, rules).shape


def test_a_table_may_have_a_single_row() -> None:
    program = program_of([5, 5], [Buffer(4, writes={0: 3}, reads={1: 3})])
    table = initial_state(encode(program, Rules(max_blocks=1))).table
    block = jax.tree.map(lambda column: jnp.int32(7), table)
    for is_wanted in (True, False):
        after = insert(table, block, jnp.int32(0), jnp.bool_(is_wanted))
        cells = jax.tree.map(lambda column: column[None], block) if is_wanted else table
        jax.tree.map(np.testing.assert_array_equal, after, cells)


@pytest.mark.nightly
@pytest.mark.parametrize("rules", [SMALL, Rules()])
def test_padding_changes_no_game(rules: Rules) -> None:
    own = [encode(program, rules) for program in PROGRAMS]
    shape = common_shape(own)
    for seed, program in enumerate(PROGRAMS):
        padded = encode(program, rules, shape)
        assert padded.shape == shape
        jax.tree.map(np.testing.assert_array_equal, played(own[seed], seed), played(padded, seed))


@pytest.mark.nightly
def test_encodings_of_one_shape_stack() -> None:
    own = [encode(program, SMALL) for program in PROGRAMS]
    shape = common_shape(own)
    single = [encode(program, SMALL, shape) for program in PROGRAMS]
    stacked: EncodedProgram = jax.tree.map(lambda *leaves: jnp.stack(leaves), *single)
    lines = [
        scripted(encoded, as_wanted(seed, int(encoded.num_moves)))
        for seed, encoded in enumerate(single)
    ]
    script = jax.tree.map(lambda *leaves: jnp.stack(leaves), *lines)
    keys = jnp.stack([jax.random.key(0)] * len(single))
    _, records = jax.vmap(lambda e, k, s: rollout(e, k, s))(stacked, keys, script)
    for seed, encoded in enumerate(single):
        count = int(encoded.num_moves)
        mine = jax.tree.map(lambda column, i=seed, n=count: np.asarray(column)[i, :n], records)
        jax.tree.map(np.testing.assert_array_equal, played(encoded, seed), mine)


def test_a_shape_must_cover_the_program_and_look_back_no_further_than_the_rules() -> None:
    rules = Rules(max_blocks=6, look_back=7)
    shape: Shape = encode(PROGRAMS[1], rules).shape
    for field in ("num_moves", "num_slots", "num_levels", "num_blocks", "look_back"):
        with pytest.raises(ValueError, match="more than"):
            encode(PROGRAMS[1], rules, replace(shape, **{field: 1}))
    with pytest.raises(ValueError, match="more than the rules"):
        encode(PROGRAMS[1], rules, replace(shape, look_back=8))
    assert encode(PROGRAMS[1], rules, replace(shape, num_blocks=7)).max_blocks == 6
