"""`local` and `density`: the registered solvers of the local search, and how they spend time."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

from engine.errors import PlanError
from engine.plan.check import check
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.local.search import Run, best_beginning, compile_all
from engine.solvers.registry import Budget

SEEDS = 1_000_003
"""Between the seeds of two searches one after another."""


def local(program: Program, budget: Budget) -> Plan:
    """Search until the seconds are over. Raises PlanError for an invalid plan to begin from."""
    return search_locally(program, budget, time.perf_counter)


def density(program: Program, budget: Budget) -> Plan:
    """The offline greedy that `local` begins from; takes what time it needs."""
    compile_all(budget.progress)
    run = Run(program, seed=0)
    run.build(lambda: True)
    return run.plan({})


def search_locally(program: Program, budget: Budget, clock: Callable[[], float]) -> Plan:
    """As `local`, by a clock of the caller's choice; it starts once all is compiled."""
    start, most = _read_options(program, budget)
    compile_all(budget.progress)
    begun = clock()

    def share() -> float:
        spent = clock() - begun
        return min(1.0, spent / budget.seconds) if budget.seconds > 0 else 1.0

    is_over, before = False, 0

    def goes_on(run: Run) -> bool:
        nonlocal is_over
        best_s = min(run.best_s, best.best_s) if best else run.best_s
        message = f"{before + run.moves} moves, {1e6 * best_s:.2f} us"
        is_over = is_over or not budget.progress(share(), message) or share() >= 1.0
        return not is_over

    best: Run | None = None
    if start is not None or most is not None:
        run = _begun(program, budget.seed, start, goes_on)
        run.improve(lambda: goes_on(run), most)
        return run.plan({"moves": run.moves})
    for number in count():
        run = best_beginning(program, budget.seed + SEEDS * number, budget.seconds, share, goes_on)
        run.improve(lambda: goes_on(run) and not run.is_stale)  # noqa: B023
        best = run if best is None or run.best_s < best.best_s else best
        before += run.moves
        if is_over or not run.is_stale:
            break
    assert best is not None
    return best.plan({"moves": before})


def _begun(program: Program, seed: int, start: Plan | None, goes_on: Callable[[Run], bool]) -> Run:
    """A run begun from a plan, or from nothing, and the greedy for what is slow."""
    run = Run(program, seed)
    if start is not None:
        run.load(start)
    run.build(lambda: goes_on(run))
    return run


def _read_options(program: Program, budget: Budget) -> tuple[Plan | None, int | None]:
    start, most = budget.options.get("start"), budget.options.get("moves")
    if start is not None:
        violation = check(program, start)
        if violation is not None:
            raise PlanError(
                f"the plan to begin from breaks the rule {violation.rule}: {violation.message}"
            )
    return start, None if most is None else int(most)
