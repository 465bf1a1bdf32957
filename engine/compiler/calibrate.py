"""Savings per access, fitted to the compiler's cycles at several placements.

The compiler's estimate of an instruction drops by nearly additive amounts when an operand or a
result moves to fast memory. So for every instruction `cycles(placement) = slow - Σ saving_j·fast_j`
is solved in the least-squares sense with savings >= 0. Instructions that are equal but for their
names (layers repeat) share one fit. What no placement tells apart is shared out by bytes.

Where no compile took as few cycles as the one with everything slow, an access that is fast in all
of them makes the instruction slower. No saving is negative, so `slow` is the fewest that one took.

Some are bound by compute once most is fast, so that two savings are not had together: then
`cycles(placement) = max(floor, slow - Σ saving_j·fast_j)`. What even this cannot say is said best
of the fastest compiles, since that is where plans go, and rather too slow than too fast.

An access that no compile ever served from fast memory saves nothing here: a solver looks for what
pays most, and so for every estimate that is too high. What it may save is its *uncertainty*
(`docs/costs.md`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from engine.compiler.observe import Observation
from engine.compiler.pool_fit import SeenPool
from engine.program.hlo.build import Imported
from engine.program.hlo.shape import layout_text
from engine.program.model import Program

NEAR = 0.03
"""A compile whose total is above the smallest one by this share counts e times less."""

LEAST_WEIGHT = 0.05
"""How much the slowest compiles count."""

MAX_PER_BYTE = 4.0
"""An access is not thought to save more than so many times what its bytes suggest: of all savings
that compiles have settled, none was above (`docs/costs.md`)."""

MAX_SAVED_SHARE = 0.97
"""Together the accesses of one instruction save at most this share of its all-slow cycles, unless
more was seen."""


@dataclass(frozen=True)
class Fit:
    """Fitted cycles, per execution.

    `slow_cycles` `[T]`: all in slow memory; `floor_cycles` `[T]`: the least, however much is fast.
    `savings` `[A]`, and `uncertainty` `[A]`: how much more an access may save by all that was seen.
    `errors`: relative errors of the program's total on
    each kept-out placement.
    """

    slow_cycles: NDArray[np.float64]
    floor_cycles: NDArray[np.float64]
    savings: NDArray[np.float64]
    uncertainty: NDArray[np.float64]
    errors: tuple[float, ...] = ()


def calibrate(
    imported: Imported,
    slow: Observation,
    fitted: Sequence[Observation],
    held_out: Sequence[Observation],
    guess: float = 0.0,
) -> tuple[Program, Fit]:
    """The program with fitted costs, and how well they predict placements kept out of the fit."""
    program = imported.program
    fit = fit_costs(program, pools(imported, slow), slow, fitted, guess)
    errors = tuple(total_error(program, fit, o) for o in held_out)
    return with_costs(program, fit), replace(fit, errors=errors)


def pools(imported: Imported, slow: Observation) -> tuple[int, ...]:
    """`[T]` a number per slot, the same for equal operation, shapes, layouts and slow cycles."""
    numbers: dict[object, int] = {}
    accesses = accesses_by_slot(imported.program)
    values = imported.flow.values
    found = []
    for slot, event_number in enumerate(imported.events):
        event = imported.flow.events[event_number]
        operands = tuple((n, layout_text(values[v].shape)) for n, v, _ in event.reads)
        results = tuple(layout_text(values[v].shape) for v in event.writes)
        roles = tuple(imported.program.accesses[a].operand for a in accesses[slot])
        cycles = float(np.nan_to_num(slow.cycles[slot]))
        key = (event.instruction.opcode, cycles, operands, results, roles)
        found.append(numbers.setdefault(key, len(numbers)))
    return tuple(found)


def fit_costs(
    program: Program,
    pool_of: Sequence[int],
    slow: Observation,
    seen: Sequence[Observation],
    guess: float = 0.0,
) -> Fit:
    """Fit all that was seen of a program whose instruction `k` belongs to pool `pool_of[k]`.

    `guess`: the share of what an access saves by its bytes that it is credited with where it was
    never seen fast. The rest is uncertainty.
    """
    slow_cycles = _least_cycles(slow, pool_of, seen)
    accesses = accesses_by_slot(program)
    prior = bytes_per_execution(program) * _cycles_per_byte(program, slow_cycles, seen)
    weights = compile_weights(program, seen)
    floors = np.zeros(program.num_slots)
    savings = np.zeros(len(program.accesses))
    uncertainty = np.zeros(len(program.accesses))
    for slots in slots_by_pool(pool_of).values():
        own = accesses[slots[0]]
        if not own or slow_cycles[slots[0]] <= 0:
            continue
        rows = pool_rows(slots, accesses, slow_cycles, seen, weights)
        found = _fit_pool(float(slow_cycles[slots[0]]), rows, prior[own], guess)
        for slot in slots:
            floors[slot], savings[accesses[slot]], uncertainty[accesses[slot]] = found
    can_save = np.array([not a.must_be_slow for a in program.accesses], dtype=float)
    return Fit(slow_cycles, floors, savings * can_save, uncertainty * can_save)


def _least_cycles(
    slow: Observation, pool_of: Sequence[int], seen: Sequence[Observation]
) -> NDArray[np.float64]:
    """Cycles `[T]` with everything slow, or more where every compile took more."""
    cycles: NDArray[np.float64] = np.nan_to_num(slow.cycles)
    for slots in slots_by_pool(pool_of).values():
        known = np.array([one.cycles[list(slots)] for one in seen])
        if known.size and not np.isnan(known).any() and cycles[slots[0]] > 0:
            cycles[list(slots)] = max(cycles[slots[0]], known.min())
    return cycles


def with_costs(program: Program, fit: Fit) -> Program:
    """The program with `fast_s`, `floor_s`, `saving_s`, `uncertainty_s` in seconds over one run."""
    clock = program.hardware.clock_hz
    times = [program.multiplicity(i.level) for i in program.instructions]
    fast = fit.slow_cycles.copy()
    np.subtract.at(fast, _access_times(program), fit.savings)
    return replace(
        program,
        instructions=tuple(
            replace(i, fast_s=max(0.0, float(f)) * t / clock, floor_s=float(floor) * t / clock)
            for i, f, floor, t in zip(
                program.instructions, fast, fit.floor_cycles, times, strict=True
            )
        ),
        accesses=tuple(
            replace(
                access,
                saving_s=float(saving) * times[access.time] / clock,
                uncertainty_s=float(more) * times[access.time] / clock,
            )
            for access, saving, more in zip(
                program.accesses, fit.savings, fit.uncertainty, strict=True
            )
        ),
    )


def total_error(program: Program, fit: Fit, seen: Observation) -> float:
    """Relative error of the predicted total cycles of one placement, loops multiplied out."""
    predicted = total_cycles(program, fit, seen)
    real = total_cycles(program, None, seen)
    return predicted / real - 1.0 if real > 0 else 0.0


def total_cycles(program: Program, fit: Fit | None, seen: Observation) -> float:
    """Cycles of one run with the accesses fast that were seen so, loops multiplied out.

    By the `fit`, or without one by what the compiler said. Instructions of which it said nothing do
    not count.
    """
    cycles = seen.cycles
    if fit is not None:
        savings = fit.savings * seen.is_fast
        saved = np.bincount(_access_times(program), savings, minlength=program.num_slots)
        fitted = np.maximum(fit.floor_cycles, fit.slow_cycles - saved)
        cycles = np.where(np.isnan(seen.cycles), np.nan, fitted)
    times = np.array([program.multiplicity(i.level) for i in program.instructions])
    return float(np.nansum(cycles * times))


def bytes_per_execution(program: Program) -> NDArray[np.float64]:
    """`[A]` bytes that each access draws from slow memory when its instruction runs once.

    None where it must be slow: being fast cannot spare it any.
    """
    levels = [program.instructions[a.time].level for a in program.accesses]
    times = np.array([program.multiplicity(level) for level in levels], dtype=np.float64)
    drawn: NDArray[np.float64] = np.array(
        [0 if a.must_be_slow else a.slow_bytes for a in program.accesses], dtype=float
    )
    drawn /= times
    return drawn


class Row(NamedTuple):
    """The mean cycles of a pool's instructions under one placement, and how much it counts."""

    cycles: float
    weight: float


