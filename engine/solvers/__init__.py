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
from engine.solvers.xla_compiled import (
    has_compiled_plan,
    offsets_of_compiled_plan,
    reading_warning,
    share_read,
)

__all__ = [
    "SOLVERS",
    "Budget",
    "Solver",
    "find",
    "has_compiled_plan",
    "offsets_of_compiled_plan",
    "reading_warning",
    "share_read",
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
