"""What the rooms of the agent hand to one another, with shapes.

Letters: `L` moves of a game, `B` positions, `U` unrolled steps, `A` actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from engine.game.jaxgame.env import Position

Floats = NDArray[np.float32]
Cells = Array | NDArray[Any]
"""On the host NumPy, inside compiled functions JAX."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Batch:
    """Positions to learn from, and the `U` moves that were played from each; on the host in NumPy.

    Rewards and values are in points above the baseline. `policy`: as in `Game`. `weight`: 0 past
    the end of a game. `policy_weight` is 0 as well where only one action was legal.
    """

    view: Cells  # [B, U + 1, NUM_VIEW], half precision
    move: Cells  # [B]
    action: Cells  # [B, U]
    reward: Cells  # [B, U]
    policy: Cells  # [B, U + 1, A]
    legal: Cells  # [B, U + 1, A]
    value: Cells  # [B, U + 1]
    weight: Cells  # [B, U + 1]
    policy_weight: Cells  # [B, U + 1]


@dataclass
class Game:
    """One game on the host; rewards and values in points above the baseline.

    `policy`: the search's improved policies, zeros where nothing was searched; of the best games,
    and what others played before they went on from them, of demonstrations the actions, or what a
    sweep says of them (`engine.agent.sweep`). `trail`: positions on the way, from which other games
    can go on (`engine.agent.self_play.Played`).
    """

    view: NDArray[np.float16]  # [L, NUM_VIEW], or [L, 0] where nobody looked
    legal: NDArray[np.bool_]  # [L, A]
    action: NDArray[np.int32]  # [L]
    policy: Floats  # [L, A]
    value: Floats  # [L]
    reward: Floats  # [L]
    trail: Position | None = None  # [L / CHUNK, ...]

    @property
    def is_seen(self) -> bool:
        """Whether it is known what the player saw, so that the game can be learned from."""
        return bool(self.view.shape[1])

    @property
    def played(self) -> Floats:
        """The actions as a policy that is sure of them, `[L, A]`."""
        sure: Floats = np.eye(self.policy.shape[1], dtype=np.float32)[self.action]
        return sure

    @property
    def score(self) -> float:
        """Points above the baseline, of the whole game."""
        return float(self.reward.sum(dtype=np.float64))
