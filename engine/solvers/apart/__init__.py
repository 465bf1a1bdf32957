"""Solvers in processes of their own, which can be ended at any time."""

from engine.solvers.apart.run import run_apart

__all__ = ["run_apart"]