Rows = Mapping[tuple[bool, ...], Row]
"""What was seen of a pool, by which of its accesses were fast `[J]`."""


def compile_weights(program: Program, seen: Sequence[Observation]) -> list[float]:
    """How much each compile counts in the fit: 1 for the one with the smallest total."""
    totals = [total_cycles(program, None, one) for one in seen]
    least = min(totals, default=0.0)
    if least <= 0:
        return [1.0] * len(seen)
    return [max(LEAST_WEIGHT, math.exp((1.0 - t / least) / NEAR)) for t in totals]


def pool_rows(
    slots: Sequence[int],
    accesses: Sequence[Sequence[int]],
    slow_cycles: NDArray[np.float64],
    seen: Sequence[Observation],
    weights: Sequence[float],
) -> Rows:
    """The different placements in which the instructions of one pool were seen.

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
    return {fast: Row(float(np.mean(found)), most[fast]) for fast, found in cycles.items()}


def seen_pool(
    total: float, rows: Rows, near: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> SeenPool:
    """What was seen of the `chosen` accesses `[J]` of a pool; `near` has an entry for each."""
    return SeenPool(
        total,
        np.array(list(rows), dtype=float)[:, chosen],
        np.array([row.cycles for row in rows.values()]),
        np.array([row.weight for row in rows.values()]),
        near,
    )


def _fit_pool(
    total: float, rows: Rows, prior: NDArray[np.float64], guess: float
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """The floor of one pool, its savings `[J]`, and how much more these may be.

    `total`: cycles if all is slow.
    """
    matrix = np.array(list(rows), dtype=float).reshape(len(rows), len(prior))
    is_seen = np.asarray(matrix.any(axis=0))
    limit = max(MAX_SAVED_SHARE * total, *(total - row.cycles for row in rows.values()), 0.0)
    floor, savings = 0.0, np.zeros(len(prior))
    if is_seen.any():
        near = np.minimum(prior, limit)[is_seen]
        floor, savings[is_seen] = seen_pool(total, rows, near, is_seen).fit(limit)
    more = np.minimum(_shared(matrix, savings), MAX_PER_BYTE * prior)
    left = max(0.0, limit - float(savings.sum()))
    unseen = np.where(is_seen, 0.0, prior)
    guessed = guess * unseen * min(1.0, left / max(guess * float(unseen.sum()), 1.0))
    more += np.where(is_seen, 0.0, np.minimum(unseen, left) - guessed)
    return floor, savings + guessed, np.maximum(0.0, more)


def _shared(matrix: NDArray[np.float64], savings: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much more an access may save that was never seen `[R, J]` without certain others.

    It is the most that it can have of what they save together.
    """
    more = np.zeros(len(savings))
    explained = matrix @ savings
    for index in np.flatnonzero(matrix.any(axis=0)):
        if not is_told_apart(matrix, int(index)):
            more[index] = _most(matrix, explained, int(index)) - savings[index]
    return more


