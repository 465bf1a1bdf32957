"""Savings per access, fitted to the compiler's cycles at several placements.

The compiler's estimate of an instruction drops by nearly additive amounts when an operand or a
result moves to fast memory. So for every instruction `cycles(placement) = slow - Σ saving_j·fast_j`
is solved in the least-squares sense with savings >= 0, but for those of writes, where some take
longer into fast memory and the totals say so (`choose_write_costs`). Instructions that are equal
but for their names (layers repeat) share one fit. Savings that no placement separates are split by
bytes.

If every compile took more cycles for an instruction than the all-slow one, some access that is fast
in all of them slows it down. Then `slow` is the smallest of their cycles.

Some are bound by compute once most is fast, so that two savings are not had together: then
`cycles(placement) = max(floor, slow - Σ saving_j·fast_j)`. Where even this does not fit,
the fastest compiles weigh most, since plans resemble them, and errors lean to too many cycles.

An access that no compile ever served from fast memory saves nothing here: a solver looks for what
pays most, and so for every estimate that is too high. What it may save is its *uncertainty*
(`docs/costs.md`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.compiler.costs.pools import (
    AT_ODDS,
    CLOSELY_AT_ODDS,
    MUCH_LESS,
    SLOWER,
    Pool,
    fit_pool,
    observed_pools,
    slots_by_pool,
    uncertainty,
)
from engine.compiler.reading.observation import Observation
from engine.program.hlo.build import Imported
from engine.program.hlo.shape import layout_text
from engine.program.model import Program
from engine.program.validate import MOST_COSTS

NEAR = 0.03
"""A compile whose total is above the smallest one by this share counts e times less."""

ROUNDING = 1e-6
"""Totals that differ by a smaller share are equal."""

MISSED = 0.015
"""A compile's total is missed where a fit is off it by more than this share."""

LEAST_WEIGHT = 0.05
"""How much the slowest compiles count."""


