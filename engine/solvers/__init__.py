"""Solvers: from a program to a checked plan. Importing this package registers them all."""

from engine.solvers import baselines, evolution, local, muzero, portfolio, xla_msa
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
