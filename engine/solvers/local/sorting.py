"""Sorting in place, in compiled code that is small: Numba's own sort takes seconds to compile."""

from __future__ import annotations

from engine.solvers.local.compiled import compiled
from engine.solvers.local.facts import Ints

STEPS = (1750, 701, 301, 132, 57, 23, 10, 4, 1)
"""Ciura, "Best increments for the average case of Shellsort", FCT 2001."""


@compiled
def sort(keys: Ints, num: int) -> None:
    """Sort the first `num` keys upwards (Shell's method: they are few, and often nearly sorted)."""
    for step in STEPS:
        for index in range(step, num):
            key, at = keys[index], index
            while at >= step and keys[at - step] > key:
                keys[at] = keys[at - step]
                at -= step
            keys[at] = key
