"""The two implementations of the mallocGame, move by move: mask, offset, start, reward."""

from __future__ import annotations

import functools
import random

import jax
import numpy as np
import pytest

from engine.game.jaxgame.encoding import EncodedProgram, Shape, common_shape, encode
from engine.game.jaxgame.env import Record, play_with_backup, rollout, scripted
from engine.game.moves import SIMPLE_RULES, Rules
from engine.game.notes import plan_from_actions
from engine.game.quantise import TICKS, quantise
from engine.game.reference.game import ReferenceGame
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
from tests.differential.comparison import compare
from tests.strategies import random_program

NUM_SLOTS = 40
SEEDS = range(16)


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
        max_blocks=12 if seed % 8 < 4 else 96,
        look_back=9 if seed % 8 < 4 else 192,
        place=SIMPLE_RULES[seed % len(SIMPLE_RULES)],
        planned=tuple(sorted(stays)),
    )


@functools.cache
def random_game(seed: int) -> Program:
    """A random program, two of three with loops."""
    return random_program(seed, NUM_SLOTS, loops=seed % 3 != 0)


@functools.cache
def shape_of(max_blocks: int, look_back: int, has_loops: bool) -> Shape:
    """One that covers the random programs with loops, or those without, under such rules: they
    share what is compiled.
    """
    rules = Rules(max_blocks=max_blocks, look_back=look_back)
    seeds = [seed for seed in SEEDS if (seed % 3 != 0) == has_loops]
    return common_shape([encode(random_game(seed), rules) for seed in seeds])


def encoded_random(seed: int, rules: Rules) -> EncodedProgram:
    """A random program in the shape of its kind."""
    shape = shape_of(rules.max_blocks, rules.look_back, seed % 3 != 0)
    return encode(random_game(seed), rules, shape)


def assert_same_game(program: Program, rules: Rules, record: Record) -> ReferenceGame:
    """Play the recorded actions in the reference, comparing every move."""
    game, difference = compare(program, rules, record)
    assert not difference
    return game


@pytest.mark.parametrize("seed", SEEDS)
def test_random_games_agree(seed: int) -> None:
    program, rules = random_game(seed), rules_of(seed)
    _, record = rollout(encoded_random(seed, rules), jax.random.key(seed))
    game = assert_same_game(program, rules, record)
    actions = np.asarray(record.action)[: game.num_moves]
    plan = plan_from_actions(program, actions.tolist(), "random", rules)
    assert check(program, plan) is None
    result = simulate(program, plan)
    saved = (result.all_slow_s - result.latency_s) / result.all_slow_s
    ticks = int(np.asarray(record.reward_ticks)[: game.num_moves].astype(np.int64).sum())
    assert ticks / TICKS == pytest.approx(saved, abs=1e-6)
    assert game.total_reward == pytest.approx(saved, abs=1e-6)


def test_real_programs_with_loops_agree() -> None:
    programs = [library.load_sample(name) for name in ("lstm-v5e-b128", "gptdecode-v5e-b8")]
    shape = common_shape([encode(program) for program in programs])
    for program in programs:
        _, record = rollout(encode(program, shape=shape), jax.random.key(0))
        assert_same_game(program, Rules(), record)


def test_drop_backup_undoes_dead_ends() -> None:
    rules = Rules(strict=True)
    undone = 0
    programs = [random_program(seed, 16) for seed in range(8)]
    shape = common_shape([encode(program, rules) for program in programs])
    for seed, program in enumerate(programs):
        encoded = encode(program, rules, shape)
        _, first = rollout(encoded, jax.random.key(seed))
        if not np.asarray(first.was_dead).any():
            continue
        record = play_with_backup(encoded, jax.random.key(seed))
        assert not np.asarray(record.was_dead).any()
        undone += 1
    assert undone >= 1


def test_games_of_one_shape_share_one_compilation() -> None:
    before = rollout._cache_size()
    for seed in (1, 2, 4, 5):
        rollout(encoded_random(seed, Rules()), jax.random.key(seed))
    assert rollout._cache_size() <= before + 1


def test_illegal_actions_become_the_nearest_legal_one() -> None:
    program = random_game(7)
    encoded = encoded_random(7, Rules())
    rng = random.Random(7)
    wanted = [rng.randrange(3) for _ in range(ReferenceGame(program).num_moves)]
    _, record = rollout(encoded, jax.random.key(0), scripted(encoded, wanted))
    game = assert_same_game(program, Rules(), record)
    played, masks = np.asarray(record.action), np.asarray(record.mask)
    for number in range(game.num_moves):
        mask = masks[number]
        nearest = wanted[number] if mask[wanted[number]] else (1 if mask[1] else 2)
        assert played[number] == nearest
