"""`xla_compiled`: the plan that XLA's own solver chose when the real compiler compiled the program.

`engine.program.reading` says how much of it could be read.
"""

from __future__ import annotations

from engine.errors import SolverError
from engine.plan.io import plan_from_json
from engine.plan.model import Plan
from engine.program.model import Program
from engine.program.reading import has_compiled_plan
from engine.solvers.registry import Budget, register


@register("xla_compiled", "the plan that the real XLA TPU compiler chose")
def xla_compiled(program: Program, budget: Budget) -> Plan:
    """The stored plan. Raises SolverError if the program came without one."""
    del budget
    if not has_compiled_plan(program):
        raise SolverError(
            f"{program.name}: no compiler plan came with this program;"
            " capture it, or import it with both --slow and --fast"
        )
    return plan_from_json(program.provenance["xla_plan"], f"{program.name}: provenance.xla_plan")
