"""`xla_like`: XLA's memory space assignment, re-implemented; `steered`: with chosen priorities."""

from engine.solvers.xla_msa.solver import xla_like
from engine.solvers.xla_msa.steered import steered

__all__ = ["steered", "xla_like"]
