"""Chance: random numbers that are the same in compiled and interpreted code.

L'Ecuyer, "Efficient and portable combined random number generators", CACM 31 (1988), figure 3.
"""

from __future__ import annotations

import math

from engine.solvers.local.compiled import compiled
from engine.solvers.local.state import State

_MODULUS = 2147483563
_OTHER_MODULUS = 2147483399


@compiled
def uniform(state: State) -> float:
    """A number in `(0, 1)`."""
    one = 40014 * state.seed[0] % _MODULUS
    two = 40692 * state.seed[1] % _OTHER_MODULUS
    state.seed[0], state.seed[1] = one, two
    return ((one - two) % (_MODULUS - 1) + 1.0) / (_MODULUS + 1.0)


@compiled
def below(state: State, limit: int) -> int:
    """A whole number in `[0, limit)`."""
    return int(uniform(state) * limit)


@compiled
def gumbel(state: State) -> float:
    """Noise whose largest of several picks in proportion to the exponentials added to it."""
    return -math.log(-math.log(uniform(state)))
