"""The lower bound of a program: its linear program, solved, and refined by branching."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.errors import UsageError
from engine.plan.bounds import linear as linear_programs
from engine.plan.bounds.branching import Branching
from engine.plan.bounds.group_rows import Expression, GroupParts, GroupRows, Kind, Scale, scaled
from engine.plan.bounds.linear import LinearProgram, LinearSolution
from engine.plan.bounds.shared_rows import SharedRows
from engine.program.floors import has_floor
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.provenance import fastest_compile_s

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Formulation:
    """A linear program for a program's latency, and what each variable and row means.

    `linear`: in `scale`'s units; its objective is the latency less the all-slow latency.
    """

    program: Program
    scale: Scale
    linear: LinearProgram
    parts: GroupParts
    shared: SharedRows

    def seconds(self, objective: float) -> float:
        """The latency for which an objective stands."""
        return self.program.all_slow_s + objective * self.scale.second_s

    def objective(self, latency_s: float) -> float:
        """The objective that stands for a latency."""
        return (latency_s - self.program.all_slow_s) / self.scale.second_s

    def served(self, values: FloatArray) -> FloatArray:
        """Share to which each touch is served from fast memory, `[touches]`."""
        shares = np.zeros(len(self.program.touches))
        for index, terms in self.parts.served.items():
            shares[index] = sum(values[variable] * part for variable, part in terms)
        return np.clip(shares, 0.0, 1.0)

    def stayed(self, values: FloatArray) -> FloatArray:
        """Share to which each touch finds the content as the touch before left it, `[touches]`."""
        shares = np.zeros(len(self.program.touches))
        for (kind, index, _), variable in self.parts.choices.items():
            if kind is Kind.STAYS and index >= 0:
                shares[index] = values[variable]
        return np.clip(shares, 0.0, 1.0)

    def memory_price(self, prices: FloatArray) -> FloatArray:
        """Seconds that one more byte is worth, per slot, from the rows' multipliers."""
        price = prices[self.shared.capacity]
        for row, slot, size in self.shared.packing:
            price[slot] += prices[row] / size
        return price * self.scale.second_s / self.scale.byte


def formulate(
    program: Program, is_whole: bool = False, goes_on: Callable[[], bool] = lambda: True
) -> Formulation | None:
    """The linear program, or None if nothing could be gained from fast memory.

    `is_whole`: prefetches hold the whole of their places (`engine.plan.bounds.whole_copies`).
    `goes_on`: asked after each group; None too where it answers False.
    """
    worth = _worth_serving(program)
    if not worth:
        return None
    scale = Scale(program.all_slow_s / program.num_slots, float(program.hardware.fast_bytes))
    linear = LinearProgram()
    parts = GroupParts(program, linear, scale)
    for number in worth:
        GroupRows(parts, number).build()
        if not goes_on():
            return None
    shared = SharedRows(parts, _add_floors(parts), is_whole)
    shared.add()
    for index, terms in parts.served.items():
        for variable, value in terms:
            linear.costs[variable] -= program.touches[index].saving_s / scale.second_s * value
    return Formulation(program, scale, linear, parts, shared)


def _add_floors(parts: GroupParts) -> dict[int, int]:
    """Add a variable per slot with a floor: the savings, s, that the floor makes worthless."""
    program, second_s = parts.program, parts.scale.second_s
    slow_s = np.array([i.fast_s for i in program.instructions])
    terms: dict[int, Expression] = defaultdict(list)
    for index, touch in enumerate(program.touches):
        slow_s[touch.time] += touch.saving_s
        served = parts.served.get(index, [])
        terms[touch.time] += scaled(served, -touch.saving_s / second_s)
    floors: dict[int, int] = {}
    for slot, instruction in enumerate(program.instructions):
        spare = (slow_s[slot] - instruction.floor_s) / second_s
        if has_floor(program, slot) and terms[slot]:
            floors[slot] = parts.linear.add_variable(slow_s[slot] / second_s, cost=1.0)
            # The seconds with some served fast, and this, are at least the floor.
            parts.linear.add_row([(floors[slot], 1.0), *terms[slot]], low=-spare)
    return floors


def _worth_serving(program: Program) -> list[int]:
    """The groups that are to be modelled."""
    if program.all_slow_s <= 0:
        return []
    return [n for n in range(len(program.groups)) if _is_worth_serving(program, n)]


def _is_worth_serving(program: Program, group: int) -> bool:
    """Whether serving the group from fast memory can change any latency."""
    if not program.groups[group].may_be_fast:
        return False
    touches = (program.touches[i] for i in program.touches_of_group[group])
    return any(t.saving_s > 0 or t.slow_bytes > 0 for t in touches)


METHODS = ("lp", "mip")
OBSERVED = "observed"
"""In place of a method, where a compile that was observed is below what it gives."""

Progress = Callable[[float, float], bool]
"""Called often with the used share of the time limit and the bound so far, s; False: stop early."""