def is_told_apart(matrix: NDArray[np.float64], index: int) -> bool:
    """Whether the placements `[R, J]` settle what access `index` alone saves."""
    alone = np.zeros((1, matrix.shape[1]))
    alone[0, index] = 1.0
    rank = np.linalg.matrix_rank(matrix)
    return bool(np.linalg.matrix_rank(np.vstack([matrix, alone])) == rank)


def _most(matrix: NDArray[np.float64], explained: NDArray[np.float64], index: int) -> float:
    """The largest saving of one access with which all placements save what they do."""
    aim = np.zeros(matrix.shape[1])
    aim[index] = -1.0
    found = linprog(aim, A_eq=matrix, b_eq=explained, bounds=(0, None))
    return float(-found.fun) if found.status == 0 else 0.0


def accesses_by_slot(program: Program) -> list[list[int]]:
    """`[T]` the accesses of each instruction, by number."""
    accesses: list[list[int]] = [[] for _ in range(program.num_slots)]
    for index, access in enumerate(program.accesses):
        accesses[access.time].append(index)
    return accesses


def _access_times(program: Program) -> NDArray[np.int64]:
    return np.array([a.time for a in program.accesses], dtype=np.int64)


def slots_by_pool(pool_of: Sequence[int]) -> dict[int, list[int]]:
    """The instructions of each pool."""
    slots: dict[int, list[int]] = defaultdict(list)
    for slot, pool in enumerate(pool_of):
        slots[pool].append(slot)
    return slots


def _cycles_per_byte(
    program: Program, slow_cycles: NDArray[np.float64], seen: Sequence[Observation]
) -> float:
    """Cycles saved per fast byte over all observations: the scale of the prior."""
    times, drawn = _access_times(program), bytes_per_execution(program)
    saved = moved = 0.0
    for one in seen:
        fast = one.is_fast & ~np.isnan(one.cycles[times]) & (slow_cycles[times] > 0)
        saved += float(np.nansum(np.where(slow_cycles > 0, slow_cycles - one.cycles, 0.0)))
        moved += float(drawn[fast].sum())
    by_bandwidth = program.hardware.clock_hz / program.hardware.bandwidth
    return saved / moved if moved > 0 and saved > 0 else by_bandwidth
