"""Lower bound on the latency of every valid plan of a program, by linear programming.

The argument that it is a bound, and what it relaxes, stands in `docs/bound.md`. In short: from any
valid plan one reads off, per touch, whether its content was in fast memory all the time since the
touch before (`r`), came by a prefetch (`p`), or was made there; per write, whether it was written
back. These 0/1 numbers and the plan's stalls satisfy every row below, and the objective is at most
the plan's simulated latency. So the minimum over fractions is below every plan's latency.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.plan.bounds.linear import LinearProgram
from engine.plan.bounds.residency import Residency, Scale
from engine.plan.bounds.traffic import Traffic
from engine.program.model import Program


@dataclass(frozen=True)
class Bound:
    """A lower bound and what the scarce things are worth at it.

    `memory_price[k]`: seconds that one more byte of fast memory in slot `k` would save (an estimate
    where whole groups are too large to use it).
    `copy_price[k]`: seconds that one more second of idle slow memory in slot `k` would save.
    `served[i]`: share to which the fractional optimum serves touch `i` from fast memory; no plan,
    but a hint. Zeros where none was found.
    `method`: `lp`, `lp-unfinished` (stopped early; still a bound), or, where the linear program
    says nothing more, `all-fast` or `all-slow` (nothing may be fast).

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


def lower_bound(program: Program, time_limit_s: float = 60.0) -> Bound:
    """A number of seconds that no valid plan of `program` can go below.

    The linear program is solved with HiGHS; the result is evaluated from its row multipliers in
    this module's own arithmetic, so it is a bound whatever the solver's tolerances.
    """
    began = time.perf_counter()
    worth = [n for n in range(len(program.groups)) if _is_worth_serving(program, n)]
    if not worth or program.all_slow_s <= 0:
        free = (0.0,) * program.num_slots
        served = (0.0,) * len(program.touches)
        took = time.perf_counter() - began
        return Bound(program.all_slow_s, "all-slow", took, free, free, served)
    scale = Scale(program.all_slow_s / program.num_slots, float(program.hardware.fast_bytes))
    linear = LinearProgram()
    rows = Residency(program, linear, scale)
    for number in worth:
        rows.add_group(number)
    traffic = Traffic(rows)
    traffic.add()
    for index, terms in rows.served.items():
        for variable, value in terms:
            linear.costs[variable] -= program.touches[index].saving_s / scale.second_s * value
    solution = linear.solve(time_limit_s - (time.perf_counter() - began))
    latency_s = program.all_slow_s + solution.bound * scale.second_s
    floor_s = program.all_fast_s
    prices = np.maximum(-solution.duals, 0.0)
    method = "lp" if solution.is_optimal else "lp-unfinished"
    memory_price = prices[traffic.capacity]
    for row, slot, size in traffic.packing:
        memory_price[slot] += prices[row] / size
    return Bound(
        bound_s=max(latency_s, floor_s),
        method=method if latency_s > floor_s else "all-fast",
        seconds=time.perf_counter() - began,
        memory_price=tuple((memory_price * scale.second_s / scale.byte).tolist()),
        copy_price=tuple(prices[traffic.idle].tolist()),
        served=_served(program, rows, solution.values),
    )


def _served(program: Program, rows: Residency, values: NDArray[np.float64]) -> tuple[float, ...]:
    shares = np.zeros(len(program.touches))
    for index, terms in rows.served.items():
        shares[index] = sum(values[variable] * part for variable, part in terms)
    return tuple(np.clip(shares, 0.0, 1.0).tolist())


def _is_worth_serving(program: Program, group: int) -> bool:
    """Whether serving the group from fast memory can change any latency."""
    if not program.groups[group].may_be_fast:
        return False
    touches = (program.touches[i] for i in program.touches_of_group[group])
    return any(t.saving_s > 0 or t.slow_bytes > 0 for t in touches)
