"""The (mu + lambda) search under several place rules, and its epochs; each generation in step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.evolution.genome import (
    FOCUS,
    GUEST_SHARE,
    NUM_FIRST,
    Genes,
    Individual,
    Layout,
    first_genomes,
    fittest,
    layout,
    random_genomes,
)
from engine.evolution.operators import (
    FIRST_RATE,
    NUM_CHILDREN,
    Site,
    children_of,
    immigrants,
    site_at,
)
from engine.game.jaxgame.batching import BatchGame
from engine.game.moves import Rules
from engine.program.model import Program


def rollout(
    game: BatchGame,
    parents: Sequence[Individual],
    genes: Sequence[Genes],
    rates: Sequence[float],
    first: int,
) -> list[Individual]:
    """An individual for each genome; before checkpoint `first` it is its parent's equal."""
    played = game.play(np.stack(genes), [p.trail for p in parents], first)
    begin = first * game.spacing
    return [
        Individual(
            genes[k],
            int(played.ticks[k]),
            played.trail(k).spliced(parent.trail, first),
            rates[k],
            np.concatenate([parent.actions[:begin], played.actions[begin : game.num_moves, k]]),
        )
        for k, parent in enumerate(parents)
    ]


def share_played(game: BatchGame, first: int) -> float:
    """Which share of a game is played from checkpoint `first` on."""
    return 1 - first * game.spacing / max(1, game.num_moves)


GoesOn = Callable[[], bool]
STALE_GENERATIONS = 200
"""Without a better game, after which a new population begins."""


@dataclass
class Evolution:
    """The search. `games`: whole games' worth of moves played; `champions`: of past epochs."""

    rules: Rules
    game: BatchGame
    layout: Layout
    rng: np.random.Generator
    population: list[Individual] = field(default_factory=list)
    champions: list[Individual] = field(default_factory=list)
    games: float = 0.0
    generations: int = 0
    _last_better: int = 0

    @property
    def best(self) -> Individual:
        """The best individual of all epochs; there is one after `begin`."""
        return max([*self.champions, self.population[0]], key=lambda one: one.ticks)

    def begin(self, first: Sequence[Genes], goes_on: GoesOn = lambda: True) -> None:
        """Start an epoch with these genomes (a multiple of `NUM_CHILDREN`).

        They are played a batch at a time, as long as it `goes_on`, but one batch at least.
        """
        fresh: list[Individual] = []
        for begin in range(0, len(first), NUM_CHILDREN):
            if fresh and not goes_on():
                break
            fresh += self._newcomers(list(first[begin : begin + NUM_CHILDREN]))
        self.population = fittest(fresh, [])
        self._last_better = self.generations

    def step(self) -> None:
        """One generation, or a new epoch."""
        if self.generations - self._last_better >= STALE_GENERATIONS:
            self._begin_again()
        first, site = self._drawn_site()
        self.generations += 1
        if site is None:
            return
        parents, children, rates = children_of(self.population, site, self.rng)
        self._survive(self._played(parents, children, rates, first))

    def receive(self, guests: Sequence[Genes]) -> None:
        """A generation of genomes that were good elsewhere, all but the first changed."""
        _, site = self._drawn_site()
        genes = immigrants(guests, site, self.rng)
        self.generations += 1
        self._survive(self._newcomers(genes))

    def _drawn_site(self) -> tuple[int, Site | None]:
        """A checkpoint, and where a generation that begins there may change genomes."""
        first = int(self.rng.integers(self.game.num_checkpoints))
        return first, site_at(self.layout, first * self.game.spacing, self.game.spacing)

    def _newcomers(self, genes: Sequence[Genes]) -> list[Individual]:
        """Individuals without parents: played from the first move."""
        adam = Individual(genes[0], 0, self.game.beginning, FIRST_RATE, genes[0])
        return self._played([adam] * len(genes), genes, [FIRST_RATE] * len(genes), 0)

    def _survive(self, young: Sequence[Individual]) -> None:
        """The fittest of old and young go on."""
        before = self.population[0].ticks
        self.population = fittest(young, self.population)
        if self.population[0].ticks > before:
            self._last_better = self.generations

    def _begin_again(self) -> None:
        self.champions.append(self.population[0])
        num_epochs = len(self.champions)
        self.begin(random_genomes(self.layout, NUM_FIRST, self.rng))
        if num_epochs % 2 == 0:
            self.population = fittest(self.population, self.champions)

    def _played(
        self,
        parents: Sequence[Individual],
        genes: Sequence[Genes],
        rates: Sequence[float],
        first: int,
    ) -> list[Individual]:
        self.games += len(genes) * share_played(self.game, first)
        return rollout(self.game, parents, genes, rates, first)


def start(
    program: Program,
    seed: int,
    rules: Rules,
    relaxed: NDArray[np.float64] | None = None,
    goes_on: GoesOn = lambda: True,
) -> Evolution:
    """A search with its first population. Raises SolverError if JAX cannot play the program.

    `relaxed` as in `engine.evolution.genome.first_genomes`; `goes_on` as in `Evolution.begin`.
    """
    rng = np.random.default_rng(seed)
    search = Evolution(rules, BatchGame(program, rules), layout(program), rng)
    search.begin(first_genomes(search.layout, NUM_FIRST, rng, relaxed), goes_on)
    return search


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
    goes_on: GoesOn = lambda: True,
) -> Islands:
    """An island under each of the rules, at least the first, as long as it `goes_on`.

    `relaxed` as in `engine.evolution.genome.first_genomes`. Raises SolverError if JAX cannot play
    the program.
    """
    islands: list[Evolution] = []
    for some in rules:
        if islands and not goes_on():
            break
        islands.append(start(program, seed, some, relaxed, goes_on))
    return Islands(islands, np.random.default_rng([seed, len(islands)]))
