"""`muzero`: mallocMuZero, the agent."""

from __future__ import annotations

from pathlib import Path

from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.registry import Budget, register


@register("muzero", "mallocMuZero: the agent practises on this program", uses_time=True)
def muzero(program: Program, budget: Budget) -> Plan:
    """The best game that the agent played; `budget.options` as in `engine.solvers.practice`."""
    # Imported late: whoever only checks or simulates plans need not wait for the agent's libraries.
    from engine.agent.trace_io import save_trace
    from engine.solvers.practice import plan_of, practise

    found = practise(program, budget)
    if "trace" in budget.options:
        save_trace(found.trace(), Path(budget.options["trace"]))
    return plan_of(found)
