"""Predicted against achieved values: bins, correlation, errors."""

from __future__ import annotations

import numpy as np
import pytest

from engine.debugging.model_error import calibrate, value_calibration
from engine.debugging.trace_units import achieved_us
from tests.debugging.traces import hand_made, real_run

pytestmark = pytest.mark.timeout(900)
"""The tiny agent is compiled in whichever test asks first."""


def test_what_was_achieved_is_what_was_still_to_come() -> None:
    assert achieved_us(hand_made([1.0, -2.0, 0.5], [0, 0, 0])).tolist() == [-1.0, -3.0, 1.0]


def test_raw_and_searched_values_are_kept_apart() -> None:
    trace = hand_made([1.0, 2.0, 3.0], [6, 5, 3], raw_value=np.array([8, 7, 5], np.float32))
    found = value_calibration(trace)
    assert found.search.error.max_abs_us == 0
    assert found.raw.error.mean_us == 4.0
    assert found.raw.correlation == found.search.correlation == pytest.approx(1.0)


def test_bins_are_equally_full_and_rise() -> None:
    predicted = np.array([5.0, 1.0, 3.0, 2.0, 6.0, 4.0])
    found = calibrate(predicted, -predicted, num_bins=3)
    assert [(b.predicted_us, b.achieved_us, b.count) for b in found.bins] == [
        (1.5, -1.5, 2),
        (3.5, -3.5, 2),
        (5.5, -5.5, 2),
    ]
    assert found.correlation == pytest.approx(-1)
    assert found.error.mean_us == 7


def test_equal_predictions_share_a_bin() -> None:
    found = calibrate(np.array([1.0, 1.0, 1.0, 1.0, 9.0]), np.arange(5.0), num_bins=5)
    assert [(b.predicted_us, b.count) for b in found.bins] == [(1.0, 4), (9.0, 1)]
    constant = calibrate(np.ones(4), np.arange(4.0))
    assert [(b.achieved_us, b.count) for b in constant.bins] == [(1.5, 4)]
    assert constant.correlation is None


def test_the_largest_predictions_are_apart_where_many_are_equal() -> None:
    found = calibrate(np.repeat([0.0, 100.0], [71, 30]), np.zeros(101))
    assert [(b.predicted_us, b.count) for b in found.bins] == [(0.0, 71), (100.0, 30)]


def test_a_prediction_on_an_edge_belongs_to_the_upper_bin() -> None:
    found = calibrate(np.array([1.0, 2.0, 3.0]), np.zeros(3), num_bins=2)
    assert [(b.predicted_us, b.count) for b in found.bins] == [(1.0, 1), (2.5, 2)]


def test_no_moves_no_calibration() -> None:
    with pytest.raises(ValueError, match="no errors"):
        value_calibration(hand_made([], []))


def test_a_real_trace() -> None:
    _, _, trace = real_run()
    found = value_calibration(trace, num_bins=3)
    for side, value in ((found.raw, trace.raw_value), (found.search, trace.value)):
        assert sum(b.count for b in side.bins) == side.error.count == trace.num_moves
        mean = sum(b.predicted_us * b.count for b in side.bins) / trace.num_moves
        assert mean == pytest.approx(float(value.mean()) * trace.point_s * 1e6, rel=1e-4)
