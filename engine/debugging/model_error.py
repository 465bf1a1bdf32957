"""How far the learned model and its values are from the real rules and the game that came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.agent.trace_io import SearchTrace
from engine.debugging.trace_units import Floats, Spread, achieved_us, microseconds, spread


@dataclass(frozen=True)
class DriftStep:
    """Errors after `step` imagined moves (0: none; the model stands on a real position).

    `reward`: imagined less real reward of the move played there. `value`: imagined value less what
    the rest of the game really earned. `slip`: imagined value less the networks' own value of the
    real position. `reward_size_us`, `value_size_us`: mean absolute real reward and rest, that is,
    the mean absolute error of who always predicts par.
    """

    step: int
    reward: Spread
    value: Spread
    slip: Spread
    reward_size_us: float
    value_size_us: float


def drift(trace: SearchTrace) -> tuple[DriftStep, ...]:
    """One entry per imagined step that fits into the game; none for a game without moves."""
    steps = min(trace.imagined_reward.shape[1], trace.num_moves)
    return tuple(_step(trace, step) for step in range(steps))


def _step(trace: SearchTrace, step: int) -> DriftStep:
    inside = trace.num_moves - step
    real_reward = microseconds(trace, trace.reward)[step:]
    rest = achieved_us(trace)[step:]
    value = microseconds(trace, trace.imagined_value)[:inside, step]
    return DriftStep(
        step=step,
        reward=spread(microseconds(trace, trace.imagined_reward)[:inside, step] - real_reward),
        value=spread(value - rest),
        slip=spread(value - microseconds(trace, trace.raw_value)[step:]),
        reward_size_us=float(np.abs(real_reward).mean()),
        value_size_us=float(np.abs(rest).mean()),
    )


def drift_by_move_us(trace: SearchTrace) -> Floats:
    """How wrong the model, started before each move, imagined what followed, `[L]`.

    The mean over the imagined steps that fit into the game of the absolute errors: of the reward,
    and of the value against the networks' own of the real position (the slip). 0 where a trace
    holds no imagined steps.
    """
    moves, steps = trace.imagined_reward.shape
    reward = microseconds(trace, trace.reward)
    raw = microseconds(trace, trace.raw_value)
    imagined = (
        microseconds(trace, trace.imagined_reward),
        microseconds(trace, trace.imagined_value),
    )
    total, count = np.zeros(moves), np.zeros(moves)
    for step in range(min(steps, moves)):
        inside = moves - step
        error = np.abs(imagined[0][:inside, step] - reward[step:])
        total[:inside] += error + np.abs(imagined[1][:inside, step] - raw[step:])
        count[:inside] += 1
    mean_us: Floats = total / np.maximum(count, 1)
    return mean_us


NUM_BINS = 10


@dataclass(frozen=True)
class Bin:
    """Moves with similar predictions: the means of what was predicted and what came true."""

    predicted_us: float
    achieved_us: float
    count: int


@dataclass(frozen=True)
class Calibration:
    """How well one source of values predicts, over the moves of one game.

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
    """How values predicted the rest of a game. Raises ValueError for a game without moves."""
    achieved = achieved_us(trace)
    return ValueCalibration(
        raw=calibrate(microseconds(trace, trace.raw_value), achieved, num_bins),
        search=calibrate(microseconds(trace, trace.value), achieved, num_bins),
    )


def calibrate(predicted_us: Floats, achieved_us: Floats, num_bins: int = NUM_BINS) -> Calibration:
    """At most `num_bins` bins of about equally many moves; equal predictions share a bin.

    Where many are equal they begin a bin of their own, the largest ones too.

    Raises ValueError if there is nothing to compare.
    """
    error = spread(predicted_us - achieved_us)
    edges = np.unique(np.quantile(predicted_us, np.linspace(0.0, 1.0, num_bins + 1)[1:-1]))
    place = np.searchsorted(edges, predicted_us, side="right")
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
