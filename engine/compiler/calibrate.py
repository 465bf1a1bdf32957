"""Savings per access, fitted to the compiler's cycles at several placements.

The compiler's estimate of an instruction drops by nearly additive amounts when an operand or a
result moves to fast memory. So for every instruction `cycles(placement) = slow - Σ saving_j·fast_j`
is solved in the least-squares sense with savings >= 0. Instructions that are equal but for their
names (layers repeat) share one fit. What no placement tells apart falls back to a prior
proportional to bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from engine.compiler.observe import Observation
from engine.program.hlo.build import Imported
from engine.program.hlo.shape import layout_text
from engine.program.model import Program

PRIOR_WEIGHT = 1e-3
"""Weight of the prior against one observation: it only decides what the data leave open."""

MAX_SAVED_SHARE = 0.97
"""Together the accesses of one instruction save at most this share of its all-slow cycles."""


@dataclass(frozen=True)
class Fit:
    """Fitted cycles of the all-fast program and savings per access, per execution.

    `errors`: relative errors of the program's total on each kept-out placement.
    """

    slow_cycles: NDArray[np.float64]
    savings: NDArray[np.float64]
    errors: tuple[float, ...]


def calibrate(
    imported: Imported,
    slow: Observation,
    fitted: Sequence[Observation],
    held_out: Sequence[Observation],
) -> tuple[Program, Fit]:
    """The program with fitted costs, and how well they predict placements kept out of the fit."""
    program = imported.program
    slow_cycles = np.nan_to_num(slow.cycles)
    accesses = _accesses_by_slot(program)
    bytes_drawn = _bytes_per_execution(program)
    per_byte = _cycles_per_byte(program, slow_cycles, fitted, bytes_drawn)
    savings = np.zeros(len(program.accesses))
    for slots in _pools(imported, slow_cycles, accesses).values():
        prior = per_byte * bytes_drawn[accesses[slots[0]]]
        fit = _fit_pool(slots, accesses, slow_cycles, fitted, prior)
        for slot in slots:
            savings[accesses[slot]] = fit
    errors = tuple(_total_error(program, slow_cycles, savings, o) for o in held_out)
    return _with_costs(program, slow_cycles, savings), Fit(slow_cycles, savings, errors)


def _accesses_by_slot(program: Program) -> list[list[int]]:
    accesses: list[list[int]] = [[] for _ in range(program.num_slots)]
    for index, access in enumerate(program.accesses):
        accesses[access.time].append(index)
    return accesses


def _bytes_per_execution(program: Program) -> NDArray[np.float64]:
    levels = [program.instructions[a.time].level for a in program.accesses]
    times = np.array([program.multiplicity(level) for level in levels], dtype=np.float64)
    drawn: NDArray[np.float64] = np.array([a.slow_bytes for a in program.accesses], dtype=float)
    drawn /= times
    return drawn


def _pools(
    imported: Imported, slow_cycles: NDArray[np.float64], accesses: list[list[int]]
) -> dict[object, list[int]]:
    """Slots of instructions with the same operation, shapes and all-slow cycles."""
    pools: dict[object, list[int]] = defaultdict(list)
    values = imported.flow.values
    for slot, event_number in enumerate(imported.events):
        event = imported.flow.events[event_number]
        operands = tuple((n, layout_text(values[v].shape)) for n, v, _ in event.reads)
        results = tuple(layout_text(values[v].shape) for v in event.writes)
        roles = tuple(imported.program.accesses[a].operand for a in accesses[slot])
        key = (event.instruction.opcode, float(slow_cycles[slot]), operands, results, roles)
        pools[key].append(slot)
    return pools


def _cycles_per_byte(
    program: Program,
    slow_cycles: NDArray[np.float64],
    observations: Sequence[Observation],
    bytes_drawn: NDArray[np.float64],
) -> float:
    """Cycles saved per fast byte over all observations: the scale of the prior."""
    times = np.array([a.time for a in program.accesses], dtype=np.int64)
    saved = moved = 0.0
    for seen in observations:
        fast = seen.is_fast & ~np.isnan(seen.cycles[times]) & (slow_cycles[times] > 0)
        saved += float(np.nansum(np.where(slow_cycles > 0, slow_cycles - seen.cycles, 0.0)))
        moved += float(bytes_drawn[fast].sum())
    hardware = program.hardware
    by_bandwidth = hardware.clock_hz / hardware.bandwidth
    return saved / moved if moved > 0 and saved > 0 else by_bandwidth


def _fit_pool(
    slots: list[int],
    accesses: list[list[int]],
    slow_cycles: NDArray[np.float64],
    observations: Sequence[Observation],
    prior: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Savings `[J]` of one pool: least squares with a weak pull to the prior, all >= 0."""
    total = float(slow_cycles[slots[0]])
    if total <= 0 or len(prior) == 0:
        return np.zeros(len(prior))
    limit = MAX_SAVED_SHARE * total
    if prior.sum() > limit:
        prior = prior * (limit / prior.sum())
    rows, targets = [], []
    for slot in slots:
        for seen in observations:
            fast = seen.is_fast[accesses[slot]]
            if fast.any() and not np.isnan(seen.cycles[slot]):
                rows.append(fast.astype(float))
                targets.append(total - seen.cycles[slot])
    pull = PRIOR_WEIGHT * np.eye(len(prior))
    matrix = np.vstack([np.array(rows).reshape(len(rows), len(prior)), pull])
    goal = np.concatenate([np.array(targets), PRIOR_WEIGHT * prior])
    rounds = 100 + 30 * len(prior)
    savings: NDArray[np.float64] = nnls(matrix / total, goal / total, maxiter=rounds)[0]
    is_open: NDArray[np.bool_] = np.all(matrix[: len(rows)] == 0.0, axis=0)
    return _limited(savings, is_open, limit)


