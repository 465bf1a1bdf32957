"""Ratings of players: Glicko-2 (Glickman, "Example of the Glicko-2 system", 2013, steps 2 to 8)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

SCALE = 173.7178
"""Glicko points per unit of the Glicko-2 scale; 1500 points are 0."""
TAU = 0.5
"""How much volatility may change; the paper advises 0.3 to 1.2."""
_CONVERGED = 1e-6


@dataclass(frozen=True)
class Rating:
    """A player, or a position that is played against. `deviation`: how unsure the rating is."""

    points: float = 1500.0
    deviation: float = 350.0
    volatility: float = 0.06


@dataclass(frozen=True)
class Result:
    """A game against `opponent`: 1 won, 0 lost."""

    opponent: Rating
    score: float


def rated(player: Rating, results: Sequence[Result]) -> Rating:
    """The player after a rating period with these results, of which there is at least one."""
    mu, phi = (player.points - 1500.0) / SCALE, player.deviation / SCALE
    rows = []
    for result in results:
        g = _g(result.opponent.deviation / SCALE)
        expected = 1 / (1 + math.exp(-g * (mu - (result.opponent.points - 1500.0) / SCALE)))
        rows.append((g, expected, result.score))
    v = 1 / sum(g * g * e * (1 - e) for g, e, _ in rows)
    delta = v * sum(g * (score - e) for g, e, score in rows)
    sigma = _volatility(player.volatility, phi, v, delta)
    before = math.hypot(phi, sigma)
    after = 1 / math.sqrt(1 / before**2 + 1 / v)
    moved = mu + after**2 * delta / v
    return Rating(1500.0 + SCALE * moved, SCALE * after, sigma)


def _g(phi: float) -> float:
    return 1 / math.sqrt(1 + 3 * phi**2 / math.pi**2)


def _volatility(sigma: float, phi: float, v: float, delta: float) -> float:
    """Step 5: the new volatility, by the Illinois form of regula falsi."""
    a = math.log(sigma**2)

    def f(x: float) -> float:
        grown = phi**2 + v + math.exp(x)
        return math.exp(x) * (delta**2 - grown) / (2 * grown**2) - (x - a) / TAU**2

    low = a
    if delta**2 > phi**2 + v:
        high = math.log(delta**2 - phi**2 - v)
    else:
        steps = 1
        while f(a - steps * TAU) < 0:
            steps += 1
        high = a - steps * TAU
    f_low, f_high = f(low), f(high)
    while abs(high - low) > _CONVERGED:
        middle = low + (low - high) * f_low / (f_high - f_low)
        f_middle = f(middle)
        if f_middle * f_high <= 0:
            low, f_low = high, f_high
        else:
            f_low /= 2
        high, f_high = middle, f_middle
    return math.exp(low / 2)
