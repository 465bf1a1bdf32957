"""Pools: instructions that are equal but for their names share what was observed, and one fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, nnls

from engine.compiler.reading.observation import Observation

FloatArray = NDArray[np.float64]

PRIOR_WEIGHT = 1e-3
"""Weight of the prior against the least observation: it decides only what the data leave open."""

CAUTION = 4.0
"""How much more an error counts that credits a placement with more than it saves."""

FLOOR_WIDTH = 0.02
"""Cycles within this share of an instruction's all-slow cycles above its floor are at the floor."""

MAX_ROUNDS = 20
"""Rounds at most, until it is clear which placements are credited with too much."""

LIMIT_WEIGHT = 100.0
"""Weight of the limit to all savings of an instruction against one observation."""

MUCH_LESS = 0.5
TINY_LOSS = 1e-10
"""A floor has to explain at least half of what is left, and something must be left."""


@dataclass(frozen=True)
class PoolEquations:
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


MAX_PER_BYTE = 4.0
"""The uncertainty of an access ends at so many times what its bytes suggest; nine in ten measured
savings are below that (`python -m benchmarks observed`)."""

MAX_SAVED_SHARE = 0.97
"""Together the accesses of one instruction save at most this share of its all-slow cycles, unless
more was seen."""

AT_ODDS, CLOSELY_AT_ODDS = 0.2, 0.02
"""A pool's fit is far off a placement from this share of the all-slow cycles on; the second where
the program would otherwise take longer with everything fast than in one of its compiles."""

SLOWER = 1e-3
"""Only where some placement took longer than all slow, by this share, may a write cost time."""


class Row(NamedTuple):
    """The mean cycles of a pool's instructions under one placement, and how much it counts."""

    cycles: float
    weight: float


Rows = Mapping[tuple[bool, ...], Row]
"""The row of each placement of a pool that was seen; a key says which accesses `[J]` were fast."""


def slots_by_pool(pool_of: Sequence[int]) -> dict[int, list[int]]:
    """Pool -> the slots of its instructions."""
    slots: dict[int, list[int]] = defaultdict(list)
    for slot, pool in enumerate(pool_of):
        slots[pool].append(slot)
    return slots


def pool_rows(
    slots: Sequence[int],
    accesses: Sequence[Sequence[int]],
    seen: Sequence[Observation],
    weights: Sequence[float],
) -> Rows:
    """The row of each placement in which the instructions of one pool were seen.

    `weights`: how much each compile counts; a placement counts as much as the best that shows it.
    """
    cycles: dict[tuple[bool, ...], list[float]] = defaultdict(list)
    most: dict[tuple[bool, ...], float] = defaultdict(float)
    for slot in slots:
        for one, weight in zip(seen, weights, strict=True):
            fast = tuple(one.is_fast[list(accesses[slot])].tolist())
            if any(fast) and not np.isnan(one.cycles[slot]):
                cycles[fast].append(float(one.cycles[slot]))
                most[fast] = max(most[fast], weight)
    return {fast: Row(float(np.mean(stated)), most[fast]) for fast, stated in cycles.items()}


class Pool(NamedTuple):
    """Equal instructions: slots `[K]`, accesses `[K, J]`, all-slow cycles, and what was seen."""

    slots: list[int]
    accesses: NDArray[np.int64]
    total: float
    rows: Rows


def observed_pools(
    pool_of: Sequence[int],
    accesses: Sequence[Sequence[int]],
    slow_cycles: NDArray[np.float64],
    seen: Sequence[Observation],
    weights: Sequence[float],
    prior: NDArray[np.float64],
    at_odds: float = AT_ODDS,
    by_cycles: bool = False,
) -> Iterator[Pool]:
    """The pools that have something to save, with what was seen of them (`pool_rows`).

    `prior` `[A]`: the cycles that each access saves by its bytes alone. If no savings and
    floor fit a pool's observations (to `at_odds`, a share of its all-slow cycles), the pool is
    split by the placements at which its instructions were observed; with `by_cycles` then by what
    they took there, where that differs as much. Example: XLA estimates copies within one memory,
    but not between the two; of equal copies those that it makes in flight take nothing.
    """

    def pool_of_slots(slots: list[int]) -> Pool:
        rows = pool_rows(slots, accesses, seen, weights)
        own = np.array([accesses[slot] for slot in slots])
        return Pool(slots, own, float(slow_cycles[slots[0]]), rows)

    def told_apart(pool: Pool, with_cycles: bool) -> list[Pool]:
        alike: dict[Hashable, list[int]] = defaultdict(list)
        for slot in pool.slots:
            alike[_shown(slot, accesses[slot], seen, with_cycles)].append(slot)
        parts = [pool_of_slots(part) for part in alike.values()]
        shown = parts if with_cycles else [pool]
        is_odd = len(parts) > 1 and _is_at_odds(pool, shown, prior[pool.accesses[0]], at_odds)
        return parts if is_odd else [pool]

    for slots in slots_by_pool(pool_of).values():
        if accesses[slots[0]] and slow_cycles[slots[0]] > 0:
            for part in told_apart(pool_of_slots(slots), with_cycles=False):
                yield from told_apart(part, with_cycles=True) if by_cycles else [part]


