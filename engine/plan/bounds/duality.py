"""Bounds from row multipliers: weak duality over a box, evaluated without trusting any solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_ROUNDING = 1e-12
"""Relative room for the rounding of sums of up to a million terms in double precision."""


@dataclass(frozen=True)
class Certificate:
    """What multipliers prove: `value` is below every point of the box that satisfies the rows.

    `reduced` `[C]`: how much the value rises per unit by which a variable leaves its better limit.
    """

    value: float
    reduced: FloatArray


class Rows(Protocol):
    """What a bound needs of a linear program: costs, and its rows, sparse (`LinearProgram`)."""

    @property
    def costs(self) -> Sequence[float]: ...
    @property
    def starts(self) -> Sequence[int]: ...
    @property
    def columns(self) -> Sequence[int]: ...
    @property
    def entries(self) -> Sequence[float]: ...
    @property
    def row_low(self) -> Sequence[float]: ...
    @property
    def row_high(self) -> Sequence[float]: ...


class Duality:
    """The rows and costs of a linear program as arrays; its box is an argument."""

    def __init__(self, linear: Rows) -> None:
        self.costs = np.asarray(linear.costs, dtype=np.float64)
        self._entries = np.asarray(linear.entries, dtype=np.float64)
        self._columns = np.asarray(linear.columns, dtype=np.int64)
        self._lengths = np.diff(linear.starts)
        self._row_low = np.asarray(linear.row_low, dtype=np.float64)
        self._row_high = np.asarray(linear.row_high, dtype=np.float64)
        self.num_rows = len(linear.row_low)

    def certify(self, duals: FloatArray, low: FloatArray, high: FloatArray) -> Certificate:
        """Lower bound from any multipliers `duals` `[R]`, for variables in `[low, high]` `[C]`.

        `min c·x ≥ Σ_r y_r b_r + Σ_j min over the box of (c - Aᵀy)_j x_j`, where `b_r` is the row's
        lower side for `y_r > 0` and its upper side for `y_r < 0`; a multiplier whose side is
        infinite counts as zero. Rounding is subtracted. (Neumaier and Shcherbina 2004, section 3.)
        """
        return self._certify(self.costs, duals, low, high)

    def proves_empty(self, ray: FloatArray, low: FloatArray, high: FloatArray) -> bool:
        """Whether these multipliers prove that no point of the box satisfies the rows (Farkas).

        Were there one, then without costs no bound could be above 0.
        """
        nothing = np.zeros(len(self.costs))
        return any(self._certify(nothing, y, low, high).value > 0 for y in (ray, -ray))

    def _certify(
        self, costs: FloatArray, duals: FloatArray, low: FloatArray, high: FloatArray
    ) -> Certificate:
        side = np.where(duals > 0, self._row_low, self._row_high)
        y = np.where(np.isfinite(side), duals, 0.0)
        rows = y * np.where(np.isfinite(side), side, 0.0)
        flow = self._entries * np.repeat(y, self._lengths)
        num = len(costs)
        reduced = costs - np.bincount(self._columns, weights=flow, minlength=num)
        noise = np.abs(costs)
        noise = noise + np.bincount(self._columns, weights=np.abs(flow), minlength=num)
        box = np.minimum(reduced * low, reduced * high)
        reach = np.maximum(np.abs(low), np.abs(high))
        slack = float(np.abs(rows).sum() + (noise * reach).sum())
        return Certificate(float(rows.sum() + box.sum()) - _ROUNDING * slack, reduced)
