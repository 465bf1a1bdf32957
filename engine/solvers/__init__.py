"""Solvers: from a program to a checked plan. Importing this package registers them all.

Ours, and those of other installed packages (`plugins`).
"""

from engine.solvers import baselines, evolution, local, muzero, portfolio, xla_msa
from engine.solvers.plugins import register_plugins
from engine.solvers.registry import SOLVERS, Budget, Solver, find, solve

__all__ = [
    "SOLVERS",
    "Budget",
    "Solver",
    "find",
    "solve",
]

_REGISTERED = (
    baselines,
    evolution,
    local,
    muzero,
    portfolio,
    xla_msa,
)
register_plugins()
