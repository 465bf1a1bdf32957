"""What the rooms of the agent hand to one another, with shapes.

Letters: `B` positions, `U` unrolled steps, `A` actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
from jax import Array
from numpy.typing import NDArray

Cells = Array | NDArray[Any]
"""On the host NumPy, inside compiled functions JAX."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Batch:
    """Positions to learn from, and the `U` moves that were played from each; on the host in NumPy.

    Rewards and values are in points above the baseline. `policy`: the search's improved policies;
    zeros where nothing was searched. `weight`: 0 past the end of a game. `policy_weight` is 0 as
    well where only one action was legal.
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
