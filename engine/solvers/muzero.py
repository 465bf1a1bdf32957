"""`muzero`: mallocMuZero, the agent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.agent.config import GUMBEL, LEARNED, SCRATCH, SearchConfig
from engine.errors import CheckpointError, UsageError
from engine.files import refuse_unwritable
from engine.game.move_list import moves
from engine.game.reference.game import ReferenceGame
from engine.plan.model import Plan
from engine.processes import is_child
from engine.program.model import Program
from engine.solvers.apart import run_apart
from engine.solvers.clock import Clock
from engine.solvers.registry import Budget


def muzero(program: Program, budget: Budget) -> Plan:
    """The best game that the agent played, in a process that can be ended while it compiles.

    `budget.options` as in `engine.solvers.practice`.
    """
    trace = budget.options.get("trace")
    if trace is not None:
        refuse_unwritable(Path(trace))
    _refuse_bad_options(budget.options)
    if not moves(program):
        if trace is not None:
            raise UsageError(f"{program.name}: nothing is decided here, so there is no trace")
        return ReferenceGame(program).plan("muzero")
    if is_child():
        return play(program, budget)
    # Who wants to see its game is given one, also where a round takes longer than the seconds.
    return run_apart(f"{__name__}:play", program, budget, is_patient=trace is not None)


def _refuse_bad_options(options: Mapping[str, Any]) -> None:
    """Raises ConfigError and CheckpointError as the agent would, but before anything is loaded."""
    SearchConfig(
        model=options.get("model") or LEARNED,
        algorithm=options.get("algorithm") or GUMBEL,
        num_simulations=options.get("simulations", 1),
    )
    folder = options.get("checkpoint")
    if folder not in (None, SCRATCH) and not Path(folder).is_dir():
        raise CheckpointError(f"{folder}: there is no such folder; name that of a checkpoint")


def play(program: Program, budget: Budget) -> Plan:
    """As `muzero`, in this process."""
    # Imported late: whoever only checks or simulates plans need not wait for the agent's libraries.
    from engine.agent.trace_io import save_trace
    from engine.solvers.practice import plan_of, practise

    practised = practise(program, budget)
    trace = budget.options.get("trace")
    if trace is not None:
        with Clock(budget).stopped("searching its best game once more, for the trace"):
            save_trace(practised.trace(), Path(trace))
    return plan_of(practised)