def _limited(
    savings: NDArray[np.float64], is_open: NDArray[np.bool_], limit: float
) -> NDArray[np.float64]:
    """At most `limit` together; what no observation shows (`is_open`) gives way first."""
    shown = float(savings[~is_open].sum())
    guessed = float(savings[is_open].sum())
    scale = min(1.0, limit / shown) if shown > 0 else 1.0
    open_scale = min(1.0, max(0.0, limit - shown) / guessed) if guessed > 0 else 1.0
    limited: NDArray[np.float64] = savings * np.where(is_open, open_scale, scale)
    return limited


def _total_error(
    program: Program,
    slow_cycles: NDArray[np.float64],
    savings: NDArray[np.float64],
    seen: Observation,
) -> float:
    """Relative error of the predicted total cycles of one placement, loops multiplied out."""
    slots = np.array([a.time for a in program.accesses], dtype=np.int64)
    saved = np.bincount(slots, savings * seen.is_fast, minlength=program.num_slots)
    times = np.array([program.multiplicity(i.level) for i in program.instructions])
    known = ~np.isnan(seen.cycles)
    real = float((seen.cycles * times)[known].sum())
    predicted = float(((slow_cycles - saved) * times)[known].sum())
    return predicted / real - 1.0 if real > 0 else 0.0


def _with_costs(
    program: Program, slow_cycles: NDArray[np.float64], savings: NDArray[np.float64]
) -> Program:
    """The program with `fast_s` and `saving_s` in seconds over one run."""
    clock = program.hardware.clock_hz
    times = [program.multiplicity(i.level) for i in program.instructions]
    fast = slow_cycles.copy()
    np.subtract.at(fast, np.array([a.time for a in program.accesses], dtype=np.int64), savings)
    return replace(
        program,
        instructions=tuple(
            replace(i, fast_s=max(0.0, float(f)) * t / clock)
            for i, f, t in zip(program.instructions, fast, times, strict=True)
        ),
        accesses=tuple(
            replace(a, saving_s=float(s) * times[a.time] / clock)
            for a, s in zip(program.accesses, savings, strict=True)
        ),
    )
