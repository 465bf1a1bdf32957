"""Several solvers on one program, side by side in one run, judged alike."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from engine.errors import EngineError, UsageError
from engine.hardware.unestimated_share import unestimated_remark, unestimated_share
from engine.plan.bounds import lower_bound
from engine.plan.simulate import simulate
from engine.program.io import content_hash
from engine.program.library import proven_bound_s
from engine.program.model import Program
from engine.program.provenance import has_compiled_plan, reading_warning, share_read
from engine.solvers import (
    SOLVERS,
    Budget,
    find,
    solve,
)


def applicable(program: Program) -> list[str]:
    """Names of the solvers that can run on this program."""
    return [n for n in SOLVERS if n != "xla_compiled" or has_compiled_plan(program)]


def compare(
    program: Program, solvers: Sequence[str] | None = None, budget: Budget | None = None
) -> dict[str, Any]:
    """Results of each solver: `program`, `content_hash`, `bound_s`, and `results` by latency.

    `bound_s`: by the linear program, or, of a sample, what is proven if that is more.
    `found_by` of a row: the solver that made the plan, where it is another one's. `xla_plan_read`:
    the share of the saving of XLA's plan that was read (None without a plan), and `warning`, if it
    is too small for `xla_compiled` to be a measure (else None). `unestimated_share`: of the time,
    what is no estimate of the compiler's, and `unestimated`, a line on it where it is notable (else
    None). `error`: None. A solver without a plan has a row that says why. Raises UnknownNameError
    for an unknown solver before any of them runs, UsageError for none.
    """
    names = list(solvers) if solvers is not None else applicable(program)
    if not names:
        raise UsageError("compare: no solver is named; name some, or leave them out for all")
    for name in names:
        find(name)
    bound_s = max(lower_bound(program).bound_s, proven_bound_s(program) or 0.0)
    rows = [_row(program, name, budget or Budget()) for name in names]
    rows.sort(key=lambda row: (row["latency_s"] is None, row["latency_s"] or 0.0))
    return {
        "program": program.name,
        "content_hash": content_hash(program),
        "bound_s": bound_s,
        "xla_plan_read": share_read(program),
        "warning": reading_warning(program),
        "unestimated_share": unestimated_share(program),
        "unestimated": unestimated_remark(program),
        "results": rows,
        "error": None,
    }


def failed(name: str, reason: str) -> dict[str, Any]:
    """The comparison on a program that came to nothing, as `compare` returns it."""
    unknown = (
        "content_hash",
        "bound_s",
        "xla_plan_read",
        "warning",
        "unestimated_share",
        "unestimated",
    )
    return {"program": name, **dict.fromkeys(unknown), "results": [], "error": reason}


def reason_of(error: BaseException) -> str:
    """One line on why something failed; of errors that are not ours with their kind."""
    text = str(error) if isinstance(error, EngineError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())


def _row(program: Program, name: str, budget: Budget) -> dict[str, Any]:
    begun = time.perf_counter()
    try:
        plan = solve(name, program, budget)
    except Exception as error:  # noqa: BLE001 - one solver's fault is no other's
        return {
            "solver": name,
            "latency_s": None,
            "seconds": time.perf_counter() - begun,
            "valid": False,
            "violation": reason_of(error),
            "found_by": None,
        }
    return {
        "solver": name,
        "latency_s": simulate(program, plan).latency_s,
        "seconds": plan.notes["seconds"],
        "valid": True,
        "violation": None,
        "found_by": plan.notes.get("found_by", plan.solver),
    }
