"""A trace's points as microseconds, and how errors in them spread.

Values and rewards of a trace are points above the baseline, one point being `point_s`
seconds; so are the microseconds made of them: zero is as good as the baseline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.agent.trace_io import SearchTrace

Floats = NDArray[np.float64]
MICRO = 1e6
"""Microseconds in a second."""


@dataclass(frozen=True)
class Spread:
    """How `count` errors spread, in microseconds.

    `mean_us` keeps the signs (positive: predicted too much); the others are of absolute errors:
    their mean, their 50 % and 90 % quantiles, and the largest.
    """

    count: int
    mean_us: float
    mean_abs_us: float
    median_abs_us: float
    ninth_decile_abs_us: float
    max_abs_us: float


def microseconds(trace: SearchTrace, points: ArrayLike) -> Floats:
    """Points of this trace in microseconds, of the same shape."""
    return np.asarray(points, np.float64) * (trace.point_s * MICRO)


def achieved_us(trace: SearchTrace) -> Floats:
    """What the game really earned above the baseline from each move on, `[L]`."""
    earned = microseconds(trace, trace.reward)
    rest: Floats = np.cumsum(earned[::-1])[::-1]
    return rest


def spread(errors_us: NDArray[Any]) -> Spread:
    """The spread of at least one error. Raises ValueError if there is none."""
    if not errors_us.size:
        raise ValueError("no errors to describe")
    size = np.abs(errors_us)
    median, decile = np.quantile(size, [0.5, 0.9])
    return Spread(
        count=int(size.size),
        mean_us=float(errors_us.mean()),
        mean_abs_us=float(size.mean()),
        median_abs_us=float(median),
        ninth_decile_abs_us=float(decile),
        max_abs_us=float(size.max()),
    )
