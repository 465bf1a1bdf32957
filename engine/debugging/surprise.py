"""Which moves of a game surprised the agent: where its search overruled its first thought.

Four signs are measured at every move. Each is divided by its mean over the game, so that signs of
different units weigh alike; the *index* is the mean of the four. An index of 1 is an average move
of this game, 5 is five times as surprising.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.agent.trace_io import SearchTrace
from engine.debugging.trace_units import Floats, microseconds

VISITS, POLICY, JUMP, CORRECTION = "visits", "policy", "value jump", "correction"
SIGNS = (VISITS, POLICY, JUMP, CORRECTION)


@dataclass(frozen=True)
class Surprise:
    """One move. `why`: the sign, one of `SIGNS`, that stands out most; the rest: see `Surprises`.

    `rank`: 0 is the most surprising move of the game.
    """

    rank: int
    move: int
    index: float
    why: str
    visit_shift: float
    policy_shift: float
    value_jump_us: float
    correction_us: float


@dataclass(frozen=True, eq=False)
class Surprises:
    """All moves of a game, each `[L]`.

    `visit_shift`, `policy_shift`: total variation between the prior and the share of the visits,
    and between the prior and the improved policy (0: equal, 1: nothing in common). (Gumbel search
    spreads few visits by its schedule; the improved policy says better what it concluded.)
    `value_jump_us`: reward plus searched value after the move, less the searched value before it:
    positive where things turned out better than expected. `correction_us`: searched value less the
    networks' own. `relative` `[L, 4]`: the signs, absolute, over their means.
    """

    visit_shift: Floats
    policy_shift: Floats
    value_jump_us: Floats
    correction_us: Floats
    relative: Floats

    @property
    def index(self) -> Floats:
        """The surprise of each move, `[L]`."""
        mean: Floats = self.relative.mean(axis=1)
        return mean

    def order(self) -> list[int]:
        """All moves, most surprising first; among equals in the order of the game."""
        return [int(move) for move in np.argsort(-self.index, kind="stable")]

    def all(self) -> list[Surprise]:
        """Every move, most surprising first."""
        return [self._at(move, rank) for rank, move in enumerate(self.order())]

    def inbox(self, limit: int | None = None) -> list[Surprise]:
        """The most surprising moves in order, without those that show no sign at all."""
        ranked = [self._at(move, rank) for rank, move in enumerate(self.order()[:limit])]
        return [surprise for surprise in ranked if surprise.index > 0]

    def _at(self, move: int, rank: int) -> Surprise:
        return Surprise(
            rank=rank,
            move=move,
            index=float(self.index[move]),
            why=SIGNS[int(self.relative[move].argmax())],
            visit_shift=float(self.visit_shift[move]),
            policy_shift=float(self.policy_shift[move]),
            value_jump_us=float(self.value_jump_us[move]),
            correction_us=float(self.correction_us[move]),
        )


def surprises(trace: SearchTrace) -> Surprises:
    """Measure every move of a traced game."""
    visits = trace.root_visits().astype(np.float64)
    total = visits.sum(axis=1, keepdims=True)
    share = np.where(total > 0, visits / np.maximum(total, 1.0), trace.prior)
    after = np.append(trace.value[1:], 0.0)
    jump = microseconds(trace, trace.reward.astype(np.float64) + after - trace.value)
    correction = microseconds(trace, trace.value.astype(np.float64) - trace.raw_value)
    visit_shift = _total_variation(trace.prior, share)
    policy_shift = _total_variation(trace.prior, trace.policy)
    signs = np.stack([visit_shift, policy_shift, np.abs(jump), np.abs(correction)], axis=1)
    return Surprises(visit_shift, policy_shift, jump, correction, _over_mean(signs))


def _total_variation(first: NDArray[Any], second: NDArray[Any]) -> Floats:
    distance: Floats = 0.5 * np.abs(first.astype(np.float64) - second).sum(axis=1)
    return distance


def _over_mean(signs: Floats) -> Floats:
    """Columns over their means; a column of zeros stays zeros."""
    mean = signs.mean(axis=0) if len(signs) else np.zeros(signs.shape[1])
    relative: Floats = signs / np.where(mean > 0, mean, 1.0)
    return relative