@dataclass(frozen=True)
class Fit:
    """Fitted cycles, per execution.

    `slow_cycles` `[T]`: all in slow memory; `floor_cycles` `[T]`: the least, however much is fast.
    `savings` `[A]`, and `uncertainty` `[A]`: how much more an access may save by all that was seen.
    `errors`: relative errors of the program's total on each held-out placement.
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
    """The program with fitted costs, and how well they predict placements held out of the fit."""
    program = imported.program
    fit = fit_costs(program, pools(imported, slow), slow, fitted, guess)
    errors = tuple(total_error(program, fit, o) for o in held_out)
    return with_costs(program, fit), replace(fit, errors=errors)


def pools(imported: Imported, slow: Observation) -> tuple[int, ...]:
    """`[T]` a number per slot, the same for equal operation, shapes, layouts and slow cycles."""
    numbers: dict[object, int] = {}
    accesses = accesses_by_slot(imported.program)
    values = imported.flow.values
    pool_of = []
    for slot, event_number in enumerate(imported.events):
        event = imported.flow.events[event_number]
        operands = tuple((n, layout_text(values[v].shape)) for n, v, _ in event.reads)
        results = tuple(layout_text(values[v].shape) for v in event.writes)
        roles = tuple(imported.program.accesses[a].operand for a in accesses[slot])
        cycles = float(np.nan_to_num(slow.cycles[slot]))
        key = (event.instruction.opcode, cycles, operands, results, roles)
        pool_of.append(numbers.setdefault(key, len(numbers)))
    return tuple(pool_of)


def fit_costs(
    program: Program,
    pool_of: Sequence[int],
    slow: Observation,
    seen: Sequence[Observation],
    guess: float = 0.0,
) -> Fit:
    """The fit to all compiles `seen` of a program whose instruction `k` is of pool `pool_of[k]`.

    `guess`: an access that was never observed fast is credited with this share of the saving
    estimated from its bytes. The rest is uncertainty. Writes may cost time where that explains the
    totals.
    """
    fit, known, prior = _fitted(program, pool_of, slow, seen, guess)
    more = np.zeros(len(program.accesses))
    for pool in known:
        own = pool.accesses[0]
        more[pool.accesses] = uncertainty(pool, prior[own], fit.savings[own])
    return replace(fit, uncertainty=np.where(_may_save(program), more, 0.0))


def fit_savings(
    program: Program,
    pool_of: Sequence[int],
    slow: Observation,
    seen: Sequence[Observation],
    guess: float = 0.0,
) -> Fit:
    """`fit_costs` without uncertainties, which predictions do not need: they are left at zero."""
    return _fitted(program, pool_of, slow, seen, guess)[0]


def _fitted(
    program: Program,
    pool_of: Sequence[int],
    slow: Observation,
    seen: Sequence[Observation],
    guess: float,
) -> tuple[Fit, list[Pool], NDArray[np.float64]]:
    """`fit_savings`, and the pools and the prior `[A]` that it rests on.

    Instructions that are equal by name alone are told apart where they differ much, or a little
    where the program would otherwise take longer with everything fast than a compile of it does;
    by what they took at equal placements only where a total would else be `MISSED`.
    """
    slow_cycles = _least_cycles(slow, pool_of, seen)
    prior = _prior(program, slow_cycles, seen)
    accesses, weights = accesses_by_slot(program), compile_weights(program, seen)

    def told_apart(at_odds: float, by_cycles: bool = False) -> tuple[Fit, list[Pool]]:
        observed = pool_of, accesses, slow_cycles, seen, weights, prior
        known = list(observed_pools(*observed, at_odds, by_cycles))
        return _fitted_to(program, slow_cycles, seen, prior, known, guess), known

    at_odds = AT_ODDS
    fit, known = told_apart(at_odds)
    if _is_beaten(program, fit, seen):
        at_odds = CLOSELY_AT_ODDS
        fit, known = told_apart(at_odds)
    if any(abs(total_error(program, fit, one)) > MISSED for one in seen):
        fit, known = told_apart(at_odds, by_cycles=True)
    return fit, known, prior


def _is_beaten(program: Program, fit: Fit, seen: Sequence[Observation]) -> bool:
    """Whether some compile takes less than the fit's total with all fast that saves something."""
    return any(
        total_cycles(program, fit, replace(one, is_fast=fit.savings > 0))
        > total_cycles(program, None, one) * (1.0 + ROUNDING)
        for one in seen
    )


def _fitted_to(
    program: Program,
    slow_cycles: NDArray[np.float64],
    seen: Sequence[Observation],
    prior: NDArray[np.float64],
    known: Sequence[Pool],
    guess: float,
) -> Fit:
    """The fit to these pools, uncertainties left at zero."""

    def fitted(may_cost: NDArray[np.bool_]) -> Fit:
        floors, savings = np.zeros(program.num_slots), np.zeros(len(program.accesses))
        for pool in known:
            own = pool.accesses[0]
            floor, saved = fit_pool(pool, prior[own], may_cost[own], guess)
            floors[pool.slots], savings[pool.accesses] = floor, saved
        savings = np.where(_may_save(program), savings, 0.0)
        return Fit(slow_cycles, floors, savings, np.zeros(len(savings)))

    return choose_write_costs(program, slow_cycles, seen, fitted)


def _prior(
    program: Program, slow_cycles: NDArray[np.float64], seen: Sequence[Observation]
) -> NDArray[np.float64]:
    """`[A]` the cycles that each access saves per execution by its bytes alone."""
    return bytes_per_execution(program) * _cycles_per_byte(program, slow_cycles, seen)


def _may_save(program: Program) -> NDArray[np.bool_]:
    return np.array([not a.must_be_slow for a in program.accesses], dtype=bool)