def _shown(
    slot: int, own: Sequence[int], seen: Sequence[Observation], with_cycles: bool
) -> Hashable:
    """The placements at which an instruction was seen, and what it took there on average."""
    taken: dict[bytes, list[float]] = defaultdict(list)
    for one in seen:
        fast = one.is_fast[list(own)]
        if fast.any() and not np.isnan(one.cycles[slot]):
            taken[fast.tobytes()].append(float(one.cycles[slot]) if with_cycles else 0.0)
    return frozenset((fast, round(float(np.mean(some)))) for fast, some in taken.items())


def _is_at_odds(
    pool: Pool, shown: Sequence[Pool], prior: NDArray[np.float64], at_odds: float
) -> bool:
    """Whether the pool's fit is so far off some placement at which one of `shown` was seen."""
    floor, savings = fit_pool(pool, prior, np.zeros(len(prior), dtype=bool), 0.0)
    return any(
        abs(max(floor, pool.total - float(np.dot(fast, savings))) - row.cycles)
        > at_odds * pool.total
        for part in shown
        for fast, row in part.rows.items()
    )


def pool_equations(
    total: float,
    rows: Rows,
    near: NDArray[np.float64],
    chosen: NDArray[np.bool_],
    may_cost: NDArray[np.bool_],
) -> PoolEquations:
    """The rows of a pool as a `PoolEquations` of its `chosen` accesses `[J]`; `near` has one entry
    each.

    `may_cost` `[J]`: accesses that may cost time, where something took longer than all slow.
    """
    matrix = np.array(list(rows), dtype=float)[:, chosen]
    cycles = np.array([row.cycles for row in rows.values()])
    is_slower = cycles > total * (1.0 + SLOWER)
    costly = may_cost[chosen] & matrix[is_slower].any(axis=0)
    weights = np.array([row.weight for row in rows.values()])
    return PoolEquations(total, matrix, cycles, weights, near, costly)


def fit_pool(
    pool: Pool, prior: NDArray[np.float64], may_cost: NDArray[np.bool_], guess: float
) -> tuple[float, NDArray[np.float64]]:
    """The floor of one pool and its savings `[J]`, in cycles.

    `prior` `[J]`: savings by bytes alone; an access that was never seen fast gets a `guess`, a
    share of it. `may_cost` `[J]`: whose saving may be negative.
    """
    _, is_seen, limit = _placements(pool)
    floor, savings = 0.0, np.zeros(len(prior))
    if is_seen.any():
        near = np.minimum(prior, limit)[is_seen]
        floor, savings[is_seen] = pool_equations(
            pool.total, pool.rows, near, is_seen, may_cost
        ).fit(limit)
    left = max(0.0, limit - float(np.maximum(savings, 0.0).sum()))
    unseen = np.where(is_seen, 0.0, prior)
    return floor, savings + guess * unseen * min(1.0, left / max(guess * float(unseen.sum()), 1.0))


def uncertainty(
    pool: Pool, prior: NDArray[np.float64], savings: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How many more cycles the accesses `[J]` of one pool may save than `savings` `[J]` say, by all
    that was seen of it. `prior` `[J]`: savings by bytes alone.
    """
    matrix, is_seen, limit = _placements(pool)
    saves = np.where(is_seen, np.maximum(savings, 0.0), 0.0)
    more = np.minimum(_shared(matrix, saves), MAX_PER_BYTE * prior)
    left = max(0.0, limit - float(saves.sum()))
    more += np.where(is_seen, 0.0, np.minimum(prior, left) - savings)
    return np.where(savings < 0, 0.0, np.maximum(0.0, more))


def _placements(pool: Pool) -> tuple[NDArray[np.float64], NDArray[np.bool_], float]:
    """Accesses fast `[R, J]`, accesses ever fast `[J]`, and cycles that all may save together."""
    total, rows = pool.total, pool.rows
    matrix = np.array(list(rows), dtype=float).reshape(len(rows), pool.accesses.shape[1])
    limit = max(MAX_SAVED_SHARE * total, *(total - row.cycles for row in rows.values()), 0.0)
    return matrix, np.asarray(matrix.any(axis=0)), limit


def _shared(matrix: NDArray[np.float64], savings: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much more an access may save that was never seen `[R, J]` without certain others.

    It is the most that it can have of what they save together.
    """
    more = np.zeros(len(savings))
    explained = matrix @ savings
    for index in np.flatnonzero(matrix.any(axis=0)):
        if not is_resolved(matrix, int(index)):
            more[index] = _most(matrix, explained, int(index)) - savings[index]
    return more


def is_resolved(matrix: NDArray[np.float64], index: int) -> bool:
    """Whether the placements `[R, J]` determine what access `index` alone saves."""
    alone = np.zeros((1, matrix.shape[1]))
    alone[0, index] = 1.0
    rank = np.linalg.matrix_rank(matrix)
    return bool(np.linalg.matrix_rank(np.vstack([matrix, alone])) == rank)


def _most(matrix: NDArray[np.float64], explained: NDArray[np.float64], index: int) -> float:
    """The largest saving of one access with which all placements save what they do."""
    aim = np.zeros(matrix.shape[1])
    aim[index] = -1.0
    solution = linprog(aim, A_eq=matrix, b_eq=explained, bounds=(0, None))
    return float(-solution.fun) if solution.status == 0 else 0.0
