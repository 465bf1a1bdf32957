"""Trust in fitted costs: how well a fit predicts compiles that it has not observed.

Every placement is predicted by a fit to the others, and the fit of all is held against each.
"""

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
)
from engine.compiler.costs.observations import Compile, Observations
from engine.program.model import Program

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


def left_out(
    program: Program, observations: Observations, *, in_full: bool = False
) -> Iterator[LeftOut]:
    """Every placement that differs from the others, predicted by a fit without it.

    Compiles with equal placements are left out together. `in_full`: with `too_slow`, for which
    the uncertainties of the fit are worked out.
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


def worst_error(program: Program, fit: Fit, observations: Observations) -> float:
    """The largest relative error of a fit, of the total of one of all compiles.

    Too slow counts as much as too fast: the all-fast time and every bound rest on these costs.
    """
    errors = (total_error(program, fit, one.seen) for one in observations.compiles)
    return max((abs(error) for error in errors), default=0.0)
