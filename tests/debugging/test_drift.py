"""Errors of the learned model per imagined step, on traces made by hand and a real one."""

from __future__ import annotations

import numpy as np
import pytest

from engine.debugging.model_error import drift
from tests.debugging.traces import hand_made, real_run

pytestmark = pytest.mark.timeout(900)
"""The tiny agent is compiled in whichever test asks first."""


def test_a_perfect_model_does_not_drift() -> None:
    steps = drift(hand_made([1.0, -2.0, 0.5, 3.0], [2.5, 1.5, 3.5, 3.0]))
    assert [s.step for s in steps] == [0, 1, 2]
    assert [s.reward.count for s in steps] == [4, 3, 2]
    for step in steps:
        assert step.reward.max_abs_us == step.value.max_abs_us == step.slip.max_abs_us == 0
    # A point is 2 µs.
    assert [s.reward_size_us for s in steps] == pytest.approx([3.25, 11 / 3, 3.5])
    assert [s.value_size_us for s in steps] == pytest.approx([5.25, 16 / 3, 6.5])


def test_errors_keep_step_and_sign_apart() -> None:
    reward = np.array([[1, 1], [1, 3], [1, 0]], np.float32)
    value = np.array([[3, 2], [2, 0], [1, 0]], np.float32)
    trace = hand_made(
        [1, 1, 1],
        [9, 9, 9],
        raw_value=np.array([3, 2, 2], np.float32),
        imagined_reward=reward,
        imagined_value=value,
    )
    here, ahead = drift(trace)
    assert here.reward.mean_abs_us == here.value.mean_abs_us == 0
    # The imagined move 2, foreseen from move 1: two points too much reward, one too little value,
    # which is two less than the networks say of the real position.
    assert ahead.reward.count == 2
    assert (ahead.reward.mean_us, ahead.reward.mean_abs_us, ahead.reward.max_abs_us) == (2, 2, 4)
    assert (ahead.value.mean_us, ahead.value.mean_abs_us) == (-1, 1)
    assert (ahead.slip.mean_us, ahead.slip.max_abs_us) == (-2, 4)
    assert ahead.reward.median_abs_us == pytest.approx(2)
    assert ahead.reward.ninth_decile_abs_us == pytest.approx(3.6)


def test_steps_past_the_end_do_not_count() -> None:
    assert [s.step for s in drift(hand_made([1.0], [1.0]))] == [0]
    assert drift(hand_made([], [])) == ()


@pytest.mark.nightly
def test_a_real_trace() -> None:
    _, _, trace = real_run()
    steps = drift(trace)
    assert len(steps) == min(trace.num_moves, trace.imagined_reward.shape[1])
    assert [s.value.count for s in steps] == [trace.num_moves - s.step for s in steps]
    # Before anything is imagined the model stands on the real position.
    assert steps[0].slip.max_abs_us <= 1e-4 * trace.point_s * 1e6
    assert steps[0].value.mean_abs_us > 0
    last = trace.num_moves - 1
    error = (trace.imagined_reward[last - 1, 1] - trace.reward[last]) * trace.point_s * 1e6
    assert steps[1].reward.max_abs_us >= abs(error) * (1 - 1e-6)
