"""How long some work takes, in wall-clock seconds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

Work = Callable[[], object]


def seconds_of(work: Work) -> float:
    """Wall-clock seconds of doing it once."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def median_seconds(work: Work, times: int) -> float:
    """Wall-clock seconds of doing it so many times, the middle one."""
    return statistics.median(seconds_of(work) for _ in range(times))
