"""What games say about the ones that they descend from, and what is tried because of it."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

from engine.agent.comparison import (
    COLUMNS,
    Columns,
    Comparisons,
    chosen,
    forks,
    pairs_of,
    prior_logits,
)
from engine.agent.leaning import GREEDY
from engine.agent.learner import learn, optimiser
from engine.agent.network import Params, init_params
from engine.agent.replay import Game
from engine.game.inputs import NUM_VIEW
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.scripts import EARN
from tests.agent.small import CONFIG, small_trainer, small_workload

LENGTH = 6


def played(actions: list[int], score: float = 0.0, illegal: dict[int, int] | None = None) -> Game:
    """A game whose greedy choice is always Copy, with its actions as genes."""
    view = np.zeros((LENGTH, NUM_VIEW), np.float16)
    view[:, GREEDY.start + COPY] = 1
    view[:, 0] = np.arange(LENGTH)
    legal = np.ones((LENGTH, 3), bool)
    for move, action in (illegal or {}).items():
        legal[move, action] = False
    reward = np.zeros(LENGTH, np.float32)
    reward[-1] = score
    action = np.array(actions, np.int32)
    return Game(view, legal, action, np.eye(3)[action], reward, reward, np.array(actions, np.int8))


def compared(parents: list[Game], games: list[Game]) -> Columns:
    return pairs_of(parents, [game.action for game in games], [game.score for game in games])


def test_a_variation_parts_where_it_would_first_act_otherwise() -> None:
    parent = played([DROP, NO_COPY, DROP, COPY, DROP, DROP], illegal={1: COPY})
    genes = np.array(
        [
            [DROP, NO_COPY, DROP, COPY, DROP, DROP],  # The same words.
            [DROP, COPY, DROP, EARN, DROP, DROP],  # Illegal, so NoCopy; and greedy is Copy.
            [COPY, COPY, DROP, DROP, COPY, DROP],  # The first word is before the start.
            [DROP, NO_COPY, DROP, COPY, DROP, EARN],
        ],
        np.int8,
    )
    found = forks(parent, genes, start=1)
    assert found.move.tolist() == [-1, -1, 3, 5]
    assert found.action[2:].tolist() == [DROP, COPY]


def test_the_first_difference_is_what_won_or_lost() -> None:
    parent = played([DROP] * LENGTH, score=1.0)
    better = played([DROP, COPY, COPY, DROP, DROP, DROP], score=2.0)
    worse = played([DROP, DROP, DROP, NO_COPY, DROP, DROP], score=0.5)
    equal = played([COPY] * LENGTH, score=1.0)
    found = compared([parent] * 4, [better, worse, equal, parent])
    assert found["move"].tolist() == [1, 3]
    assert found["better"].tolist() == [COPY, DROP]
    assert found["worse"].tolist() == [DROP, NO_COPY]
    assert found["view"][:, 0].tolist() == [1, 3]


def test_nothing_to_compare_is_an_empty_batch() -> None:
    found = compared([], [])
    assert {name: len(column) for name, column in found.items()} == dict.fromkeys(COLUMNS, 0)
    memory = Comparisons()
    memory.add(found)
    assert len(memory) == 0
    assert not memory.sample(np.random.default_rng(0), 8)["weight"].any()


def test_the_oldest_pairs_make_room() -> None:
    memory = Comparisons(capacity=2)
    parent = played([DROP] * LENGTH)
    for move in range(3):
        actions = [DROP] * LENGTH
        actions[move] = COPY
        memory.add(compared([parent], [played(actions, score=1.0)]))
    assert len(memory) == 2
    drawn = memory.sample(np.random.default_rng(0), 64)
    assert set(drawn["move"].tolist()) == {1, 2}
    assert drawn["weight"].all()


@pytest.fixture(scope="module")
def taught() -> Params:
    """A prior that was taught to prefer NoCopy to Drop, and Drop to Copy."""
    workload = small_workload()
    params = init_params(jax.random.key(0), CONFIG.network)
    config = replace(CONFIG.learner, pair_weight=10.0)
    state = optimiser(config).init(params)
    trainer = small_trainer()
    trainer.play_round()
    workload = trainer.workloads[0]
    parent = played([DROP] * LENGTH)
    pairs = Comparisons()
    for move in range(LENGTH):
        actions = [DROP] * LENGTH
        pairs.add(compared([parent], [played(_with(actions, move, NO_COPY), score=1.0)]))
        pairs.add(compared([parent], [played(_with(actions, move, COPY), score=-1.0)]))
    rng = np.random.default_rng(0)
    for _ in range(60):
        batch = workload.replay.sample(rng, 16, config.unroll)
        params, state, losses = learn(
            params,
            state,
            workload.arena.known,
            workload.arena.encoded.num_moves,
            vars(batch),
            pairs.sample(rng, 16),
            config,
        )
    assert losses.pairs < 0.2
    return params


def _with(actions: list[int], move: int, action: int) -> list[int]:
    return [*actions[:move], action, *actions[move + 1 :]]


def test_the_prior_learns_which_action_won(taught: Params) -> None:
    parent = played([DROP] * LENGTH)
    move = np.arange(LENGTH)
    known = small_workload().arena.known
    logits = np.asarray(prior_logits(taught, known, move, parent.view.astype(np.float32)))
    assert (logits[:, NO_COPY] > logits[:, DROP]).all()
    assert (logits[:, DROP] > logits[:, COPY]).all()


def test_what_the_prior_thinks_better_is_tried(taught: Params) -> None:
    parent = played([DROP] * LENGTH)
    same = [DROP] * LENGTH
    variations = np.array([same, _with(same, 4, COPY), _with(same, 3, NO_COPY), same], np.int8)
    known = small_workload().arena.known
    rng = np.random.default_rng(0)
    genes = chosen(rng, taught, known, [parent] * 40, np.stack([variations] * 40), start=2)
    assert (genes == variations[2]).all(axis=1).mean() > 0.9
    idle = chosen(rng, taught, known, [parent] * 8, np.stack([variations[[0, 1, 3]]] * 8), start=2)
    assert (idle == variations[1]).all()
    alike = chosen(rng, taught, known, [parent] * 8, np.stack([variations[[0, 3]]] * 8), start=2)
    assert (alike == same).all()
