"""Branch and bound on the 0/1 variables of a linear program, every leaf certified by itself.

The leaves' boxes cover all 0/1 points: a node is split at one variable, and a value is only ruled
out where multipliers prove that it leads to nothing below the target. What a leaf is worth is
evaluated by `Duality`, so the result is a bound whatever HiGHS's tolerances are; HiGHS only
proposes multipliers and the variable to branch on.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import highspy
import numpy as np
from numpy.typing import NDArray

from engine.plan.bounds.linear import Certificate, LinearProgram, asking, finite

FloatArray = NDArray[np.float64]

FRACTIONAL = 1e-6
"""Values closer to 0 or 1 count as whole; a leaf is certified by its box, not by them."""
NUM_TRIED = 8
TRIED_ITERATIONS, TRIED_S = 60, 1.0
"""At a node, so many variables never branched on are tried, with so many simplex iterations and
seconds for each side."""
LEAST_GAIN, MOST_GAIN = 1e-7, 1e6


@dataclass(frozen=True)
class Branched:
    """The result of branch and bound.

    `bound`: no 0/1 point that satisfies the rows costs less than this or than the target.
    `is_closed`: nothing is left to branch on: the bound is the target, or the cost of the best
    point within tolerances. `num_nodes`: linear programs solved for nodes.
    """

    bound: float
    is_closed: bool
    num_nodes: int


@dataclass(order=True)
class _Node:
    """A box, the bound of the node that it was split from, and that node's basis."""

    bound: float
    order: int
    low: FloatArray = field(compare=False)
    high: FloatArray = field(compare=False)
    basis: highspy.HighsBasis | None = field(compare=False)


@dataclass(frozen=True)
class _Solved:
    """The solution of a node's linear program.

    `certificate`: its bound, which is safe against tolerances. `values` of the variables and the
    simplex `basis` are None if the program is infeasible, or was not solved to its optimum.
    """

    certificate: Certificate
    values: FloatArray | None
    basis: highspy.HighsBasis | None


Progress = Callable[[float], bool]


