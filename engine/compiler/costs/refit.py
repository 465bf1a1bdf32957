"""Costs of a captured program, fitted again to all that its compiles said, without compiling."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.compiler.costs.calibrate import (
    Fit,
    fit_costs,
    fit_savings,
    total_cycles,
    total_error,
    with_costs,
)
from engine.compiler.costs.observations import Compile, Observations
from engine.hardware.presets import DEVICES
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.provenance import FASTEST_COMPILE

AS_GOOD = 1.02
"""A placement of at most so many times the cycles of the compiler's own is about as good."""


@dataclass(frozen=True)
class LeftOut:
    """A compile that was held out of the fit, with the relative error of its predicted total.

    `too_slow`: the error with all that the fit calls uncertain saved, if it is still positive.
    """

    compile: Compile
    error: float
    too_slow: float = 0.0


def refitted(program: Program, observations: Observations) -> Program:
    """The program with costs fitted to everything that was seen, and its plan by XLA kept.

    Its provenance gets the options of all compiles, the errors of placements held out, and what the
    default compile takes. Heap and alignment become those of today's presets.
    """
    device = DEVICES.get(program.hardware.name)
    hardware = device.hardware if device else program.hardware
    fit = fit_all(program, observations)
    fresh = replace(with_costs(program, fit), hardware=hardware)
    plan = dict(program.provenance.get("xla_plan", {}))
    if plan:
        plan["program_hash"] = content_hash(fresh)
    compiles = (observations.slow, *observations.compiles)
    provenance = {
        **program.provenance,
        "placements": {c.name: dict(c.options) for c in compiles},
        "fit": fit_record(program, list(left_out(program, observations, in_full=True)))
        | {"worst_error": float(f"{worst_error(program, fit, observations):.6g}")},
        **({"xla_plan": plan} if plan else {}),
        **_default_compile(program, observations),
        **_fastest_compile(program, observations),
    }
    return replace(fresh, provenance=provenance)


def _default_compile(program: Program, observations: Observations) -> dict[str, Any]:
    own = next((c for c in observations.compiles if not c.options), None)
    if own is None:
        return {}
    compute_s = total_cycles(program, None, own.seen) / program.hardware.clock_hz
    return {
        "default_compile": {
            **program.provenance.get("default_compile", {}),
            "compute_s": compute_s,
        }
    }


def _fastest_compile(program: Program, observations: Observations) -> dict[str, Any]:
    """The compile of the fewest cycles, those in which it waits for its copies too."""
    totals = {
        one.name: total_cycles(program, None, one.seen) + one.stall_cycles
        for one in (observations.slow, *observations.compiles)
        if one.stall_cycles is not None
    }
    if not totals:
        return {}
    name = min(totals, key=lambda n: totals[n])
    return {FASTEST_COMPILE: {"name": name, "seconds": totals[name] / program.hardware.clock_hz}}


def fit_all(program: Program, observations: Observations) -> Fit:
    """The costs fitted to all compiles."""
    seen = [c.seen for c in observations.compiles]
    return fit_costs(program, observations.pools, observations.slow.seen, seen)


def worst_error(program: Program, fit: Fit, observations: Observations) -> float:
    """The largest relative error of a fit, of the total of one of all compiles.

    Too slow counts as much as too fast: the all-fast time and every bound rest on these costs.
    """
    errors = (total_error(program, fit, one.seen) for one in observations.compiles)
    return max((abs(error) for error in errors), default=0.0)


def left_out(
    program: Program, observations: Observations, *, in_full: bool = False
) -> Iterator[LeftOut]:
    """Every placement that differs from the others, predicted by a fit without it.

    Compiles with equal placements are left out together. `in_full`: with `too_slow`, which takes
    another fit.
    """
    shown: set[bytes] = set()
    for one in observations.compiles:
        placement = one.seen.is_fast.tobytes()
        if placement in shown:
            continue
        shown.add(placement)
        fitted = [c.seen for c in others(observations, one)]
        fit_of = fit_costs if in_full else fit_savings
        fit = fit_of(program, observations.pools, observations.slow.seen, fitted)
        error, too_slow = total_error(program, fit, one.seen), 0.0
        if in_full and error > 0:
            quickest = replace(fit, savings=fit.savings + fit.uncertainty)
            too_slow = max(0.0, total_error(program, quickest, one.seen))
        yield LeftOut(one, error, too_slow)


def others(observations: Observations, one: Compile) -> list[Compile]:
    """The compiles with another placement than this one's."""
    return [c for c in observations.compiles if (c.seen.is_fast != one.seen.is_fast).any()]


def fit_record(program: Program, errors: Sequence[LeftOut]) -> dict[str, Any]:
    """The entry `fit` of a provenance: how well each placement was predicted by the others.

    `worst_held_out_error`: the larger of two relative errors. Too few cycles predicted, over
    placements with at most `AS_GOOD` times the cycles of the compiler's own: no plan aims at slower
    ones. Too many predicted, over all placements, beyond what the fit called uncertain.
    """
    totals = [total_cycles(program, None, e.compile.seen) for e in errors]
    own = min(
        (t for t, e in zip(totals, errors, strict=True) if not e.compile.options), default=math.inf
    )
    good = [e for t, e in zip(totals, errors, strict=True) if t <= AS_GOOD * own]
    wrong = [*(-e.error for e in good), *(e.too_slow for e in errors), 0.0]
    return {
        "held_out": [e.compile.name for e in errors],
        "held_out_errors": [float(f"{e.error:.6g}") for e in errors],
        "worst_held_out_error": max(wrong) if good else None,
    }