@dataclass(frozen=True)
class Bound:
    """A lower bound and what the scarce things are worth at it.

    `memory_price[k]`: seconds that one more byte of fast memory in slot `k` would save (an estimate
    where whole groups are too large to use it).
    `copy_price[k]`: seconds that one more second of idle slow memory in slot `k` would save.
    `served[i]`: share to which the fractional optimum serves touch `i` from fast memory; no plan,
    but a hint. `stayed[i]`: share to which its content stays in fast memory from the group's touch
    before until then. Zeros if the solver returned no solution.
    `method`: `lp` or `mip`, with `-unfinished` if the time was over first (still a bound), or,
    where nothing more can be said, `all-fast` or `all-slow` (nothing may be fast), or `observed`:
    the total of a compile, where that is below what the costs prove.
    Prices and shares are those of the linear program with either method.
    `program_hash`: content hash of the program; empty in bounds stored before they told it.

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
    stayed: tuple[float, ...]
    program_hash: str = ""

    def is_of(self, program: Program) -> bool:
        """Whether it is the bound of this program, or could be where it does not tell."""
        if self.program_hash:
            return self.program_hash == content_hash(program)
        sizes = len(self.memory_price), len(self.served)
        return sizes == (program.num_slots, len(program.touches))


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
    `target_s`, the latency of the best plan known: no more can be proven then. If a real compile
    was faster than the bound, the program's costs are too high; its time is returned instead
    (`engine.program.provenance.fastest_compile_s`). Raises UsageError for an unknown method.
    """
    if method not in METHODS:
        raise UsageError(f"bound: no method {method!r}; there are {', '.join(METHODS)}")
    run = _Run(time_limit_s, progress)
    formulation = formulate(program, goes_on=lambda: run.is_in_time(program.all_fast_s))
    if formulation is None:
        ended = f"{method}-unfinished" if _worth_serving(program) else None
        return _not_above_observed(program, _without_prices(program, run.seconds, ended))
    solution = formulation.linear.solve(run.left_s, lambda: run.goes_on(program.all_fast_s))
    bound = _relaxed(formulation, solution, run.seconds)
    if method == "mip":
        bound = replace(_branched(formulation, bound, target_s, run), seconds=run.seconds)
    return _not_above_observed(program, bound)


class _Run:
    """The time that a bound may take, and who is asked whether it is still wanted."""

    def __init__(self, limit_s: float, progress: Progress) -> None:
        self._began, self._limit_s, self._progress = time.perf_counter(), limit_s, progress
        self._asked, self._is_wanted = self._began, True

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._began

    @property
    def left_s(self) -> float:
        """Seconds that are left; none once it is not wanted any more."""
        return self._limit_s - self.seconds if self._is_wanted else 0.0

    def goes_on(self, bound_s: float) -> bool:
        """Tell the bound so far; whether more is wanted: after a no never again."""
        share = min(1.0, self.seconds / max(self._limit_s, 1e-9))
        self._is_wanted = self._is_wanted and self._progress(share, bound_s)
        return self._is_wanted

    def is_in_time(self, bound_s: float) -> bool:
        """As `goes_on`, and whether there is time left; asks now and then only."""
        if time.perf_counter() - self._asked < linear_programs.ASK_EVERY_S:
            return True
        is_wanted = self.goes_on(bound_s)
        self._asked = time.perf_counter()
        return is_wanted and self.left_s > 0


def _not_above_observed(program: Program, bound: Bound) -> Bound:
    observed_s = fastest_compile_s(program)
    if observed_s is not None and observed_s < bound.bound_s:
        return replace(bound, bound_s=observed_s, method=OBSERVED)
    return bound


def _without_prices(program: Program, seconds: float, ended: str | None) -> Bound:
    """The bound where there is no linear program: nothing may be fast, or it was `ended` early."""
    free = (0.0,) * program.num_slots
    nothing = (0.0,) * len(program.touches)
    of = content_hash(program)
    bound_s = program.all_slow_s if ended is None else program.all_fast_s
    return Bound(bound_s, ended or "all-slow", seconds, free, free, nothing, nothing, of)


def _relaxed(formulation: Formulation, solution: LinearSolution, seconds: float) -> Bound:
    latency_s = formulation.seconds(solution.bound)
    all_fast_s = formulation.program.all_fast_s
    prices = np.maximum(-solution.duals, 0.0)
    method = "lp" if solution.is_optimal else "lp-unfinished"
    return Bound(
        bound_s=max(latency_s, all_fast_s),
        method=method if latency_s > all_fast_s else "all-fast",
        seconds=seconds,
        memory_price=tuple(formulation.memory_price(prices).tolist()),
        copy_price=tuple(prices[formulation.shared.idle].tolist()),
        served=tuple(formulation.served(solution.values).tolist()),
        stayed=tuple(formulation.stayed(solution.values).tolist()),
        program_hash=content_hash(formulation.program),
    )


def _branched(formulation: Formulation, relaxed: Bound, target_s: float, run: _Run) -> Bound:
    """The bound of the integer form, or the linear program's where that is higher."""
    if relaxed.bound_s >= target_s:
        return replace(relaxed, method="mip")
    if run.left_s <= 0:
        return replace(relaxed, method="mip-unfinished")

    def goes_on(objective: float) -> bool:
        return run.goes_on(max(relaxed.bound_s, formulation.seconds(objective)))

    whole = formulate(formulation.program, True, lambda: run.is_in_time(relaxed.bound_s))
    if whole is None:
        return replace(relaxed, method="mip-unfinished")
    branching = Branching(whole.linear, whole.objective(target_s))
    branched = branching.run(run.left_s, goes_on)
    bound_s = min(whole.seconds(branched.bound), target_s)
    method = "mip" if branched.is_closed else "mip-unfinished"
    if bound_s <= whole.program.all_fast_s and branched.is_closed:
        method = "all-fast"
    return replace(relaxed, bound_s=max(relaxed.bound_s, bound_s), method=method)
