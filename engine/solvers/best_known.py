"""The best plan known of a program that ships: from its file, or made again in a second."""

from __future__ import annotations

from engine.plan.io import load_plan
from engine.plan.model import Plan
from engine.program.library import SampleEntry
from engine.program.model import Program
from engine.solvers.registry import SOLVERS, Budget, solve

_EXHAUSTIVE = "exhaustive"
"""Solver of the teaching programs: so small that `evolution` finds the best plan in a second."""
_SECONDS = 5.0


def maker_of(entry: SampleEntry) -> str | None:
    """The solver that makes the best plan known again; None if a file keeps it, or none is known.

    A record that no file keeps is a quick solver's (`engine.workflows.catalogue`), or of all games
    of a small program.
    """
    if entry.best_plan is not None:
        return None
    return "evolution" if entry.best_solver == _EXHAUSTIVE else entry.best_solver


def best_known(entry: SampleEntry, program: Program) -> Plan | None:
    """The best plan known of an entry's program; None if none is, or its solver is not here.

    Raises PlanError or ProgramFormatError for a file that holds no plan.
    """
    if entry.best_plan_path is not None:
        return load_plan(entry.best_plan_path)
    maker = maker_of(entry)
    if maker is None or maker not in SOLVERS:
        return None
    return solve(maker, program, Budget(_SECONDS))
