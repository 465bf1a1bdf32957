"""Classes of decisions as chess sites have them, from what a move cost; and when none is given.

The size of a mistake is its regret in *points*: 1 point is 1 % of the most that any plan of the
program can save, so the thresholds mean the same on every program.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

DUBIOUS, MISTAKE, BLUNDER = "?!", "?", "??"
CLASSES = (BLUNDER, MISTAKE, DUBIOUS)
"""The worst first."""
LEAST_POINTS: Mapping[str, float] = MappingProxyType({BLUNDER: 1.0, MISTAKE: 0.25, DUBIOUS: 0.05})
"""Regret from which a move has a class."""
MIN_VISITS = 4
"""Simulations at the root below which a search has not looked enough to be judged."""
FEW_VISITS = f"fewer than {MIN_VISITS} visits"
TIE = "all continuations tie"
NOT_MEASURED = "regret not measured"
NO_CHOICE = "one legal action"


def verdict(regret_points: float) -> str:
    """The class of a regret in points; empty below all thresholds."""
    return next((name for name in CLASSES if regret_points >= LEAST_POINTS[name]), "")


def unjudged(num_legal: int, visits: int, stakes_us: float | None) -> str:
    """Why a move gets no verdict; empty if it gets one.

    `stakes_us`: how far its best and its worst action lie apart; None while that is not known.
    """
    if num_legal < 2:
        return NO_CHOICE
    if stakes_us is None:
        return NOT_MEASURED
    if stakes_us == 0:
        return TIE
    return FEW_VISITS if visits < MIN_VISITS else ""
