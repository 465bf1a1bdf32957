"""Costs corrected by compiles of one's own plans.

A solver seeks out what a cost model overestimates, so the first compile of its plan tells more than
any random placement. What the new compiles contradict is fitted again; where they say nothing, a
saving stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.compiler.costs.calibrate import (
    Fit,
    accesses_by_slot,
    choose_write_costs,
    compile_weights,
    pools,
)
from engine.compiler.costs.calibrate import with_costs as with_fit
from engine.compiler.costs.pools import MAX_SAVED_SHARE, Rows, observed_pools, pool_equations
from engine.compiler.reading.observation import Observation
from engine.program.hlo.build import Imported
from engine.program.model import Program


def corrected(imported: Imported, seen: Sequence[Observation]) -> Program:
    """The imported program with costs that agree with all of `seen`, as far as they can.

    Per pool of equal instructions: least squares as in `engine.compiler.costs.calibrate`, and a
    weak pull towards the savings that the program has now. `seen` should hold what its costs were
    fitted to, as far as that is known.
    """
    program = imported.program
    slow = stated_slow(program)
    pool_of = pools(imported, slow)

    def fitted(may_cost: NDArray[np.bool_]) -> Fit:
        return _near_the_present(program, pool_of, seen, may_cost)

    fresh = with_fit(program, choose_write_costs(program, slow.cycles, seen, fitted))
    kept = tuple(
        replace(new, uncertainty_s=old.uncertainty_s)
        for new, old in zip(fresh.accesses, program.accesses, strict=True)
    )
    return replace(fresh, accesses=kept)


def _near_the_present(
    program: Program,
    pool_of: Sequence[int],
    seen: Sequence[Observation],
    may_cost: NDArray[np.bool_],
) -> Fit:
    slow, savings = stated_slow(program), _savings_per_execution(program)
    accesses = accesses_by_slot(program)
    weights = compile_weights(program, seen)
    fitted, floors = savings.copy(), _floors_per_execution(program)
    # Equal instructions may have been told apart before (`engine.compiler.costs.pools`).
    rounded = np.round(savings, 3), np.round(floors, 3)
    costs = [
        (pool, tuple(rounded[0][own]), floor)
        for pool, own, floor in zip(pool_of, accesses, rounded[1], strict=True)
    ]
    numbers = {cost: number for number, cost in enumerate(dict.fromkeys(costs))}
    pool_of = [numbers[cost] for cost in costs]
    for pool in observed_pools(pool_of, accesses, slow.cycles, seen, weights, savings):
        if pool.rows:
            own, floor = pool.accesses[0], float(floors[pool.slots[0]])
            floor, saved = _fit(pool.total, pool.rows, floor, savings[own], may_cost[own])
            floors[pool.slots], fitted[pool.accesses] = floor, saved
    return Fit(slow.cycles, floors, fitted, np.zeros(len(fitted)))


def stated_slow(program: Program) -> Observation:
    """The all-slow compile as the program's costs state it, in cycles per execution.

    Prices are no cycles of the compiler's and are left out.
    """
    clock = program.hardware.clock_hz
    seconds = np.array([i.fast_s - i.priced_s for i in program.instructions])
    times = np.array([a.time for a in program.accesses], dtype=np.int64)
    np.add.at(seconds, times, [a.saving_s for a in program.accesses])
    counts = np.array([program.multiplicity(i.level) for i in program.instructions])
    cycles = np.round(seconds * clock / counts, 3)
    return Observation(cycles, np.zeros(len(program.accesses), dtype=bool))


def _savings_per_execution(program: Program) -> NDArray[np.float64]:
    clock = program.hardware.clock_hz
    levels = [program.instructions[a.time].level for a in program.accesses]
    counts = np.array([program.multiplicity(level) for level in levels])
    savings: NDArray[np.float64] = np.array([a.saving_s for a in program.accesses]) * clock / counts
    return savings


def _floors_per_execution(program: Program) -> NDArray[np.float64]:
    clock = program.hardware.clock_hz
    counts = np.array([program.multiplicity(i.level) for i in program.instructions])
    floors: NDArray[np.float64] = np.array([i.floor_s for i in program.instructions])
    floors *= clock / counts
    return floors


def _fit(
    total: float,
    rows: Rows,
    floor: float,
    present: NDArray[np.float64],
    may_cost: NDArray[np.bool_],
) -> tuple[float, NDArray[np.float64]]:
    """Floor and savings `[J]` of one pool of `total` all-slow cycles, near the present ones."""
    matrix = np.array(list(rows), dtype=float)
    cycles = np.array([row.cycles for row in rows.values()])
    predicted = np.maximum(floor, total - matrix @ present)
    if np.abs(predicted - cycles).max() <= 1e-6 * total:
        return floor, present
    everyone = np.ones(len(present), dtype=bool)
    limit = max(MAX_SAVED_SHARE * total, total - cycles.min())
    return pool_equations(total, rows, present, everyone, may_cost).fit(limit)
