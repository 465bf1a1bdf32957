"""The (mu + lambda) evolutionary search over action sequences behind `evolution`, on one island.

A generation changes its parents from one checkpoint on, so that its games need not be played from
the start (`engine.game.batch`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.game.batch import BatchGame, Trail
from engine.game.genome import (
    NUM_FIRST,
    Genes,
    Layout,
    first_genomes,
    layout,
    random_genomes,
)
from engine.game.moves import Rules
from engine.game.variation import cross, mutate, site_at
from engine.program.model import Program

NUM_SURVIVORS = 24
NUM_CHILDREN = 32
CROSS_CHANCE = 0.2
FIRST_RATE, LEAST_RATE, MOST_RATE = 0.5, 0.02, 4.0
"""Mutations per child beyond the first; inherited, and mutated itself by a factor."""
RATE_SPREAD = 0.3
STALE_GENERATIONS = 200
"""Without a better game, after which a new population begins."""


@dataclass(frozen=True)
class Individual:
    """A genome, its return in ticks, where its game can be resumed, and its mutation rate."""

    genes: Genes
    ticks: int
    trail: Trail
    rate: float


@dataclass
class Evolution:
    """The search under one place rule. `games`: whole games' worth of moves played.

    Epochs end when they go stale. Every second one starts from nothing but new genomes, the others
    also from the best individuals of all epochs so far.
    """

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

    def begin(self, first: Sequence[Genes]) -> None:
        """Start an epoch with these genomes (a multiple of `NUM_CHILDREN`)."""
        fresh: list[Individual] = []
        for begin in range(0, len(first), NUM_CHILDREN):
            genes = list(first[begin : begin + NUM_CHILDREN])
            adam = Individual(genes[0], 0, self.game.beginning, FIRST_RATE)
            fresh += self._judged([adam] * len(genes), genes, [FIRST_RATE] * len(genes), 0)
        self.population = _fittest(fresh, [])
        self._last_better = self.generations

    def step(self) -> None:
        """One generation, or a new epoch."""
        if self.generations - self._last_better >= STALE_GENERATIONS:
            self._begin_again()
        first = int(self.rng.integers(self.game.num_checkpoints))
        site = site_at(self.layout, first * self.game.spacing, self.game.spacing)
        self.generations += 1
        if site is None:
            return
        parents = [self._parent() for _ in range(NUM_CHILDREN)]
        children, rates = [], []
        for parent in parents:
            genes, rate = parent.genes.copy(), _next_rate(parent.rate, self.rng)
            other = self.population[self.rng.integers(len(self.population))]
            is_crossed = other is not parent and self.rng.random() < CROSS_CHANCE
            if is_crossed:
                cross(genes, other.genes, site, self.rng)
            if not is_crossed or self.rng.random() < 0.5:
                mutate(genes, site, 1 + int(self.rng.poisson(rate)), self.rng)
            children.append(genes)
            rates.append(rate)
        self._survive(self._judged(parents, children, rates, first))

    def receive(self, guests: Sequence[Genes]) -> None:
        """A generation of genomes that were good elsewhere, all but the first changed."""
        first = int(self.rng.integers(self.game.num_checkpoints))
        site = site_at(self.layout, first * self.game.spacing, self.game.spacing)
        adam = Individual(guests[0], 0, self.game.beginning, FIRST_RATE)
        genes = [guests[k % len(guests)].copy() for k in range(NUM_CHILDREN)]
        if site is not None:
            for child in genes[1:]:
                mutate(child, site, 1 + int(self.rng.poisson(FIRST_RATE)), self.rng)
        self.generations += 1
        self._survive(self._judged([adam] * len(genes), genes, [FIRST_RATE] * len(genes), 0))

    def _survive(self, young: Sequence[Individual]) -> None:
        """The fittest of old and young go on."""
        before = self.population[0].ticks
        self.population = _fittest(young, self.population)
        if self.population[0].ticks > before:
            self._last_better = self.generations

    def _begin_again(self) -> None:
        self.champions.append(self.population[0])
        num_epochs = len(self.champions)
        self.begin(random_genomes(self.layout, NUM_FIRST, self.rng))
        if num_epochs % 2 == 0:
            self.population = _fittest(self.population, self.champions)

    def _parent(self) -> Individual:
        """The better of two: the population is sorted."""
        return self.population[int(self.rng.integers(len(self.population), size=2).min())]

    def _judged(
        self,
        parents: Sequence[Individual],
        genes: Sequence[Genes],
        rates: Sequence[float],
        first: int,
    ) -> list[Individual]:
        played = self.game.play(np.stack(genes), [p.trail for p in parents], first)
        share = 1 - first * self.game.spacing / max(1, self.game.num_moves)
        self.games += len(genes) * share
        return [
            Individual(
                genes[k], int(played.ticks[k]), played.trail(k).spliced(p.trail, first), rates[k]
            )
            for k, p in enumerate(parents)
        ]


def _fittest(young: Sequence[Individual], old: Sequence[Individual]) -> list[Individual]:
    """The best individuals, one for each return; of equals the young one, so that genomes drift."""
    found: dict[int, Individual] = {}
    for one in sorted([*young, *old], key=lambda one: -one.ticks):
        found.setdefault(one.ticks, one)
    return list(found.values())[:NUM_SURVIVORS]


def _next_rate(rate: float, rng: np.random.Generator) -> float:
    """Self-adaptation as in evolution strategies (Schwefel): log-normal steps."""
    return min(MOST_RATE, max(LEAST_RATE, rate * math.exp(RATE_SPREAD * rng.normal())))


def start(
    program: Program,
    seed: int,
    rules: Rules | None = None,
    relaxed: NDArray[np.float64] | None = None,
) -> Evolution:
    """A search with its first population. Raises SolverError if JAX cannot play the program.

    `relaxed` as in `engine.game.genome.first_genomes`.
    """
    rng = np.random.default_rng(seed)
    rules = rules or Rules()
    found = Evolution(rules, BatchGame(program, rules), layout(program), rng)
    found.begin(first_genomes(found.layout, NUM_FIRST, rng, relaxed))
    return found


def run(program: Program, seed: int, generations: int) -> Evolution:
    """That many generations, whatever time they take: equal for equal arguments."""
    found = start(program, seed)
    for _ in range(generations):
        found.step()
    return found
