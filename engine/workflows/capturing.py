"""How programs are captured: a solver of this project plans for the compiles of the study."""

from __future__ import annotations

import functools
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import UsageError
from engine.folders import VARIABLE, cache_folder
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers import Budget, find, solve
from engine.solvers.registry import refuse_bad_budget

if TYPE_CHECKING:
    from engine.compiler.capture.capture import Capturing

SOLVERS = "steered,local"
"""Solvers whose plans are compiled, in turn: one plans what the compiler can be steered to, the
other what pays most by the costs as they are, and so where they are too high."""

SECONDS = 6.0
"""Seconds for each plan."""

COMPILES_CACHE = "compiles"
"""The cache of compile results, and of what captures have so far."""

COMPILES = 8
"""Whole compiles of one program, beside the one with everything in slow memory; a capture makes
twice as many where these do not confirm the costs, unless the user names a number."""


def capturing(
    solvers: str = SOLVERS,
    seconds: float = SECONDS,
    raw: str | PathLike[str] | None = None,
    compiles: int | None = None,
    is_offline: bool = False,
    note: Callable[[str], None] = lambda _: None,
    keep: Callable[[Program], None] | None = None,
) -> Capturing:
    """The settings of a capture whose plans `solvers` make in turn, in `seconds` each.

    `raw`: a folder for compile results, by default that of `compiles_folder`. `compiles`: as many
    at most; None: `COMPILES`, and twice as many where these do not confirm the costs. The default's
    and that with both pass options are always made. `keep` gets the program as soon as two compiles
    have shown it, and whenever it is refined. Raises UnknownNameError for an unknown solver,
    ConfigError for seconds that there are not, UsageError, before anything is compiled.
    """
    from engine.compiler.capture.capture import Capturing

    most = COMPILES if compiles is None else at_least_one(compiles)
    solving = planners(solvers, seconds)
    folder = compiles_folder() if raw is None else Path(raw)
    return Capturing(solving, folder, most, is_offline, note, keep, may_double=compiles is None)


def at_least_one(compiles: int) -> int:
    """So many whole compiles. Raises UsageError for none."""
    if compiles < 1:
        raise UsageError(f"--compiles {compiles}: name at least one; the default's is always made")
    return compiles


def compiles_folder() -> Path:
    """The user's cache of compile results. Raises UsageError where there is none."""
    folder = cache_folder(COMPILES_CACHE)
    if folder is None:
        raise UsageError(f"no folder to cache compile results in: set {VARIABLE} to one")
    return folder


def answers_folder() -> Path:
    """Where every command caches compile results, so that none compiles what another has compiled.

    Raises UsageError.
    """
    from engine.compiler.capture.capture import ANSWERS

    return compiles_folder() / ANSWERS


def solver_names(solvers: str) -> tuple[str, ...]:
    """The solvers in a text that names them with commas, which plan by costs that change.

    Raises UnknownNameError, UsageError for the compiler's own plan, which is for one program alone.
    """
    names = tuple(find(name.strip()).name for name in solvers.split(","))
    if "xla_compiled" in names:
        raise UsageError("xla_compiled plans nothing anew: leave it out, its plan is the default's")
    return names


def planners(solvers: str, seconds: float) -> tuple[Callable[[Program], Plan], ...]:
    """For each of `solvers`, named with commas, a function from a program to a plan.

    Raises as `solver_names`, and ConfigError for seconds that there are not.
    """
    refuse_bad_budget(seconds)
    return tuple(functools.partial(_planned, name, seconds) for name in solver_names(solvers))


def _planned(solver: str, seconds: float, program: Program) -> Plan:
    return solve(solver, program, Budget(seconds=seconds))
