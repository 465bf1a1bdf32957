"""Solvers: from a program to a checked plan. What a solver needs is imported when it runs.

Ours, and those of other installed packages (`plugins`).
"""

from engine.solvers.plugins import register_plugins
from engine.solvers.registry import SOLVERS, Budget, Solver, find, solve

__all__ = [
    "SOLVERS",
    "Budget",
    "Solver",
    "find",
    "solve",
]
register_plugins()
