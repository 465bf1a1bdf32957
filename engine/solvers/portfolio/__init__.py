"""`portfolio`: several solvers share one time budget, one best plan, and all cores."""

from engine.solvers.portfolio.solver import portfolio

__all__ = ["portfolio"]
