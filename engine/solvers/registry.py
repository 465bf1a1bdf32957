"""The solvers behind one protocol, and the one door through which plans leave them.

A solver is a function `(program, budget) -> Plan`. `solve` runs it and lets only plans out that
the checker has passed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from types import MappingProxyType
from typing import Any

from engine.errors import BrokenSolverError, ConfigError, UnknownNameError
from engine.plan.check import check
from engine.plan.model import Plan
from engine.program.model import Program

Progress = Callable[[float, str], bool]
"""Called with the share done and a word about it; returns False to ask for an early end."""


def _ignore(share: float, message: str) -> bool:
    del share, message
    return True


def refuse_bad_budget(seconds: float, seed: int) -> None:
    """Raises ConfigError unless the time is finite and neither is negative."""
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ConfigError(f"{seconds} seconds: name a number from 0 on")
    if seed < 0:
        raise ConfigError(f"seed {seed}: name a whole number from 0 on")


@dataclass(frozen=True)
class Budget:
    """What a solver may spend: wall-clock seconds, and the seed of all its randomness.

    `options`: settings of one solver, by name; each solver says which it knows. Raises ConfigError
    for a negative seed and for a time that is negative or not finite.
    """

    seconds: float = 60.0
    seed: int = 0
    progress: Progress = field(default=_ignore, compare=False)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what would never end or could not be drawn from."""
        refuse_bad_budget(self.seconds, self.seed)


@dataclass(frozen=True)
class Solver:
    """A solver.

    `uses_time`: more seconds can give a better plan. `package`: where it is of another package.
    """

    name: str
    description: str
    run: Callable[[Program, Budget], Plan]
    uses_time: bool = False
    package: str = ""


_SOLVERS: dict[str, Solver] = {}
SOLVERS: Mapping[str, Solver] = MappingProxyType(_SOLVERS)
"""Every solver by name, ours first; `engine.solvers` adds those of other packages."""


def add(solver: Solver) -> None:
    """Make a solver known by its name. Raises ValueError if another one has it."""
    if solver.name in _SOLVERS:
        raise ValueError(f"there is a solver {solver.name!r} already")
    _SOLVERS[solver.name] = solver


def _late(module: str, function: str) -> Callable[[Program, Budget], Plan]:
    """A solver of this room, imported when it runs, with the libraries that it needs."""

    def run(program: Program, budget: Budget) -> Plan:
        place = import_module(f"{__name__.rpartition('.')[0]}.{module}")
        solver: Callable[[Program, Budget], Plan] = getattr(place, function)
        return solver(program, budget)

    return run


_OURS = (
    Solver("all_slow", "everything stays in slow memory", _late("baselines", "all_slow")),
    Solver(
        "greedy",
        "the mallocGame played for the best immediate reward",
        _late("baselines", "greedy"),
    ),
    Solver(
        "random", "the best of many random games", _late("baselines", "random_play"), uses_time=True
    ),
    Solver(
        "xla_compiled",
        "the plan that the real XLA TPU compiler chose",
        _late("baselines", "xla_compiled"),
    ),
    Solver("xla_like", "XLA's own heuristic, re-implemented", _late("xla_msa", "xla_like")),
    Solver(
        "steered",
        "XLA's heuristic with the best priorities found for it",
        _late("xla_msa", "steered"),
        uses_time=True,
    ),
    Solver(
        "evolution",
        "an evolutionary search over action sequences",
        _late("evolution", "evolution"),
        uses_time=True,
    ),
    Solver(
        "local",
        "ruin and recreate over whole stays, by simulated annealing",
        _late("local", "local"),
        uses_time=True,
    ),
    Solver(
        "density",
        "stays placed in order of their value per byte and slot",
        _late("local", "density"),
    ),
    Solver(
        "muzero",
        "mallocMuZero: the agent practises on this program",
        _late("muzero", "muzero"),
        uses_time=True,
    ),
    Solver(
        "portfolio",
        "several solvers on all cores, sharing the best plan",
        _late("portfolio", "portfolio"),
        uses_time=True,
    ),
)
for _solver in _OURS:
    add(_solver)


def find(name: str) -> Solver:
    """The solver of that name. Raises UnknownNameError with the nearest names."""
    if name not in SOLVERS:
        near = get_close_matches(name, SOLVERS, n=3) or sorted(SOLVERS)
        raise UnknownNameError(f"no solver is called {name!r}; try {', '.join(near)}")
    return SOLVERS[name]


def solve(name: str, program: Program, budget: Budget | None = None) -> Plan:
    """Run a solver and check its plan; `notes` get the wall-clock seconds and the seed.

    Raises UnknownNameError; SolverError if there is no plan, BrokenSolverError if the checker
    rejects it.
    """
    solver = find(name)
    budget = budget or Budget()
    begun = time.perf_counter()
    plan = solver.run(program, budget)
    seconds = time.perf_counter() - begun
    violation = check(program, plan)
    if violation is not None:
        raise BrokenSolverError(
            f"{program.name}: the plan of {name} breaks the rule {violation.rule}:"
            f" {violation.message}"
        )
    notes = {**plan.notes, "seconds": round(seconds, 3), "seed": budget.seed}
    return replace(plan, solver=name, notes=notes)
