"""What games lean to, and the genomes that they leave."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

from engine.agent.leaning import (
    NONE,
    everywhere,
    leaning,
    meant,
    settled,
    shaken,
    unrelated,
    varied,
)
from engine.agent.network import init_params
from engine.agent.replay_buffer import Game
from engine.agent.workload import follow
from engine.game.genome import Layout, layout
from engine.game.inputs import NUM_VIEW
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.reference import ReferenceGame
from engine.game.replay import best_action
from engine.game.scripts import EARN, NUM_WORDS
from tests.agent.small import CONFIG, small_workload
from tests.strategies import random_program


@pytest.fixture(scope="module")
def moves() -> Layout:
    return layout(random_program(5, 60))


def played(actions: list[int], greedy: list[int], illegal: dict[int, int]) -> Game:
    """A game; `illegal`: an action by move."""
    length = len(actions)
    view = np.zeros((length, NUM_VIEW), np.float16)
    legal = np.ones((length, 3), bool)
    for move, action in illegal.items():
        legal[move, action] = False
    zeros = np.zeros((length, 3), np.float32)
    action = np.array(actions, np.int32)
    return Game(
        view,
        legal,
        action,
        zeros,
        zeros[:, 0],
        zeros[:, 0],
        np.array(greedy, np.int8),
        action.astype(np.int8),
    )


def test_words_that_came_true_or_were_illegal_are_kept() -> None:
    game = played(
        actions=[DROP, DROP, NO_COPY, COPY, COPY],
        greedy=[COPY, DROP, COPY, COPY, NO_COPY],
        illegal={1: COPY},
    )
    genes = np.array([DROP, COPY, EARN, DROP, NONE], np.int8)
    # Came true; illegal; overruled by a move of its own; by the greedy choice; no word before.
    assert settled(genes, game).tolist() == [DROP, COPY, NO_COPY, EARN, COPY]


def test_the_greedy_word_came_true_where_the_greedy_choice_was_made() -> None:
    game = played([COPY, DROP], [COPY, COPY], {})
    assert settled(np.array([EARN, EARN], np.int8), game).tolist() == [EARN, DROP]


def test_all_but_the_first_genome_are_varied(moves: Layout) -> None:
    genomes = [np.full(moves.num_moves, word, np.int8) for word in (EARN, EARN, DROP, COPY)] * 8
    rates = np.full(len(genomes), 2.0, np.float32)
    old = np.stack(genomes)
    found = varied(np.random.default_rng(0), genomes, everywhere(moves), rates, 0.5)
    assert (found[0] == old[0]).all()
    assert (found != old).any(axis=1).sum() > len(genomes) / 2


def test_games_without_parents_are_mostly_random_at_first(moves: Layout) -> None:
    counts = []
    for is_first in (True, False):
        genomes = unrelated(np.random.default_rng(0), moves, 64, is_first)
        assert len(genomes) == 64
        assert (genomes[0] == NONE).all()
        counts.append(sum((genes != NONE).all() for genes in genomes))
    assert counts == [48, 6]


def test_what_greedy_means_does_not_depend_on_what_the_agent_may_see() -> None:
    shown = small_workload().demonstrations
    blind = small_workload(replace(CONFIG, hidden=("greedy",)))
    params = init_params(jax.random.key(0), CONFIG.network)
    (game,) = follow(blind, params, shown[:1])
    (other,) = follow(small_workload(), params, shown[:1])
    assert np.array_equal(game.greedy, other.greedy)
    assert not np.array_equal(game.view, other.view)
    reference = ReferenceGame(blind.program, blind.rules)
    for action, greedy in zip(game.action.tolist(), game.greedy.tolist(), strict=True):
        assert greedy == best_action(reference)
        reference.step(action)
    earning = np.full(len(game.action), EARN, np.int8)
    assert np.array_equal(meant(earning, game), game.greedy)


def test_the_relaxed_optimum_takes_its_share_of_random_genomes(moves: Layout) -> None:
    relaxed = np.ones(moves.num_moves)
    genomes = unrelated(np.random.default_rng(0), moves, 64, True, relaxed, 0.75)
    assert len(genomes) == 64
    assert sum((genes == EARN).all() for genes in genomes) >= 36
    assert sum((genes == NONE).all() for genes in genomes) == 16


def test_shaking_changes_whole_groups_some_more_some_less(moves: Layout) -> None:
    rng, genes = np.random.default_rng(0), np.full(moves.num_moves, COPY, np.int8)
    relaxed = np.ones(moves.num_moves)
    light, hard = (shaken(rng, moves, genes, 64, share, relaxed) for share in (0.02, 0.2))
    assert light.shape == (64, moves.num_moves)
    assert 0 < (light != COPY).mean() < 0.1 < (hard != COPY).mean() < 0.8
    # Half of the words are roundings of an optimum that serves all fast: not one word but `EARN`.
    rounded = hard[32:][hard[32:] != COPY]
    assert (rounded == EARN).all()
    for found in hard[32:]:
        assert all(len(set(found[group])) <= 1 for group in moves.of_group)


def test_a_leaning_falls_back_as_its_word_would() -> None:
    genomes = np.array([[COPY, NO_COPY, DROP, EARN, NONE]], np.int8)
    is_sure = np.array([[False, True, False, False, True]])
    found = leaning(genomes, is_sure, np.array([4.0], np.float32), 30.0)
    assert found.shape == (5, 1, NUM_WORDS)
    expected = np.zeros((5, NUM_WORDS))
    expected[0, [COPY, NO_COPY]] = 4, 2
    expected[1, [NO_COPY, DROP]] = 30, 15
    expected[2, DROP] = expected[3, EARN] = 4
    assert np.array_equal(found[:, 0], expected)
