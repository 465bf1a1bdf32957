"""Evolution under several place rules: an island each, and genomes that travel between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.evolution.genome import FOCUS, GUEST_SHARE
from engine.evolution.restarts import Evolution, start
from engine.game.moves import Rules
from engine.program.model import Program


@dataclass
class Islands:
    """One search per place rule, and whose turn it is."""

    islands: list[Evolution]
    rng: np.random.Generator
    steps: int = 0

    @property
    def leader(self) -> Evolution:
        """The island with the best game."""
        return max(self.islands, key=lambda island: island.best.ticks)

    @property
    def games(self) -> float:
        """Whole games' worth of moves played."""
        return sum(island.games for island in self.islands)

    @property
    def generations(self) -> int:
        """Generations that all islands have gone through together."""
        return sum(island.generations for island in self.islands)

    def step(self) -> None:
        """One generation on one island."""
        leader = self.leader
        island = self.islands[self.steps % len(self.islands)]
        if self.rng.random() < FOCUS:
            island = leader
        self.steps += 1
        if island is not leader and self.rng.random() < GUEST_SHARE:
            island.receive([one.genes for one in leader.population])
        else:
            island.step()


def settle(
    program: Program,
    seed: int,
    rules: Sequence[Rules],
    relaxed: NDArray[np.float64] | None = None,
) -> Islands:
    """An island under each of the rules. Raises SolverError if JAX cannot play the program.

    `relaxed` as in `engine.evolution.genome.first_genomes`.
    """
    islands = [start(program, seed, some, relaxed) for some in rules]
    return Islands(islands, np.random.default_rng([seed, len(islands)]))
