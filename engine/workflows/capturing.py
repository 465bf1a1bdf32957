"""How programs are captured: a solver of this project plans for the compiles of the study."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers import Budget, find, solve

if TYPE_CHECKING:
    from engine.compiler.capture.capture import Capturing

SOLVERS = "steered,local"
"""Solvers whose plans are compiled, in turn: one plans what the compiler can be steered to, the
other what pays most by the costs as they are, and so where they are too high."""

SECONDS = 6.0
"""Seconds for each plan."""

RAW_FOLDER = Path(".capture")
"""Where captures keep what they have so far."""

ANSWERS_FOLDER = RAW_FOLDER / "answers"
"""Where every command caches compile results, so that none compiles what another has compiled."""

COMPILES = 8
"""Whole compiles of one program, beside the one with everything in slow memory."""


def capturing(
    solvers: str = SOLVERS,
    seconds: float = SECONDS,
    raw: Path = RAW_FOLDER,
    compiles: int = COMPILES,
    is_offline: bool = False,
    note: Callable[[str], None] = lambda _: None,
    keep: Callable[[Program], None] | None = None,
) -> Capturing:
    """The settings of a capture whose plans `solvers` make in turn, in `seconds` each.

    `keep` gets the program as soon as two compiles have shown it, and whenever it is refined.
    Raises UnknownNameError for an unknown solver, before anything is compiled.
    """
    from engine.compiler.capture.capture import Capturing

    return Capturing(planners(solvers, seconds), raw, compiles, is_offline, note, keep)


def planners(solvers: str, seconds: float) -> tuple[Callable[[Program], Plan], ...]:
    """For each of `solvers`, named with commas, a function from a program to a plan.

    Raises UnknownNameError for an unknown solver.
    """
    names = [name.strip() for name in solvers.split(",")]
    for name in names:
        find(name)
    return tuple(functools.partial(_planned, name, seconds) for name in names)


def _planned(solver: str, seconds: float, program: Program) -> Plan:
    return solve(solver, program, Budget(seconds=seconds))
