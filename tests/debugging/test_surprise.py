"""Signs of surprise, their index and its order, on traces made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from engine.debugging.surprise import CORRECTION, JUMP, POLICY, VISITS, surprises
from tests.debugging.traces import hand_made, real_run, tree

pytestmark = pytest.mark.timeout(900)
"""The tiny agent is compiled in whichever test asks first."""


def test_a_game_that_goes_as_foreseen_holds_no_surprise() -> None:
    found = surprises(hand_made([1.0, -2.0, 0.5], [-0.5, -1.5, 0.5]))
    assert found.index.tolist() == [0, 0, 0]
    assert found.inbox() == []
    assert found.order() == [0, 1, 2]


def test_jumps_and_corrections_in_microseconds() -> None:
    trace = hand_made([1.0, 1.0, 1.0], [2.0, 2.0, 4.0], raw_value=np.array([2, 2, 1], np.float32))
    found = surprises(trace)
    # A point is 2 µs; after the last move nothing is left to earn.
    assert found.value_jump_us.tolist() == [2.0, 6.0, -6.0]
    assert found.correction_us.tolist() == [0.0, 0.0, 6.0]
    # Relative to the means 14/3 and 2; the other two signs are silent.
    assert found.index == pytest.approx([3 / 28, 9 / 28, (9 / 7 + 3) / 4])
    assert [(s.move, s.rank, s.why) for s in found.inbox()] == [
        (2, 0, CORRECTION),
        (1, 1, JUMP),
        (0, 2, JUMP),
    ]
    assert [s.move for s in found.inbox(1)] == [2]


def test_shifts_are_total_variations() -> None:
    prior = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]], np.float32)
    policy = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], np.float32)
    trace = hand_made([0, 0], [0, 0], prior=prior, policy=policy, **tree([[1, 3, 0], [2, 3, 5]]))
    found = surprises(trace)
    assert found.visit_shift == pytest.approx([0.25, 0.0], abs=1e-6)
    assert found.policy_shift == pytest.approx([0.0, 0.5], abs=1e-6)
    assert [s.why for s in sorted(found.inbox(), key=lambda s: s.move)] == [VISITS, POLICY]


def test_without_visits_the_search_says_nothing() -> None:
    prior = np.array([[0.5, 0.5, 0.0]], np.float32)
    found = surprises(hand_made([0], [0], prior=prior, policy=prior, **tree([[0, 0, 0]])))
    assert found.visit_shift.tolist() == [0.0]


def test_a_game_without_moves() -> None:
    found = surprises(hand_made([], []))
    assert found.index.shape == (0,)
    assert found.inbox() == []


def test_a_real_trace() -> None:
    _, _, trace = real_run()
    found = surprises(trace)
    assert sorted(found.order()) == list(range(trace.num_moves))
    assert np.all(np.diff(found.index[found.order()]) <= 0)
    # Every sign that occurs at all averages one.
    means = found.relative.mean(axis=0)
    assert means[means > 0] == pytest.approx(1.0)
    assert means[2] > 0
    # The jumps add up: everything earned, less what was expected at first.
    total = (trace.reward.sum() - trace.value[0]) * trace.point_s * 1e6
    assert found.value_jump_us.sum() == pytest.approx(total, rel=1e-4)
    # No sign of a shifted policy where there is no choice.
    forced = trace.legal.sum(axis=1) == 1
    assert forced.any()
    assert found.policy_shift[forced] == pytest.approx(0, abs=1e-6)
    assert found.visit_shift[forced] == pytest.approx(0, abs=1e-6)
