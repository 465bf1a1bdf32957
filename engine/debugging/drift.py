"""How fast the learned model leaves the real rules, step by step of what it imagines.

At step `u` the model, started `u` moves earlier from a real position, has only imagined the moves
in between. The value's error has two sources: the networks misjudge positions, and the imagined
position is not the real one. The *slip* is the second alone: the imagined value against what the
same networks say of the real position at that move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.agent.trace_io import SearchTrace
from engine.debugging.points import Floats, Spread, achieved_us, microseconds, spread


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
