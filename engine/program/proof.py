"""What a latency beside a lower bound on that of every plan proves: optimal, contested."""

from __future__ import annotations

PROVEN_GAP = 1e-3
"""A plan that is above the proven bound by a smaller share counts as optimal."""

CONTESTED = 0.03
"""The least gap of XLA's plan to the bound of a program that counts as contested."""


BOUND_EDITION = 2
"""Goes up when `engine.plan.bounds` proves something else, so that kept bounds are made anew."""


def gap(latency_s: float | None, bound_s: float | None) -> float | None:
    """How far a latency is above a bound, as a share of it; None if either is not known or 0."""
    return latency_s / bound_s - 1.0 if latency_s and bound_s else None


def is_optimal(latency_s: float | None, bound_s: float | None) -> bool:
    """Whether no plan can be better by `PROVEN_GAP` than one of that latency."""
    if latency_s is None or bound_s is None:
        return False
    return latency_s <= bound_s or latency_s < bound_s * (1 + PROVEN_GAP)


def is_contested(xla_latency_s: float | None, bound_s: float | None) -> bool:
    """Whether XLA's plan, of that latency, leaves something to win."""
    above = gap(xla_latency_s, bound_s)
    return above is not None and above >= CONTESTED
