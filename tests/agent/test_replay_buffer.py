"""The replay buffer: what it keeps, and the targets that it makes."""

from __future__ import annotations

import numpy as np
import pytest

from engine.agent.config import ReplayConfig
from engine.agent.replay_buffer import ReplayBuffer, value_targets
from engine.agent.types import Game
from engine.game.observation.layout import NUM_VIEW


def game(rewards: list[float], value: float = 0.0, action: int = 0) -> Game:
    length = len(rewards)
    return Game(
        view=np.full((length, NUM_VIEW), np.float16(action)),
        legal=np.ones((length, 3), bool),
        action=np.full(length, action, np.int32),
        policy=np.full((length, 3), 1 / 3, np.float32),
        value=np.full(length, value, np.float32),
        reward=np.array(rewards, np.float32),
    )


def remember(memory: ReplayBuffer, games: list[Game]) -> None:
    memory.add_old(games)
    memory.add_best(games)


def test_value_targets_are_rewards_and_then_the_search() -> None:
    one = game([1.0, 2.0, 4.0, 8.0], value=100.0)
    assert value_targets(one, 2).tolist() == [103.0, 106.0, 12.0, 8.0]
    assert value_targets(one, 99).tolist() == [15.0, 14.0, 12.0, 8.0]


def test_the_oldest_make_room_and_the_best_stay() -> None:
    memory = ReplayBuffer(ReplayConfig(2, 2, 5))
    for action, score in enumerate([5.0, 1.0, 3.0, 2.0]):
        remember(memory, [game([score], action=action % 3)])
    assert memory.count("own") == 2
    seen = memory.sample(np.random.default_rng(0), 64, unroll=1)
    assert set(seen.reward[:, 0]) == {3.0, 2.0}
    assert [g.score for g in memory.best] == [5.0, 3.0]
    assert memory.top_score == 5.0


def test_the_same_game_is_not_best_twice() -> None:
    memory = ReplayBuffer(ReplayConfig(9, 3, 5))
    for _ in range(3):
        remember(memory, [game([5.0])])
    assert len(memory.best) == 1


def test_the_best_games_are_sure_of_what_was_played() -> None:
    memory = ReplayBuffer(ReplayConfig(capacity=9, num_best=3, td_steps=5))
    remember(memory, [game([2.0, 3.0], action=1), game([3.0, 2.0], action=2), game([1.0, 1.0])])
    assert [g.action[0] for g in memory.best] == [1, 0]
    assert (memory.best[0].policy[:, 1] == 1).all()
    assert memory.top is memory.best[0]


def test_a_batch_mixes_the_kinds_as_told() -> None:
    memory = ReplayBuffer(ReplayConfig(9, 1, 5))
    memory.demonstrate([game([50.0], action=2)])
    remember(memory, [game([5.0], action=1), game([1.0], action=0)])
    seen = memory.sample(np.random.default_rng(0), 4000, 0, 0.25, 0.5)
    assert (seen.view[:, 0, 0] == 2).mean() == pytest.approx(0.5, abs=0.05)
    assert (seen.view[:, 0, 0] == 0).mean() == pytest.approx(0.125, abs=0.05)


def test_of_nearly_equal_games_one_is_remembered() -> None:
    memory = ReplayBuffer(ReplayConfig(9, 3, 5))
    remember(memory, [game([1.002], action=0), game([1.004], action=1), game([1.001], action=2)])
    assert [g.score for g in memory.best] == [pytest.approx(1.004)]


def test_demonstrations_are_kept_apart() -> None:
    memory = ReplayBuffer(ReplayConfig(1, 3, 5))
    memory.demonstrate([game([50.0], action=2)])
    assert memory.top_score == -np.inf
    batch = memory.sample(np.random.default_rng(0), 4, unroll=0)
    assert (batch.view == 2).all()


def test_a_batch_ends_with_its_game() -> None:
    memory = ReplayBuffer(ReplayConfig(1, 1, 1))
    remember(memory, [game([1.0, 1.0, 1.0], value=7.0)])
    batch = memory.sample(np.random.default_rng(0), 64, unroll=3)
    assert batch.view.shape == (64, 4, NUM_VIEW)
    assert batch.reward.shape == batch.action.shape == (64, 3)
    left = 3 - batch.move
    assert (batch.weight.sum(axis=1) == np.minimum(left, 4)).all()
    assert (batch.value[batch.weight == 0] == 0).all()
    assert (batch.reward.sum(axis=1) == np.minimum(left, 3)).all()


def test_moves_without_a_choice_teach_no_policy() -> None:
    memory = ReplayBuffer(ReplayConfig(1, 1, 1))
    forced = game([1.0, 1.0])
    forced.legal[1] = [False, False, True]
    remember(memory, [forced])
    batch = memory.sample(np.random.default_rng(0), 32, unroll=0)
    assert ((batch.move == 0) == (batch.policy_weight[:, 0] > 0)).all()
    assert (batch.weight == 1).all()
