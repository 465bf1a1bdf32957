"""How programs are captured: a solver of this project plans for the compiles of the study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers import Budget, find, solve

if TYPE_CHECKING:
    from engine.compiler.capture import Capturing

SOLVER = "local"
SECONDS = 4.0
"""For each of its plans."""

RAW_FOLDER = Path(".capture")
COMPILES = 8
"""Whole compiles of one program, beside the one with everything in slow memory."""


def capturing(
    solver: str = SOLVER,
    seconds: float = SECONDS,
    raw: Path = RAW_FOLDER,
    compiles: int = COMPILES,
    is_offline: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> Capturing:
    """The settings of a capture whose plans `solver` makes in `seconds` each.

    Raises UnknownNameError for an unknown solver, before anything is compiled.
    """
    from engine.compiler.capture import Capturing

    return Capturing(planner(solver, seconds), raw, compiles, is_offline, note)


def planner(solver: str, seconds: float) -> Callable[[Program], Plan]:
    """A function from a program to the plan that `solver` finds in so many seconds."""
    find(solver)
    return lambda program: solve(solver, program, Budget(seconds=seconds))
