"""Children: copies of parents, crossed and mutated from one move on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.evolution.genome import Genes
from engine.evolution.operators import Site, cross, mutate
from engine.evolution.population import Individual, tournament

NUM_CHILDREN = 32
CROSS_CHANCE = 0.2
FIRST_RATE, LEAST_RATE, MOST_RATE = 0.5, 0.02, 4.0
"""Mutations per child beyond the first; inherited, and mutated itself by a factor."""
RATE_SPREAD = 0.3


def children_of(
    population: Sequence[Individual], site: Site, rng: np.random.Generator
) -> tuple[list[Individual], list[Genes], list[float]]:
    """A generation: parents, and of the child of each its genome and its mutation rate."""
    parents = [tournament(population, rng) for _ in range(NUM_CHILDREN)]
    children, rates = [], []
    for parent in parents:
        genes, rate = parent.genes.copy(), next_rate(parent.rate, rng)
        other = population[int(rng.integers(len(population)))]
        is_crossed = other is not parent and rng.random() < CROSS_CHANCE
        if is_crossed:
            cross(genes, other.genes, site, rng)
        if not is_crossed or rng.random() < 0.5:
            mutate(genes, site.of(parent.actions), 1 + int(rng.poisson(rate)), rng)
        children.append(genes)
        rates.append(rate)
    return parents, children, rates


def immigrants(guests: Sequence[Genes], site: Site | None, rng: np.random.Generator) -> list[Genes]:
    """A generation of genomes that were good elsewhere, all but the first mutated."""
    genes = [guests[k % len(guests)].copy() for k in range(NUM_CHILDREN)]
    if site is not None:
        for child in genes[1:]:
            mutate(child, site, 1 + int(rng.poisson(FIRST_RATE)), rng)
    return genes


def next_rate(rate: float, rng: np.random.Generator) -> float:
    """Self-adaptation as in evolution strategies (Schwefel): log-normal steps."""
    return min(MOST_RATE, max(LEAST_RATE, rate * math.exp(RATE_SPREAD * rng.normal())))
