"""Whether predicted values come true: predicted against achieved rest of the game."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.agent.trace_io import SearchTrace
from engine.debugging.points import Floats, Spread, achieved_us, microseconds, spread

NUM_BINS = 10


@dataclass(frozen=True)
class Bin:
    """Moves with similar predictions: the means of what was predicted and what came true."""

    predicted_us: float
    achieved_us: float
    count: int


@dataclass(frozen=True)
class Calibration:
    """How well one source of values foretells, over the moves of one game.

    `bins`: by rising prediction. `correlation`: Pearson's; None where either side is constant.
    `error`: predicted less achieved.
    """

    bins: tuple[Bin, ...]
    correlation: float | None
    error: Spread


@dataclass(frozen=True)
class ValueCalibration:
    """The networks' `raw` values and those after the `search`."""

    raw: Calibration
    search: Calibration


def value_calibration(trace: SearchTrace, num_bins: int = NUM_BINS) -> ValueCalibration:
    """How values foretold the rest of a game. Raises ValueError for a game without moves."""
    achieved = achieved_us(trace)
    return ValueCalibration(
        raw=calibrate(microseconds(trace, trace.raw_value), achieved, num_bins),
        search=calibrate(microseconds(trace, trace.value), achieved, num_bins),
    )


def calibrate(predicted_us: Floats, achieved_us: Floats, num_bins: int = NUM_BINS) -> Calibration:
    """At most `num_bins` bins of about equally many moves; equal predictions share a bin.

    Raises ValueError if there is nothing to compare.
    """
    error = spread(predicted_us - achieved_us)
    edges = np.unique(np.quantile(predicted_us, np.linspace(0.0, 1.0, num_bins + 1)))
    place = np.searchsorted(edges[1:-1], predicted_us, side="right")
    bins = []
    for index in np.unique(place):
        inside = place == index
        bins.append(
            Bin(
                predicted_us=float(predicted_us[inside].mean()),
                achieved_us=float(achieved_us[inside].mean()),
                count=int(inside.sum()),
            )
        )
    return Calibration(tuple(bins), _correlation(predicted_us, achieved_us), error)


def _correlation(first: Floats, second: Floats) -> float | None:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(first, second)[0, 1])
