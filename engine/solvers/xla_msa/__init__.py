"""XLA's memory-space assignment, re-implemented from its description: solver `xla_like`."""

from engine.solvers.xla_msa.solver import xla_like

__all__ = ["xla_like"]
