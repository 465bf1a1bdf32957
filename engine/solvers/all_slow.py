"""`all_slow`: nothing lives in fast memory; the zero of every comparison."""

from __future__ import annotations

from engine.plan.model import Plan
from engine.program.io import content_hash
from engine.program.model import Program
from engine.solvers.registry import Budget, register


@register("all_slow", "everything stays in slow memory")
def all_slow(program: Program, budget: Budget) -> Plan:
    """The plan without stays and copies."""
    del budget
    return Plan(content_hash(program), "all_slow", (False,) * len(program.accesses), (), ())
