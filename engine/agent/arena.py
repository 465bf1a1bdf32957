"""An arena: one program made ready for the agent, with its yardstick.

The *baseline* is what plain heuristics earn from each move on, in the mean. The agent's rewards and
values are counted above it: zero is as good as the heuristics, so what the networks must predict
are small differences, not the savings of the whole program. Adding a number per move that does not
depend on the actions changes no choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from engine.game.jaxgame.encoding import EncodedProgram
from engine.game.observation.static import Features, reward_points


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Arena:
    """What the agent's compiled functions need of a program.

    `baseline`: points that the heuristics still earn from each move on, `[M + 1]`, zero from the
    last move on.
    """

    encoded: EncodedProgram
    known: Features
    baseline: Array  # [M + 1]

    def relative(self, move: Array, reward: Array) -> Array:
        """Points of `reward`, earned at `move`, above the baseline."""
        return reward_points(self.known, reward) - self.baseline[move] + self.baseline[move + 1]


def baseline_of(rewards: Sequence[Sequence[float]], num_rows: int) -> NDArray[np.float32]:
    """From games' points per move the mean of what each still earns, `[num_rows + 1]`."""
    mean = np.mean(np.asarray(rewards, np.float64), axis=0)
    baseline = np.zeros(num_rows + 1, np.float32)
    baseline[: len(mean)] = np.cumsum(mean[::-1])[::-1]
    return baseline


def make_arena(
    encoded: EncodedProgram,
    known: Features,
    baseline: NDArray[np.float32],
) -> Arena:
    """An arena on the default device."""
    return Arena(encoded, known, jnp.asarray(baseline))
