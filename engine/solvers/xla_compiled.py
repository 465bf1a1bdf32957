"""`xla_compiled`: the plan that XLA's own solver chose when the real compiler compiled the program.

It travels with the program, in its provenance, where a capture or an HLO pair put it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.errors import SolverError
from engine.plan.io import plan_from_json
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.registry import Budget, register

WHOLE_SHARE = 0.99
"""Of a plan that was read to a smaller share of its saving, nothing can be said to be better."""


def share_read(program: Program) -> float | None:
    """The share of the saving of XLA's plan that was read; None without a plan.

    What breaks one of our rules is left out of the plan when it is read (`docs/formats.md`).
    """
    if not has_compiled_plan(program):
        return None
    lost = _notes(program).get("left_out_saving_share", 0.0)
    return 1.0 - lost if isinstance(lost, float) else 1.0


def _notes(program: Program) -> Mapping[str, Any]:
    return _plan(program).notes


def _plan(program: Program) -> Plan:
    return plan_from_json(program.provenance["xla_plan"], f"{program.name}: provenance.xla_plan")


def offsets_of_compiled_plan(program: Program) -> str:
    """Whose offsets the compiled plan has: XLA's own, or others, as its notes say."""
    return str(_notes(program).get("offsets", "XLA's own"))


def reading_warning(program: Program) -> str | None:
    """One line on a plan that was read in part, which is no measure for others; else None."""
    share = share_read(program)
    if share is None or share >= WHOLE_SHARE:
        return None
    return (
        f"only {share:.1%} of the saving of XLA's plan could be read, so xla_compiled is slower"
        " here than XLA is: to be faster than it is no win"
    )


def has_compiled_plan(program: Program) -> bool:
    """Whether the real compiler's plan came with the program."""
    return "xla_plan" in program.provenance


@register("xla_compiled", "the plan that the real XLA TPU compiler chose")
def xla_compiled(program: Program, budget: Budget) -> Plan:
    """The stored plan. Raises SolverError if the program came without one."""
    del budget
    if not has_compiled_plan(program):
        raise SolverError(
            f"{program.name}: no compiler plan came with this program;"
            " capture it, or import it with both --slow and --fast"
        )
    return _plan(program)
