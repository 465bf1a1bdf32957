"""Individuals, and which of them survive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.evolution.genome import Genes
from engine.game.jaxgame.batching import Trail

NUM_SURVIVORS = 24


@dataclass(frozen=True)
class Individual:
    """A genome `[moves]`, its return in ticks, where its game can be resumed, its mutation rate.

    `actions` `[moves]`: what its words came to.
    """

    genes: Genes
    ticks: int
    trail: Trail
    rate: float
    actions: Genes


def fittest(young: Sequence[Individual], old: Sequence[Individual]) -> list[Individual]:
    """The best individuals, one for each return, best first.

    Of equals the young one, so that genomes drift: words that change nothing now may open a way
    later.
    """
    distinct: dict[int, Individual] = {}
    for one in sorted([*young, *old], key=lambda one: -one.ticks):
        distinct.setdefault(one.ticks, one)
    return list(distinct.values())[:NUM_SURVIVORS]


def tournament(population: Sequence[Individual], rng: np.random.Generator) -> Individual:
    """The better of two that are drawn: the population is sorted."""
    return population[int(rng.integers(len(population), size=2).min())]
