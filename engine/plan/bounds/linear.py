"""Linear programs for HiGHS, and lower bounds from dual values that no solver error can break."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_ROUNDING = 1e-12
"""Relative room for the rounding of sums of up to a million terms in double precision."""


@dataclass(frozen=True)
class Certificate:
    """What multipliers prove of the points of the box that satisfy the rows.

    `value`: no such point has a lower objective. `reduced` `[C]`: the reduced costs `c - Aᵀy`.
    """

    value: float
    reduced: FloatArray


class Duality:
    """The rows and costs of a linear program as arrays; its box is an argument."""

    def __init__(
        self,
        costs: FloatArray,
        starts: NDArray[np.int64],
        columns: NDArray[np.int64],
        entries: FloatArray,
        row_low: FloatArray,
        row_high: FloatArray,
    ) -> None:
        """Rows are compressed: row `r` has the entries `starts[r] … starts[r + 1] - 1`."""
        self.costs, self.num_rows = costs, len(row_low)
        self._lengths, self._columns, self._entries = np.diff(starts), columns, entries
        self._row_low, self._row_high = row_low, row_high

    def certify(self, duals: FloatArray, low: FloatArray, high: FloatArray) -> Certificate:
        """Lower bound from any multipliers `duals` `[R]`, for variables in `[low, high]` `[C]`.

        `min c·x ≥ Σ_r y_r b_r + Σ_j min over the box of (c - Aᵀy)_j x_j`, where `b_r` is the row's
        lower side for `y_r > 0` and its upper side for `y_r < 0`; a multiplier whose side is
        infinite counts as zero. Rounding is subtracted. (Neumaier and Shcherbina 2004, section 3.)
        """
        return self._certify(self.costs, duals, low, high)

    def proves_empty(self, ray: FloatArray, low: FloatArray, high: FloatArray) -> bool:
        """Whether these multipliers prove that no point of the box satisfies the rows (Farkas).

        With zero costs a feasible program has optimum 0, so a bound above 0 proves infeasibility.
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


Terms = Iterable[tuple[int, float]]
ASK_EVERY_S = 0.05
"""Seconds between two questions whether to go on."""


@dataclass(frozen=True)
class LinearSolution:
    """The solution of a linear program, within the solver's tolerances, and a bound.

    `bound`: a lower bound on the optimum, safe against tolerances. `values`: one per variable,
    within its limits; `duals`: one per row. Zeros where HiGHS has none.
    """

    bound: float
    values: NDArray[np.float64]
    duals: NDArray[np.float64]
    is_optimal: bool


@dataclass
class LinearProgram:
    """Minimise `costs · x` with `low ≤ x ≤ high` and rows `row_low ≤ A x ≤ row_high`.

    `whole`: variables that are 0 or 1 in every plan (`engine.plan.bounds.branching`).
    """

    costs: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    row_low: list[float] = field(default_factory=list)
    row_high: list[float] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    columns: list[int] = field(default_factory=list)
    entries: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)

    def add_variable(self, high: float, cost: float = 0.0, low: float = 0.0) -> int:
        """A variable in `[low, high]`, both finite; returns its index."""
        self.costs.append(cost)
        self.low.append(low)
        self.high.append(high)
        return len(self.costs) - 1

    def add_choice(self, high: float = 1.0) -> int:
        """A share in `[0, high]` that is 0 or 1 in every plan; noted in `whole`."""
        self.whole.append(self.add_variable(high))
        return self.whole[-1]

    def add_row(self, terms: Terms, low: float = -np.inf, high: float = np.inf) -> int:
        """A row `low ≤ Σ coefficient · variable ≤ high`; returns its index."""
        merged: dict[int, float] = {}
        for column, entry in terms:
            merged[column] = merged.get(column, 0.0) + entry
        self.columns.extend(merged)
        self.entries.extend(merged.values())
        self.starts.append(len(self.columns))
        self.row_low.append(low)
        self.row_high.append(high)
        return len(self.row_low) - 1

    def solve(
        self, time_limit_s: float, goes_on: Callable[[], bool] = lambda: True
    ) -> LinearSolution:
        """Minimise with HiGHS within the limit; without duals the bound is that of the box.

        `goes_on`: asked now and then; False ends the work as the limit does.
        """
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("time_limit", max(time_limit_s, 0.01))
        # Interior point: several times faster than simplex on these chains of equalities.
        # Vertex solutions are not needed, since the bound comes from the multipliers.
        solver.setOptionValue("solver", "ipm")
        solver.setOptionValue("run_crossover", "off")
        solver.passModel(self.model())
        solver.cbIpmInterrupt += asking(goes_on)
        solver.run()
        is_optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        solution = solver.getSolution()
        duals = finite(solution.row_dual, len(self.row_low))
        values = np.clip(finite(solution.col_value, len(self.costs)), self.low, self.high)
        return LinearSolution(self.dual_bound(duals), values, duals, is_optimal)

    def dual_bound(self, duals: NDArray[np.float64]) -> float:
        """Lower bound on the optimum from any multipliers `duals` `[R]`."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        return self.duality().certify(duals, low, high).value

    def duality(self) -> Duality:
        """The rows and costs as arrays, for bounds from multipliers with any variable limits."""
        return Duality(
            costs=np.asarray(self.costs, dtype=np.float64),
            starts=np.asarray(self.starts, dtype=np.int64),
            columns=np.asarray(self.columns, dtype=np.int64),
            entries=np.asarray(self.entries, dtype=np.float64),
            row_low=np.asarray(self.row_low, dtype=np.float64),
            row_high=np.asarray(self.row_high, dtype=np.float64),
        )

    def model(self) -> highspy.HighsLp:
        """This program as HiGHS takes it; all variables are continuous."""
        model = highspy.HighsLp()
        model.num_col_ = len(self.costs)
        model.num_row_ = len(self.row_low)
        model.col_cost_ = np.asarray(self.costs)
        model.col_lower_ = np.asarray(self.low)
        model.col_upper_ = np.asarray(self.high)
        model.row_lower_ = np.asarray(self.row_low)
        model.row_upper_ = np.asarray(self.row_high)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.asarray(self.starts, dtype=np.int32)
        model.a_matrix_.index_ = np.asarray(self.columns, dtype=np.int32)
        model.a_matrix_.value_ = np.asarray(self.entries)
        return model


def asking(goes_on: Callable[[], bool]) -> Callable[[Any], None]:
    """What a solver calls thousands of times a second: asks now and then, False interrupts it."""
    asked_s = time.perf_counter()

    def ask(event: Any) -> None:
        nonlocal asked_s
        if time.perf_counter() - asked_s >= ASK_EVERY_S:
            if not goes_on():
                event.interrupt()
            asked_s = time.perf_counter()

    return ask


def finite(values: Sequence[float], length: int) -> NDArray[np.float64]:
    """The solver's `values` as an array, or zeros if it was stopped before it had any."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (length,) or not np.isfinite(numbers).all():
        return np.zeros(length)
    return numbers
