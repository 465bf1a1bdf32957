"""The Gymnasium environment."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from engine.game.gym_env import MallocEnv
from engine.game.moves import COPY, DROP, NO_COPY, NUM_ACTIONS
from engine.plan.check import check
from engine.plan.simulate import simulate
from tests.game.tiny_programs import TWO_ENDED, Buffer, program_of
from tests.strategies import random_program


@pytest.mark.parametrize("seed", range(4))
def test_gymnasiums_checker_has_nothing_to_say(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(MallocEnv(random_program(seed, 30)))


@pytest.mark.parametrize("seed", range(8))
def test_an_episode_returns_the_simulated_saving(seed: int) -> None:
    program = random_program(seed, 40)
    env = MallocEnv(program)
    chance = random.Random(seed)
    observation, _ = env.reset(seed=seed)
    total, is_over = 0.0, False
    while not is_over:
        assert env.observation_space.contains(observation)
        observation, reward, is_over, _, _ = env.step(np.int64(chance.randrange(NUM_ACTIONS)))
        total += reward
    plan = env.plan()
    assert check(program, plan) is None
    saved = (program.all_slow_s - simulate(program, plan).latency_s) / program.all_slow_s
    assert total == pytest.approx(saved, abs=1e-6)


def test_illegal_actions_are_replaced_and_forced_moves_play_themselves() -> None:
    a = Buffer(4, writes={0: 3}, reads={1: 3})
    env = MallocEnv(program_of([5, 5], [a]))
    _, info = env.reset()
    assert info["action_mask"].tolist() == [0, 1, 1, 0, 1]
    # Copy is illegal, NoCopy counts; what touches nothing any more plays itself.
    _, reward, is_over, _, info = env.step(np.int64(COPY))
    assert info["played_action"] == NO_COPY
    assert not is_over
    _, more, is_over, _, _ = env.step(np.int64(NO_COPY))
    assert is_over
    assert reward + more == pytest.approx(6 / 16)


def test_drop_replaces_where_nocopy_is_illegal_too() -> None:
    a = Buffer(4, reads={0: 3}, is_input=True)
    env = MallocEnv(program_of([5, 5], [a]))
    env.reset()
    _, reward, _, _, info = env.step(np.int64(NO_COPY))
    assert info["played_action"] == DROP
    assert reward == 0


def test_rewards_before_the_first_decision_come_with_the_first_step() -> None:
    out = Buffer(2, writes={0: 3}, is_live_out=True)
    env = MallocEnv(program_of([5], [out], reserved={0: 16}))
    env.reset()
    assert env.game.is_over
    _, reward, is_over, _, info = env.step(np.int64(COPY))
    assert (reward, is_over) == (0, True)
    assert info["action_mask"].tolist() == [1] * NUM_ACTIONS


def test_observed_addresses_show_scratch_stays_and_ghosts() -> None:
    a = Buffer(8, reads={1: 9, 4: 9}, is_input=True)
    b = Buffer(4, reads={3: 1}, is_input=True)
    program = program_of([9] * 5, [a, b], fast_bytes=64, reserved={3: 16})
    env = MallocEnv(program, TWO_ENDED)
    env.reset()
    observation, *_ = env.step(np.int64(COPY))
    assert np.flatnonzero(observation["occupied"]).tolist() == list(range(16))
    assert np.flatnonzero(observation["ghosts"]).tolist() == list(range(56, 64))
    assert observation["move"][4] == pytest.approx(4 / 64)
    # Slot 0 has one idle second of nine left, slots 1 and 2 all nine.
    assert np.flatnonzero(observation["idle"]).tolist() == [29, 30, 31]


def test_the_spec_makes_the_same_environment_again() -> None:
    program = random_program(1, 20)
    env = MallocEnv(program)
    assert env.spec is not None
    again = env.spec.make(disable_env_checker=True)
    assert isinstance(again.unwrapped, MallocEnv)
    assert again.unwrapped.program == program


def test_stepping_before_reset_is_refused() -> None:
    env = MallocEnv(random_program(1, 20))
    with pytest.raises(ResetNeeded):
        env.step(np.int64(DROP))
