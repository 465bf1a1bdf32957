"""The solvers behind one protocol, and the one door through which plans leave them.

A solver is a function `(program, budget) -> Plan`. `solve` runs it and lets only plans out that
the checker has passed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from engine.errors import SolverError, UnknownNameError
from engine.plan.check import check
from engine.plan.model import Plan
from engine.program.model import Program

Progress = Callable[[float, str], bool]
"""Told the share done and a word about it; answers False to ask for an early end."""


def _ignore(share: float, message: str) -> bool:
    del share, message
    return True


@dataclass(frozen=True)
class Budget:
    """What a solver may spend: wall-clock seconds, and the seed of all its randomness.

    `options`: settings of one solver, by name; each solver says which it knows.
    """

    seconds: float = 60.0
    seed: int = 0
    progress: Progress = field(default=_ignore, compare=False)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Solver:
    """A registered solver. `uses_time`: more seconds can give a better plan."""

    name: str
    description: str
    run: Callable[[Program, Budget], Plan]
    uses_time: bool = False


_SOLVERS: dict[str, Solver] = {}
SOLVERS: Mapping[str, Solver] = MappingProxyType(_SOLVERS)
"""Every solver by name; filled when `engine.solvers` is imported."""


def register(
    name: str, description: str, uses_time: bool = False
) -> Callable[[Callable[[Program, Budget], Plan]], Callable[[Program, Budget], Plan]]:
    """Decorator that makes a function known as a solver."""

    def add(run: Callable[[Program, Budget], Plan]) -> Callable[[Program, Budget], Plan]:
        _SOLVERS[name] = Solver(name, description, run, uses_time)
        return run

    return add


def find(name: str) -> Solver:
    """The solver of that name. Raises UnknownNameError with the nearest names."""
    if name not in SOLVERS:
        near = get_close_matches(name, SOLVERS, n=3) or sorted(SOLVERS)
        raise UnknownNameError(f"no solver is called {name!r}; try {', '.join(near)}")
    return SOLVERS[name]


def solve(name: str, program: Program, budget: Budget | None = None) -> Plan:
    """Run a solver and check its plan; `notes` get the wall-clock seconds and the seed.

    Raises UnknownNameError, or SolverError if there is no plan or the checker rejects it.
    """
    solver = find(name)
    budget = budget or Budget()
    begun = time.perf_counter()
    plan = solver.run(program, budget)
    seconds = time.perf_counter() - begun
    violation = check(program, plan)
    if violation is not None:
        raise SolverError(
            f"{program.name}: the plan of {name} breaks the rule {violation.rule}:"
            f" {violation.message}"
        )
    notes = {**plan.notes, "seconds": round(seconds, 3), "seed": budget.seed}
    return replace(plan, solver=name, notes=notes)