class Branching:
    """The search: the open node with the least bound first."""

    def __init__(self, linear: LinearProgram, target: float) -> None:
        self.target = target
        self.num_nodes = 0
        self._duality = linear.duality()
        self._whole = np.asarray(linear.whole, dtype=np.int64)
        self._columns = np.arange(len(linear.costs), dtype=np.int32)
        self._solver = _solver(linear)
        self._closed = math.inf
        self._is_stuck = False
        low, high = np.asarray(linear.low), np.asarray(linear.high)
        self._open = [_Node(-math.inf, 0, low.astype(float), high.astype(float), None)]
        self._made = 1
        self._gains = np.full((2, len(linear.costs)), np.nan)
        self._deadline, self._proven = math.inf, -math.inf
        self._goes_on: Progress = lambda bound: True
        self._is_wanted = True

    @property
    def bound(self) -> float:
        """The lower bound that is proven so far."""
        least = self._open[0].bound if self._open else math.inf
        return min(self.target, self._closed, least)

    def run(self, seconds: float, goes_on: Progress = lambda bound: True) -> Branched:
        """Branch until the time is over, `goes_on` (given the bound) says no, or all is closed."""
        self._deadline, self._goes_on = time.perf_counter() + seconds, goes_on
        ask = asking(self._ask)
        self._solver.cbSimplexInterrupt += ask
        while self._open and self._open[0].bound < min(self.target, self._closed):
            self._proven = self.bound
            if self._left_s <= 0 or not self._ask():
                break
            self._expand(heapq.heappop(self._open))
        self._solver.cbSimplexInterrupt -= ask
        is_closed = not self._open or self._open[0].bound >= min(self.target, self._closed)
        return Branched(self.bound, is_closed and not self._is_stuck, self.num_nodes)

    @property
    def _left_s(self) -> float:
        return self._deadline - time.perf_counter()

    def _ask(self) -> bool:
        """Whether to go on, by the bound before the node at hand; after a no it is no for good."""
        self._is_wanted = self._is_wanted and self._goes_on(self._proven)
        return self._is_wanted

    def _expand(self, node: _Node) -> None:
        self.num_nodes += 1
        solved = self._solve(node)
        # From here on without presolve: the basis of a node is a start for the next.
        self._solver.setOptionValue("presolve", "off")
        bound = max(node.bound, solved.certificate.value)
        if bound >= self.target:
            return
        if solved.values is None:
            # The time is over, or the solver cannot say more: a leaf with what is proven of it.
            self._closed = min(self._closed, bound)
            self._is_stuck = True
            return
        self._fix(node, solved.certificate)
        values = solved.values[self._whole]
        free = node.low[self._whole] < node.high[self._whole]
        is_split = (np.abs(values - np.round(values)) > FRACTIONAL) & free
        if not is_split.any():
            self._closed = min(self._closed, bound)
            return
        variable = self._choose(node, solved, self._whole[is_split])
        for side in (0.0, 1.0):
            self._push(node, bound, variable, side, solved.basis)

    def _push(
        self,
        node: _Node,
        bound: float,
        variable: int,
        side: float,
        basis: highspy.HighsBasis | None,
    ) -> None:
        low, high = node.low.copy(), node.high.copy()
        low[variable] = high[variable] = side
        heapq.heappush(self._open, _Node(bound, self._made, low, high, basis))
        self._made += 1

    def _fix(self, node: _Node, certificate: Certificate) -> None:
        """Rule out the values whose reduced cost alone lifts the certificate to the target."""
        if not math.isfinite(self.target):
            return
        bound, reduced = certificate.value, certificate.reduced
        free = self._whole[node.low[self._whole] < node.high[self._whole]]
        node.high[free[bound + reduced[free] >= self.target]] = 0.0
        node.low[free[bound - reduced[free] >= self.target]] = 1.0

    def _choose(self, node: _Node, solved: _Solved, split: NDArray[np.int64]) -> int:
        """Pseudo-cost branching, product rule; unknown pseudo-costs are measured first."""
        assert solved.values is not None
        share = solved.values[split]
        unknown = split[np.isnan(self._gains[0, split])]
        if len(unknown):
            known = np.minimum(solved.values[unknown], 1.0 - solved.values[unknown])
            weight = known * (1e-3 + np.abs(self._duality.costs[unknown]))
            for variable in unknown[np.argsort(-weight)][:NUM_TRIED]:
                if self._is_wanted and self._left_s > 0:
                    self._try(node, solved, int(variable))
        down = np.nan_to_num(self._gains[0, split]) * share
        up = np.nan_to_num(self._gains[1, split]) * (1.0 - share)
        score = np.maximum(down, LEAST_GAIN) * np.maximum(up, LEAST_GAIN)
        return int(split[np.argmax(score)])

    def _try(self, node: _Node, solved: _Solved, variable: int) -> None:
        """Measure a variable's pseudo-costs with a few iterations for each side."""
        assert solved.values is not None
        share = float(solved.values[variable])
        before = solved.certificate.value
        most = min(self.target - before, MOST_GAIN)
        self._solver.setOptionValue("simplex_iteration_limit", TRIED_ITERATIONS)
        for side, part in ((0, share), (1, 1.0 - share)):
            low, high = node.low.copy(), node.high.copy()
            low[variable] = high[variable] = float(side)
            child = self._solve(_Node(before, 0, low, high, solved.basis), TRIED_S)
            gain = min(max(0.0, child.certificate.value - before), most)
            self._gains[side, variable] = gain / max(part, FRACTIONAL)
        self._solver.setOptionValue("simplex_iteration_limit", highspy.kHighsIInf)

    def _solve(self, node: _Node, most_s: float = math.inf) -> _Solved:
        solver, seconds = self._solver, min(most_s, self._left_s)
        solver.changeColsBounds(len(self._columns), self._columns, node.low, node.high)
        if node.basis is not None:
            solver.setBasis(node.basis)
        solver.setOptionValue("time_limit", solver.getRunTime() + max(seconds, 0.01))
        solver.run()
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return _Solved(self._certify_infeasible(node), None, None)
        solution = solver.getSolution()
        duals = finite(solution.row_dual, self._duality.num_rows)
        certificate = self._duality.certify(duals, node.low, node.high)
        if status != highspy.HighsModelStatus.kOptimal:
            return _Solved(certificate, None, None)
        values = np.clip(np.asarray(solution.col_value), node.low, node.high)
        return _Solved(certificate, values, solver.getBasis())

    def _certify_infeasible(self, node: _Node) -> Certificate:
        """An infeasible node's certificate: infinite if the dual ray proves it, else the box's."""
        _, has_ray, dual_ray = self._solver.getDualRay()  # type: ignore[attr-defined]
        nothing = np.zeros(self._duality.num_rows)
        ray = finite(dual_ray, self._duality.num_rows) if has_ray else nothing
        alone = self._duality.certify(nothing, node.low, node.high)
        if self._duality.proves_empty(ray, node.low, node.high):
            return Certificate(math.inf, alone.reduced)
        return alone


def _solver(linear: LinearProgram) -> highspy.Highs:
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("solver", "simplex")
    solver.passModel(linear.model())
    return solver
