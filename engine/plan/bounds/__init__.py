"""Lower bounds on the latency of every valid plan of a program (`docs/bound.md`)."""

from engine.plan.bounds.lp import Bound, lower_bound

__all__ = ["Bound", "lower_bound"]
