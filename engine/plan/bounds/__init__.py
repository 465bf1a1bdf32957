"""Lower bounds on the latency of every valid plan of a program (`docs/bound.md`)."""

from engine.plan.bounds.bound import METHODS, Bound, Progress, lower_bound

__all__ = ["METHODS", "Bound", "Progress", "lower_bound"]
