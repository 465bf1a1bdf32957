"""`rounded`: the optimum of the lower bound's linear program, rounded to whole stays.

The linear program says to what share each touch is served from fast memory, and to what share the
content stays there from the touch before. Successive touches with shares above a threshold are a
*run*, which one stay is to serve. The runs are served in some order, each where the slots of its
life have room and it pays, simulated exactly; addresses are found last
(`engine.solvers.local.packing`). Thresholds and orders are tried in turn. The best are made again,
now with what the linear program says that memory is worth, and what was not served comes earlier
each time (squeaky wheel optimization, Joslin and Clements 1999). The best of all counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from engine.plan.bounds import lower_bound
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program
from engine.solvers.clock import Clock
from engine.solvers.local.arrays import Facts, Floats, Ints, encode
from engine.solvers.local.compiled import Code, interpreted
from engine.solvers.local.machine import (
    USEFUL_S,
    code_at_hand,
    is_loaded,
    is_warm,
    machine_code,
)
from engine.solvers.local.search import Run
from engine.solvers.local.state import NONE
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
LEADERS, ROUNDS = 6, 12
"""The orders that are made again, and how often each. They, `STEP` and `PRICE` were chosen on the
training corpus."""
MOST = 1 + len(RULES) + LEADERS * ROUNDS
"""Roundings of a program."""
STEP = 0.2
"""Share of all runs by which that one moves up which loses most."""
PRICE = 0.5
"""What counts of the worth of memory; that of the optimum excludes who would pay just as much."""
FINDING_SHARE = 0.8
"""Share of the time after which nothing more is tried: the best must find its addresses, too."""


def rounded(program: Program, budget: Budget) -> Plan:
    """The best of all roundings; they need about a second for a thousand touches.

    Where the time is over before, or `progress` answers False, the best of those that are tried by
    then.
    """
    clock = Clock(budget)

    def goes_on(share: float, message: str) -> bool:
        return budget.progress(share, message) and clock.share < FINDING_SHARE

    return next(best_first(program, goes_on, lambda: budget.seconds - clock.spent_s))


def best_first(
    program: Program,
    progress: Callable[[float, str], bool],
    left_s: Callable[[], float] = lambda: math.inf,
) -> Iterator[Plan]:
    """The plans of all roundings, the best first; of those that take equally long one.

    `left_s`: seconds that are left, asked before compiled code is loaded.
    """
    best, tried = None, list[Run]()

    def takes(some: Iterable[Run]) -> bool:
        nonlocal best
        for one in some:
            tried.append(one)
            if best is None or one.best_s < best.best_s:
                # What finds no place counts for nothing.
                one.confirm()
                best = one if best is None or one.best_s < best.best_s else best
            if not goes_on():
                return False
        return True

    def goes_on() -> bool:
        return progress(len(tried) / MOST, f"{len(tried)} roundings")

    rounding = Rounding(program, 0, code_at_hand(program, left_s()))
    if takes(rounding.by_rules(goes_on)):
        code = code_for_many(rounding.code, left_s())
        if code is not None:
            rounding.code = code
            takes(rounding.made_again())
    assert best is not None
    known_s = list[float]()
    for one in [best, *sorted(tried, key=lambda one: one.best_s)]:
        one.confirm()
        plan = one.plan({"roundings": len(tried)})
        latency_s = simulate(program, plan).latency_s
        if not any(math.isclose(latency_s, other_s, rel_tol=SAME) for other_s in known_s):
            known_s.append(latency_s)
            yield plan


def code_for_many(code: Code, left_s: float) -> Code | None:
    """What many roundings are made with; None where they would take a minute, interpreted, or
    where loading it leaves too little time for many."""
    if code is interpreted and (is_loaded() or (is_warm() and left_s > USEFUL_S)):
        code = machine_code()
    return None if code is interpreted else code


class Rounding:
    """Roundings of one program, one after another. `code`: what each further one is made with."""

    def __init__(self, program: Program, seed: int, code: Code = interpreted) -> None:
        self.code = code
        self._program, self._seed = program, seed
        self._facts = encode(program)
        self._prices: Floats = np.zeros(program.num_slots)
        self._begun: list[tuple[float, Ints]] = []

    def by_rules(self, goes_on: Callable[[], bool] = lambda: True) -> Iterator[Run]:
        """A search without a linear program, then one for each rule, while it goes on."""
        program = self._program
        ones = np.ones(len(program.touches))
        yield self._of_rule((ones, ones), RULES[0])
        bound = lower_bound(program, BOUND_S, progress=lambda share, bound_s: goes_on())
        shares = np.array(bound.served), np.array(bound.stayed)
        self._prices = PRICE * program.hardware.alignment * np.array(bound.memory_price)
        # No shares are known if the linear program did not come to its end.
        for rule in RULES if shares[0].any() else ():
            yield self._of_rule(shares, rule)

    def made_again(self) -> Iterator[Run]:
        """The best orders of the rules with prices, each several times: what was slow moves up."""
        unit_s = SAME * self._program.all_slow_s
        begun = {round(best_s / unit_s): runs for best_s, runs in self._begun}
        for _, runs in sorted(begun.items())[:LEADERS]:
            for _ in range(ROUNDS):
                search = self._served(runs, self._prices)
                yield search
                lost_s = self._lost_s(search, runs)
                if not lost_s.any():
                    break
                ahead = STEP * len(runs) * lost_s / lost_s.max()
                runs = runs[np.argsort(np.arange(len(runs)) - ahead, kind="stable")]

    def _of_rule(self, shares: tuple[Floats, Floats], rule: Rule) -> Run:
        runs = wanted_runs(self._facts, *shares, rule.threshold)
        runs = runs[np.argsort(-_worth(self._facts, runs, rule.power), kind="stable")]
        search = self._served(runs)
        self._begun.append((search.best_s, runs))
        return search

    def _served(self, runs: Ints, price_s: Floats | None = None) -> Run:
        search = Run(self._program, self._seed, facts=self._facts, code=self.code)
        search.serve(runs, price_s)
        return search

    def _lost_s(self, search: Run, runs: Ints) -> Floats:
        """Seconds that the touches of each run would save that are not served."""
        slow_s = np.where(search.state.served_by == NONE, self._facts.saving_s, 0.0)
        so_far = np.concatenate([[0.0], np.cumsum(slow_s)])
        lost_s: Floats = np.maximum(so_far[runs[:, 1] + 1] - so_far[runs[:, 0]], 0.0)
        return lost_s


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
