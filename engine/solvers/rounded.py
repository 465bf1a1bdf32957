"""`rounded`: the optimum of the lower bound's linear program, rounded to whole stays.

The linear program says to what share each touch is served from fast memory, and to what share the
content stays there from the touch before. Successive touches with shares above a threshold are a
*run*, which one stay is to serve. The runs are served in some order, each where the slots of its
life have room and it pays, simulated exactly; addresses are found last
(`engine.solvers.local.packing`). Thresholds and orders are tried in turn, and the best counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from engine.plan.bounds import lower_bound
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.clock import Clock
from engine.solvers.local.arrays import Facts, Floats, Ints, encode
from engine.solvers.local.compiled import Code, interpreted
from engine.solvers.local.machine import code_at_hand
from engine.solvers.local.search import Run
from engine.solvers.registry import Budget


@dataclass(frozen=True)
class Rule:
    """How to round. `threshold`: the least share of a touch that is served. `power`: of the memory
    that a run takes, in what orders the runs: saving / (size x slots) ** power."""

    threshold: float
    power: float


RULES = tuple(
    Rule(threshold, power)
    for threshold, power in (
        (1 / 8, 1 / 2),
        (1 / 8, 1.0),
        (3 / 8, 0.0),
        (1 / 4, 1 / 4),
        (1 / 4, 0.0),
        (3 / 8, 1 / 4),
        (1 / 4, 1 / 2),
        (1 / 8, 1 / 4),
        (1 / 4, 1.0),
        (3 / 8, 1 / 2),
        (1 / 8, 0.0),
        (3 / 8, 1.0),
    )
)
"""The first eight in the order in which they add to those before on contested programs."""
SAME = 1e-6
"""Share of their time by which two roundings differ."""
BOUND_S = 60.0
"""Most seconds for the linear program; the largest programs known take six."""


FINDING_SHARE = 0.8
"""Share of the time after which nothing more is tried: the best must find its addresses, too."""


def rounded(program: Program, budget: Budget) -> Plan:
    """The best of all rules; they need about a second for a thousand touches.

    Where the time is over before, or `progress` answers False, the best of those that are tried by
    then.
    """
    clock = Clock(budget)

    def goes_on(share: float, message: str) -> bool:
        return budget.progress(share, message) and clock.share < FINDING_SHARE

    return next(best_first(program, goes_on))


def best_first(program: Program, progress: Callable[[float, str], bool]) -> Iterator[Plan]:
    """The plans of all roundings, the best first; of those that take equally long one."""
    best, tried = None, list[Run]()

    def goes_on() -> bool:
        return progress(len(tried) / (1 + len(RULES)), f"{len(tried)} roundings")

    code = code_at_hand(program)
    for one in roundings(program, 0, goes_on, lambda: code):
        tried.append(one)
        if best is None or one.best_s < best.best_s:
            # What finds no place counts for nothing.
            one.confirm()
            best = one if best is None or one.best_s < best.best_s else best
        if not goes_on():
            break
    assert best is not None
    yield best.plan({"roundings": len(tried)})
    known_s = [best.best_s]
    for one in sorted(tried, key=lambda one: one.best_s):
        one.confirm()
        if not any(math.isclose(one.best_s, other_s, rel_tol=SAME) for other_s in known_s):
            known_s.append(one.best_s)
            yield one.plan({"roundings": len(tried)})


def roundings(
    program: Program,
    seed: int,
    goes_on: Callable[[], bool],
    code: Callable[[], Code] = lambda: interpreted,
) -> Iterator[Run]:
    """A search without a linear program, then one for each rule, while it goes on.

    `code`: asked for each of them; what is compiled is many times faster on large programs.
    """
    facts = encode(program)
    ones = np.ones(len(program.touches))
    yield _round(program, facts, seed, (ones, ones), RULES[0], code())
    bound = lower_bound(program, BOUND_S, progress=lambda share, bound_s: goes_on())
    shares = np.array(bound.served), np.array(bound.stayed)
    # None are known if the linear program did not come to its end.
    for rule in RULES if shares[0].any() else ():
        yield _round(program, facts, seed, shares, rule, code())


def _round(
    program: Program,
    facts: Facts,
    seed: int,
    shares: tuple[Floats, Floats],
    rule: Rule,
    code: Code,
) -> Run:
    search = Run(program, seed, facts=facts, code=code)
    runs = wanted_runs(facts, *shares, rule.threshold)
    search.serve(runs[np.argsort(-_worth(facts, runs, rule.power), kind="stable")])
    return search


def wanted_runs(facts: Facts, served: Floats, stayed: Floats, threshold: float) -> Ints:
    """Runs of touches with these shares `[touches of the program]` at least; first, last `[N, 2]`.

    A touch whose content does not stay from the one before begins a new run.
    """
    index = facts.touch_index
    if not len(index):
        return np.zeros((0, 2), dtype=np.int64)
    is_wanted = (served[index] >= threshold) & facts.may_be_fast
    is_first = np.zeros(len(index), dtype=np.bool_)
    is_first[facts.touch_first[:-1]] = True
    goes_on = is_wanted[:-1] & is_wanted[1:] & (stayed[index[1:]] >= threshold) & ~is_first[1:]
    starts = np.flatnonzero(is_wanted & ~np.concatenate([[False], goes_on]))
    ends = np.flatnonzero(is_wanted & ~np.concatenate([goes_on, [False]]))
    return np.stack([starts, ends], axis=1).astype(np.int64)


def _worth(facts: Facts, runs: Ints, power: float) -> Floats:
    """What comes first: seconds that a run saves, over a power of the memory that it takes."""
    first, last = runs[:, 0], runs[:, 1]
    so_far = np.concatenate([[0.0], np.cumsum(facts.saving_s)])
    taken = facts.size[facts.group[first]] * (1 + facts.time[last] - facts.time[first])
    worth: Floats = (so_far[last + 1] - so_far[first]) / taken.astype(np.float64) ** power
    return worth
