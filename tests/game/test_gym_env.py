"""The Gymnasium environment."""

from __future__ import annotations

import random
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import Error, InvalidAction, ResetNeeded
from gymnasium.utils.env_checker import check_env

from engine.errors import ConfigError, UnknownNameError, UsageError
from engine.game.gym_env import AHEAD_FEATURES, ENV_ID, MOVE_FEATURES, SAVING, MallocEnv
from engine.game.moves import COPY, DROP, NO_COPY, NUM_ACTIONS, Rules
from engine.plan.check import check
from engine.plan.simulate import simulate
from tests.game.tiny_programs import TWO_ENDED, Buffer, program_of
from tests.strategies import random_program


@pytest.mark.parametrize("seed", range(4))
def test_gymnasiums_checker_has_nothing_to_say(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(MallocEnv(random_program(seed, 30)))
        check_env(gymnasium.make(ENV_ID, program=random_program(seed, 30)).unwrapped)


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


def test_without_a_decision_the_game_is_over_at_once_and_worth_nothing() -> None:
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


def test_a_write_that_takes_longer_into_fast_memory_is_seen_as_such() -> None:
    slow_to_write = Buffer(4, writes={0: -2, 2: -2}, reads={1: 9, 3: 9})
    env = MallocEnv(program_of([5, 5, 5, 5], [slow_to_write]))
    observation, _ = env.reset()
    space = env.observation_space
    saving, next_saving, later = (
        observation["move"][MOVE_FEATURES.index(SAVING)],
        *observation["ahead"][AHEAD_FEATURES.index(SAVING) :: len(AHEAD_FEATURES)][:2],
    )
    assert -1 < saving == later < 0 < next_saving
    assert space.contains(observation)
    # Nothing else can be negative, and the space says so.
    assert (np.flatnonzero(space["move"].low) == MOVE_FEATURES.index(SAVING)).all()
    assert not space["occupied"].low.any()


@pytest.mark.parametrize("action", [NUM_ACTIONS, 999, -1, "0", 2.9, None, np.array([1, 2])])
def test_what_is_no_action_is_refused(action: object) -> None:
    env = MallocEnv(random_program(1, 20))
    env.reset()
    before = env.game.move_index
    with pytest.raises(InvalidAction, match="whole number from 0 to 4"):
        env.step(action)  # type: ignore[arg-type]
    assert env.game.move_index == before


def test_masks_are_those_of_the_rules() -> None:
    env = gymnasium.make(ENV_ID, program=random_program(1, 20))
    _, info = env.reset()
    masks = env.get_wrapper_attr("action_masks")()
    assert masks.dtype == bool
    assert masks.tolist() == list(env.unwrapped.game.legal())  # type: ignore[attr-defined]
    assert masks.tolist() == info["action_mask"].astype(bool).tolist()
    assert 1 < masks.sum() < NUM_ACTIONS


def test_it_is_made_by_its_name_with_a_program_or_the_name_of_one() -> None:
    program = random_program(1, 20)
    for given, expected in ((program, program.name), ("teach-prefetch", "teach-prefetch")):
        env = gymnasium.make(ENV_ID, program=given)
        assert env.spec is not None and env.spec.id == ENV_ID
        again = gymnasium.make(env.spec).unwrapped
        assert isinstance(again, MallocEnv)
        assert again.program.name == expected
    with pytest.raises(UnknownNameError, match="teach-prefetch"):
        gymnasium.make(ENV_ID, program="teach-prefech")


def test_a_copy_side_by_side_has_the_same_spaces() -> None:
    envs = gymnasium.make_vec(ENV_ID, num_envs=2, program="teach-prefetch")
    observation, info = envs.reset()
    assert envs.observation_space.contains(observation)
    assert info["action_mask"].shape == (2, NUM_ACTIONS)
    envs.close()


def test_rules_with_dead_ends_are_refused() -> None:
    with pytest.raises(ConfigError, match="no strict sinks"):
        MallocEnv(random_program(1, 20), Rules(strict=True))


def test_what_is_no_program_is_refused() -> None:
    with pytest.raises(UsageError, match="program cannot be 3: give a program, a sample's name"):
        gymnasium.make(ENV_ID, program=3)


def test_options_that_would_be_ignored_are_refused() -> None:
    env = MallocEnv(random_program(1, 20))
    with pytest.raises(Error, match="'places'"):
        env.reset(options={"places": 1})


def test_stepping_before_reset_is_refused() -> None:
    env = MallocEnv(random_program(1, 20))
    with pytest.raises(ResetNeeded):
        env.step(np.int64(DROP))
