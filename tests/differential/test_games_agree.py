"""The two implementations of the mallocGame, move by move: mask, offset, start, reward."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine.game.jaxgame.encoding import EncodedProgram, Shape, common_shape, encode
from engine.game.jaxgame.env import Record, play_with_backup, rollout, scripted
from engine.game.move_list import moves
from engine.game.moves import BEST_FIT, DROP, NO_COPY, PLACE_RULES, Rules, table_rows
from engine.game.notes import plan_from_actions
from engine.game.quantise import TICKS, quantise
from engine.game.reference.game import ReferenceGame
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import TOP_LEVEL, Program, Region
from tests.differential.comparison import compare
from tests.game.tiny_programs import Buffer, program_of
from tests.strategies import random_program

NUM_SLOTS = 40
SEEDS = range(16)
FEW_BLOCKS = 12
EITHER = program_of(
    [5] * 5,
    [Buffer(4, writes={0: 2, 1: 2, 2: 2, 3: 2}, reads={4: 2})],
    regions=[
        Region(f"c[{number}]", start, end, 0.5, TOP_LEVEL, "branch")
        for number, (start, end) in enumerate([(1, 2), (2, 4)])
    ],
)
"""A conditional of which each branch overwrites what was made before it."""
REAL = ("lstm-v5e-b128", "gptdecode-v5e-b8")


def has_loops(seed: int) -> bool:
    """Of the random program of this seed."""
    return seed % 3 != 0


def rules_of(seed: int) -> Rules:
    """Every place rule, with tables and look-backs that are sometimes too small.

    In every other game places are planned: often two of a group, mostly in the memory.
    """
    chance, program = random.Random(seed), random_game(seed)
    stays = [
        (
            chance.randrange(len(program.groups)),
            chance.randrange(-1, program.num_slots),
            chance.choice(
                [-1, 2**40, *(chance.randrange(quantise(program).fast_granules) for _ in range(8))]
            ),
        )
        for _ in range(60 if seed // 4 % 2 else 0)
    ]
    return Rules(
        max_blocks=FEW_BLOCKS if seed % 8 < 4 else 96,
        look_back=9 if seed % 8 < 4 else 192,
        place=PLACE_RULES[seed % len(PLACE_RULES)],
        planned=tuple(sorted(stays)),
    )


@functools.cache
def random_game(seed: int) -> Program:
    """A random program, two of three with loops, half of them with conditionals."""
    return random_program(seed, NUM_SLOTS, loops=has_loops(seed), forks=seed % 2 == 1)


@functools.cache
def shape_of(max_blocks: int, look_back: int, is_plain: bool) -> Shape:
    """One that covers all random programs and the real ones, or the random ones without loops,
    under such rules: they share what is compiled.
    """
    rules = Rules(max_blocks=max_blocks, look_back=look_back)
    seeds = [seed for seed in SEEDS if not (is_plain and has_loops(seed))]
    programs = [random_game(seed) for seed in seeds]
    if not is_plain:
        programs += [library.load_sample(name) for name in REAL]
    return common_shape([encode(program, rules) for program in programs])


def encoded_random(seed: int, rules: Rules) -> EncodedProgram:
    """A random program in a shape of others. A game that considers no copies out of loops is
    compiled under one of the rules alone.
    """
    is_plain = not has_loops(seed) and rules.place != BEST_FIT and rules.max_blocks == FEW_BLOCKS
    return encode(random_game(seed), rules, shape_of(rules.max_blocks, rules.look_back, is_plain))


def game_of(encoded: EncodedProgram, seed: int, actions: Sequence[int] = ()) -> Record:
    """A game that begins with these actions; all are compiled as one function."""
    record: Record = rollout(encoded, jax.random.key(seed), scripted(encoded, actions))[1]
    return record


def assert_same_game(program: Program, rules: Rules, record: Record) -> ReferenceGame:
    """Play the recorded actions in the reference, comparing every move."""
    game, difference = compare(program, rules, record)
    assert not difference
    return game


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=pytest.mark.nightly if s % 8 == 7 else ()) for s in SEEDS]
)
def test_random_games_agree(seed: int) -> None:
    program, rules = random_game(seed), rules_of(seed)
    record = game_of(encoded_random(seed, rules), seed)
    game = assert_same_game(program, rules, record)
    actions = np.asarray(record.action)[: game.num_moves]
    plan = plan_from_actions(program, actions.tolist(), "random", rules)
    assert check(program, plan) is None
    result = simulate(program, plan)
    saved = (result.all_slow_s - result.latency_s) / result.all_slow_s
    ticks = int(np.asarray(record.reward_ticks)[: game.num_moves].astype(np.int64).sum())
    assert ticks / TICKS == pytest.approx(saved, abs=1e-6)
    assert game.total_reward == pytest.approx(saved, abs=1e-6)


def test_games_of_conditionals_agree() -> None:
    """Every action, at the writes with which the branches begin."""
    rules = Rules()
    encoded = encode(EITHER, rules, shape_of(rules.max_blocks, rules.look_back, False))
    for actions in itertools.product((NO_COPY, DROP), repeat=4):
        assert_same_game(EITHER, rules, game_of(encoded, 0, [NO_COPY, *actions]))


def test_real_programs_with_loops_agree() -> None:
    rules = Rules()
    for program in [library.load_sample(name) for name in REAL]:
        encoded = encode(program, rules, shape_of(rules.max_blocks, rules.look_back, False))
        assert_same_game(program, rules, game_of(encoded, 0))


@pytest.mark.nightly
def test_drop_backup_undoes_dead_ends() -> None:
    rules = Rules(strict=True)
    undone = 0
    programs = [random_program(seed, 16) for seed in range(8)]
    shape = common_shape([encode(program, rules) for program in programs])
    for seed, program in enumerate(programs):
        encoded = encode(program, rules, shape)
        first = game_of(encoded, seed)
        if not np.asarray(first.was_dead).any():
            continue
        record = play_with_backup(encoded, jax.random.key(seed))
        assert not np.asarray(record.was_dead).any()
        undone += 1
    assert undone >= 1


def test_games_of_one_shape_share_one_compilation() -> None:
    before = rollout._cache_size()
    for seed in (1, 2, 4, 5):
        game_of(encoded_random(seed, Rules()), seed)
    assert rollout._cache_size() <= before + 1


def test_side_by_side_each_program_has_the_table_that_its_rules_give_it() -> None:
    """One has 97 groups in use at once. In the other so many come one after another that the table
    of 96 rows forgets some, whereupon its input may not stay from before the start.
    """
    wide = program_of([5] * 2, [Buffer(1, writes={0: 1}, reads={1: 1})] * 97, fast_bytes=128)
    one_by_one = [Buffer(1, writes={i: 1}, reads={i + 1: 1}) for i in range(97)]
    long = program_of(
        [5] * 99, [*one_by_one, Buffer(1, reads={98: 1}, is_input=True)], max_inputs=1
    )
    programs = [wide, long]
    assert [table_rows(Rules(), moves(program)) for program in programs] == [192, 96]
    shape = common_shape([encode(program) for program in programs])
    encoded = [encode(program, shape=shape) for program in programs]
    scripts = [scripted(e, [NO_COPY] * int(e.num_moves)) for e in encoded]
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *zip(encoded, scripts, strict=True))
    keys = jnp.stack([jax.random.key(0)] * len(programs))
    _, records = jax.vmap(lambda some, key: rollout(some[0], key, some[1]))(together, keys)
    for number, program in enumerate(programs):
        record = jax.tree.map(lambda column, game=number: column[game], records)
        assert_same_game(program, Rules(), record)
    more = ReferenceGame(long, Rules(max_blocks=192))
    for _ in range(more.num_moves - 1):
        more.step(NO_COPY)
    assert more.legal()[NO_COPY] and not np.asarray(records.mask)[1, more.move_index][NO_COPY]


def test_illegal_actions_become_the_nearest_legal_one() -> None:
    program = random_game(7)
    encoded = encoded_random(7, Rules())
    rng = random.Random(7)
    wanted = [rng.randrange(3) for _ in range(ReferenceGame(program).num_moves)]
    record = game_of(encoded, 0, wanted)
    game = assert_same_game(program, Rules(), record)
    played, masks = np.asarray(record.action), np.asarray(record.mask)
    for number in range(game.num_moves):
        mask = masks[number]
        nearest = wanted[number] if mask[wanted[number]] else (1 if mask[1] else 2)
        assert played[number] == nearest
