"""Lower bounds on the latency of every valid plan of a program (`docs/bound.md`)."""

from engine.plan.bounds.bound import METHODS, Bound, Progress, is_optimal, lower_bound

__all__ = ["METHODS", "Bound", "Progress", "is_optimal", "lower_bound"]
