"""Solvers: from a program to a checked plan. Importing this package registers them all."""

from engine.solvers import (
    all_slow,
    evolution,
    greedy,
    local,
    muzero,
    portfolio,
    random_play,
    xla_compiled,
    xla_msa,
)
from engine.solvers.registry import SOLVERS, Budget, Solver, find, solve

__all__ = [
    "SOLVERS",
    "Budget",
    "Solver",
    "find",
    "solve",
]

_REGISTERED = (
    all_slow,
    evolution,
    greedy,
    local,
    muzero,
    portfolio,
    random_play,
    xla_compiled,
    xla_msa,
)
