"""An arena: one program made ready for the agent, with its yardstick.

*Par* is what plain heuristics earn from each move on. The agent's rewards and values are counted
against par: zero is as good as the heuristics' average, so what the networks must predict are small
differences, not the savings of the whole program. Adding a number per move that does not depend on
the actions changes no choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from engine.game.encode import EncodedProgram
from engine.game.features import Features, reward_points


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Arena:
    """What the agent's compiled functions need of a program.

    `par`: points still to earn at par from each move on, `[M + 1]`, zero from the last move on.
    `sees_rewards`: 1, or 0 where the search counts on the values alone (self-competition).
    """

    encoded: EncodedProgram
    known: Features
    par: Array  # [M + 1]
    sees_rewards: Array  # []

    def relative(self, move: Array, reward: Array) -> Array:
        """Points of `reward`, earned at `move`, above par."""
        return reward_points(self.known, reward) - self.par[move] + self.par[move + 1]


def par_of(rewards: Sequence[Sequence[float]], num_rows: int) -> NDArray[np.float32]:
    """Par from games' points per move: the mean of what each still earns, `[num_rows + 1]`."""
    mean = np.mean(np.asarray(rewards, np.float64), axis=0)
    par = np.zeros(num_rows + 1, np.float32)
    par[: len(mean)] = np.cumsum(mean[::-1])[::-1]
    return par


def make_arena(
    encoded: EncodedProgram, known: Features, par: NDArray[np.float32], sees_rewards: bool = True
) -> Arena:
    """An arena on the default device."""
    return Arena(encoded, known, jnp.asarray(par), jnp.float32(sees_rewards))
