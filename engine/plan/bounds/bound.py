"""Lower bounds on the latency of every valid plan of a program: by an LP, and by branching on it.

The argument that they are bounds, and what they relax, stands in `docs/bound.md`. In short: from
any valid plan one reads off, per touch, whether its content was in fast memory all the time since
the touch before (`r`), came by a prefetch (`p`), or was made there; per write, whether it was
written back. These 0/1 numbers and the plan's stalls satisfy all rows, and the objective is at most
the plan's simulated latency. So the minimum is below every plan's latency, over fractions (the LP)
and over 0/1 points (the integer form).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from engine.errors import UsageError
from engine.plan.bounds.branching import Branching
from engine.plan.bounds.formulation import Formulation, formulate
from engine.plan.bounds.linear import LinearSolution
from engine.program.model import Program

METHODS = ("lp", "mip")

Progress = Callable[[float, float], bool]
"""Called with the share of the time that is over and the bound so far, s; False ends the search."""


@dataclass(frozen=True)
class Bound:
    """A lower bound and what the scarce things are worth at it.

    `memory_price[k]`: seconds that one more byte of fast memory in slot `k` would save (an estimate
    where whole groups are too large to use it).
    `copy_price[k]`: seconds that one more second of idle slow memory in slot `k` would save.
    `served[i]`: share to which the fractional optimum serves touch `i` from fast memory; no plan,
    but a hint. Zeros if the solver returned no solution.
    `method`: `lp` or `mip`, with `-unfinished` if the time was over first (still a bound), or,
    where nothing more can be said, `all-fast` or `all-slow` (nothing may be fast).
    Prices and shares are those of the linear program with either method.

    >>> from engine.program.library import load_sample
    >>> bound = lower_bound(load_sample("teach-keep-or-drop"))
    >>> f"{bound.bound_s * 1e6:.0f} us, by {bound.method}"
    '1333 us, by lp'
    """

    bound_s: float
    method: str
    seconds: float
    memory_price: tuple[float, ...]
    copy_price: tuple[float, ...]
    served: tuple[float, ...]


def lower_bound(
    program: Program,
    time_limit_s: float = 60.0,
    method: str = "lp",
    target_s: float = math.inf,
    progress: Progress = lambda share, bound_s: True,
) -> Bound:
    """A number of seconds that no valid plan of `program` can go below.

    HiGHS solves the linear programs; each is evaluated from its row multipliers in this package's
    own arithmetic, so the result is a bound whatever the solver's tolerances are. `method` `mip`
    branches on the variables that are 0 or 1 in every plan, and is never below `lp`. It stops at
    `target_s`, the latency of the best plan known: no more can be proven then. Raises UsageError
    for an unknown method.
    """
    if method not in METHODS:
        raise UsageError(f"bound: no method {method!r}; there are {', '.join(METHODS)}")
    began = time.perf_counter()
    formulation = formulate(program)
    if formulation is None:
        return _all_slow(program, time.perf_counter() - began)
    solution = formulation.linear.solve(time_limit_s - (time.perf_counter() - began))
    bound = _relaxed(formulation, solution, began)
    if method == "lp":
        return bound
    left = time_limit_s - (time.perf_counter() - began)
    bound = _branched(formulation, bound, target_s, left, progress)
    return replace(bound, seconds=time.perf_counter() - began)


def _all_slow(program: Program, seconds: float) -> Bound:
    free = (0.0,) * program.num_slots
    served = (0.0,) * len(program.touches)
    return Bound(program.all_slow_s, "all-slow", seconds, free, free, served)


def _relaxed(formulation: Formulation, solution: LinearSolution, began: float) -> Bound:
    latency_s = formulation.seconds(solution.bound)
    floor_s = formulation.program.all_fast_s
    prices = np.maximum(-solution.duals, 0.0)
    method = "lp" if solution.is_optimal else "lp-unfinished"
    return Bound(
        bound_s=max(latency_s, floor_s),
        method=method if latency_s > floor_s else "all-fast",
        seconds=time.perf_counter() - began,
        memory_price=tuple(formulation.memory_price(prices).tolist()),
        copy_price=tuple(prices[formulation.traffic.idle].tolist()),
        served=tuple(formulation.served(solution.values).tolist()),
    )


def _branched(
    formulation: Formulation, relaxed: Bound, target_s: float, seconds: float, progress: Progress
) -> Bound:
    """The bound of the integer form, or the linear program's where that is higher."""
    if relaxed.bound_s >= target_s:
        return replace(relaxed, method="mip")
    began = time.perf_counter()

    def goes_on(objective: float) -> bool:
        share = min(1.0, (time.perf_counter() - began) / max(seconds, 1e-9))
        return progress(share, max(relaxed.bound_s, formulation.seconds(objective)))

    formulation = formulate(formulation.program, is_whole=True) or formulation
    branching = Branching(formulation.linear, formulation.objective(target_s))
    branched = branching.run(seconds, goes_on)
    bound_s = min(formulation.seconds(branched.bound), target_s)
    method = "mip" if branched.is_closed else "mip-unfinished"
    if bound_s <= formulation.program.all_fast_s and branched.is_closed:
        method = "all-fast"
    return replace(relaxed, bound_s=max(relaxed.bound_s, bound_s), method=method)