def choose_write_costs(
    program: Program,
    slow_cycles: NDArray[np.float64],
    seen: Sequence[Observation],
    fitted: Callable[[NDArray[np.bool_]], Fit],
) -> Fit:
    """The fit with free writes, or the one in which they may cost time: that is taken if it leaves
    less than half of the totals' error, and they cost no more than a program file may say.

    `fitted`: a fit, given which accesses `[A]` may cost time. `slow_cycles` `[T]`: all in slow
    memory; where nothing took longer than that nothing costs.
    """
    may_cost = _may_save(program) & np.array([a.is_write for a in program.accesses], dtype=bool)
    plain = fitted(np.zeros_like(may_cost))
    if not any((one.cycles > slow_cycles * (1.0 + SLOWER)).any() for one in seen):
        return plain
    costly, weights = fitted(may_cost), compile_weights(program, seen)
    times = np.array([program.multiplicity(i.level) for i in program.instructions])
    costs = -np.minimum(costly.savings, 0.0) @ times[_access_times(program)]
    if costs > MOST_COSTS * float(slow_cycles @ times):
        return plain

    def loss(fit: Fit) -> float:
        errors = np.array([total_error(program, fit, one) for one in seen])
        return float(np.sum((errors * weights) ** 2))

    return costly if loss(costly) < MUCH_LESS * loss(plain) else plain


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
    """The program with `fast_s`, `floor_s`, `saving_s`, `uncertainty_s` in seconds over one run.

    Its prices stay, on top of what the compiler states.
    """
    clock = program.hardware.clock_hz
    times = [program.multiplicity(i.level) for i in program.instructions]
    fast = fit.slow_cycles.copy()
    np.subtract.at(fast, _access_times(program), fit.savings)
    return replace(
        program,
        instructions=tuple(
            replace(
                i,
                fast_s=max(0.0, float(f)) * t / clock + i.priced_s,
                floor_s=float(floor) * t / clock,
            )
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
    """Cycles of one run, as `slot_cycles` has them, without instructions that were not seen."""
    return float(np.nansum(slot_cycles(program, fit, seen)))


def slot_cycles(program: Program, fit: Fit | None, seen: Observation) -> NDArray[np.float64]:
    """`[T]` cycles in one run with the accesses fast that were seen so, loops multiplied out.

    By the `fit`, or without one by what the compiler said; nan where it said nothing.
    """
    cycles = seen.cycles
    if fit is not None:
        savings = fit.savings * seen.is_fast
        saved = np.bincount(_access_times(program), savings, minlength=program.num_slots)
        fitted = np.maximum(fit.floor_cycles, fit.slow_cycles - saved)
        cycles = np.where(np.isnan(seen.cycles), np.nan, fitted)
    times = np.array([program.multiplicity(i.level) for i in program.instructions])
    run_cycles: NDArray[np.float64] = cycles * times
    return run_cycles


def bytes_per_execution(program: Program) -> NDArray[np.float64]:
    """`[A]` bytes that each access draws from slow memory when its instruction runs once.

    Zero where the access must be slow: being fast cannot spare it any.
    """
    levels = [program.instructions[a.time].level for a in program.accesses]
    times = np.array([program.multiplicity(level) for level in levels], dtype=np.float64)
    drawn: NDArray[np.float64] = np.array(
        [0 if a.must_be_slow else a.slow_bytes for a in program.accesses], dtype=float
    )
    drawn /= times
    return drawn


def compile_weights(program: Program, seen: Sequence[Observation]) -> list[float]:
    """How much each compile counts in the fit: 1 for the one with the smallest total."""
    totals = [total_cycles(program, None, one) for one in seen]
    least = min(totals, default=0.0)
    if least <= 0:
        return [1.0] * len(seen)
    return [max(LEAST_WEIGHT, math.exp((1.0 - t / least) / NEAR)) for t in totals]


def accesses_by_slot(program: Program) -> list[list[int]]:
    """`[T]` the accesses of each instruction, by number."""
    accesses: list[list[int]] = [[] for _ in range(program.num_slots)]
    for index, access in enumerate(program.accesses):
        accesses[access.time].append(index)
    return accesses


def _access_times(program: Program) -> NDArray[np.int64]:
    return np.array([a.time for a in program.accesses], dtype=np.int64)


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
