"""Percentiles of the explorer's times."""

from __future__ import annotations

import pytest

from benchmarks.explorer_steps import percentile


@pytest.mark.parametrize(("count", "rank"), [(1, 1), (10, 10), (20, 19), (21, 20), (200, 190)])
def test_a_percentile_is_the_least_that_so_many_do_not_exceed(count: int, rank: int) -> None:
    times = [float(number) for number in range(count, 0, -1)]
    assert percentile(times, 0.95) == rank
    assert percentile(times, 1.0) == count
