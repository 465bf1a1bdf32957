"""Floor and savings of instructions that are equal but for their names, from what was seen of them.

`cycles(placement) = max(floor, total - Σ saving_j·fast_j)`, savings >= 0, by least squares; those
of writes may be negative where the instruction was seen to take longer than with all slow. What
even this cannot say is said rather too slow than too fast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

FloatArray = NDArray[np.float64]

PRIOR_WEIGHT = 1e-3
"""Weight of the prior against the least observation: it decides only what the data leave open."""

CAUTION = 4.0
"""How much more an error counts that credits a placement with more than it saves."""

FLOOR_WIDTH = 0.02
"""Cycles within this share of an instruction's all-slow cycles above its floor are at the floor."""

MAX_ROUNDS = 20
"""Rounds at most, until it is settled which placements are credited with too much."""

LIMIT_WEIGHT = 100.0
"""Weight of the limit to all savings of an instruction against one observation."""

MUCH_LESS = 0.5
TINY_LOSS = 1e-10
"""A floor has to explain at least half of what is left, and something must be left."""


@dataclass(frozen=True)
class SeenPool:
    """A pool of equal instructions with `J` accesses, as compiles showed it at `R` placements.

    `total`: cycles with all slow. `matrix` `[R, J]`: which accesses were fast; `cycles`, `weights`
    `[R]`: the compiler's cycles, and how much they count. `near` `[J]`: the savings to which a
    weak pull draws what the placements leave open. `may_cost` `[J]`: whose saving may be negative.
    """

    total: float
    matrix: FloatArray
    cycles: FloatArray
    weights: FloatArray
    near: FloatArray
    may_cost: NDArray[np.bool_]

    def fit(self, limit: float) -> tuple[float, FloatArray]:
        """The floor and the savings `[J]` that explain best what was seen.

        Without a floor all savings sum to at most `limit`, with one to at most `total`. A floor is
        one of the cycles that were seen, below `total`, and only taken where sums alone explain
        less.
        """
        best = (0.0, self.savings(0.0, limit))
        least = self.loss(*best)
        lower = (self.cycles > 0) & (self.cycles < self.total)
        for floor in sorted(set(self.cycles[lower].tolist())):
            trial = (floor, self.savings(floor, self.total))
            loss = self.loss(*trial)
            if loss < MUCH_LESS * least and least > TINY_LOSS:
                best, least = trial, loss
        return best

    def savings(self, floor: float, limit: float) -> FloatArray:
        """Savings `[J]` under a floor, at most `limit` in all, and negative where they may be.

        What was seen at the floor only has to save enough to come down to it. Crediting a placement
        with more than it saves counts `CAUTION` times as much as with less.
        """
        is_at_floor = self.cycles <= floor + FLOOR_WIDTH * self.total if floor > 0 else None
        goal = self.total - self.cycles
        if is_at_floor is not None:
            goal = np.where(is_at_floor, self.total - floor, goal)
        factor = np.ones(len(goal))
        for _ in range(MAX_ROUNDS):
            savings = self._nearest(goal, self.weights * factor, limit)
            saved = self.matrix @ savings
            now = np.where(saved > goal * (1 + 1e-9), CAUTION, 1.0)
            if is_at_floor is not None:
                now = np.where(is_at_floor, np.where(saved > goal * (1 + 1e-9), 0.0, 1.0), now)
            if (now == factor).all():
                break
            factor = now
        return savings

    def loss(self, floor: float, savings: FloatArray) -> float:
        """The weighted sum of squares of relative errors; too much credit counts more."""
        error = np.maximum(floor, self.total - self.matrix @ savings) - self.cycles
        counts = self.weights * np.where(error < 0, CAUTION, 1.0)
        return float(np.sum((counts * error / self.total) ** 2))

    def _nearest(self, goal: FloatArray, weights: FloatArray, limit: float) -> FloatArray:
        """Savings `[J]` nearest to `goal` by weighted least squares, at most `limit` in all.

        What an access saves and what it costs are two variables, neither negative.
        """
        count, costs = self.matrix.shape[1], np.flatnonzero(self.may_cost)
        matrix = np.hstack([self.matrix, -self.matrix[:, costs]])
        pull = PRIOR_WEIGHT * self.weights.min()
        stacked = np.vstack([weights[:, None] * matrix, pull * np.eye(matrix.shape[1])])
        slack = np.zeros((len(stacked), 1))
        is_limited = np.concatenate([np.ones(count), np.zeros(len(costs)), [1.0]])
        stacked = np.vstack([np.hstack([stacked, slack]), LIMIT_WEIGHT * is_limited])
        near = np.concatenate([self.near, np.zeros(len(costs))])
        aim = np.concatenate([weights * goal, pull * near, [LIMIT_WEIGHT * limit]])
        parts: FloatArray = nnls(stacked, aim / self.total, maxiter=200 + 60 * len(near))[0]
        parts *= self.total
        savings = parts[:count] * min(1.0, limit / max(float(parts[:count].sum()), 1.0))
        savings[costs] -= parts[count:-1]
        return savings
