"""Whims: a way to explore that holds on to what it begins.

Noise that is drawn afresh at every move rarely tries a whole new fate for a tensor: a stay that is
dropped once is copied back at the next touch. A whim makes one game lean to one action at all moves
of one group from some touch on. Letters as in `engine.agent.selfplay`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.game.moves import NUM_ACTIONS


def whims(
    rng: np.random.Generator,
    groups: NDArray[np.int32],
    start: int,
    games: int,
    most: float,
    strength: float,
) -> NDArray[np.float32]:
    """What each game leans to, in logits, `[L, games, A]`.

    `groups` `[L]`: of each move; whims begin at moves from `start` on. The first game has none, the
    last `most` on average, the others spread between.
    """
    lean = np.zeros((len(groups), games, NUM_ACTIONS), np.float32)
    rates = most * np.arange(games) / max(games - 1, 1)
    for game, count in enumerate(rng.poisson(rates)):
        for begun in rng.integers(start, len(groups), size=count):
            later = np.flatnonzero(groups == groups[begun])
            later = later[later >= begun]
            lean[later, game, rng.integers(NUM_ACTIONS)] += strength
    return lean
