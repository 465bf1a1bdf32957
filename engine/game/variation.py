"""Mutation and crossover of genomes. All change a genome in place, from a given move on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.game.genome import WORD_CHANCES, Genes, Layout, Rng
from engine.game.moves import DROP
from engine.game.scripts import EARN, NUM_WORDS

LONGEST_WINDOW = 32
"""Touches."""


@dataclass(frozen=True)
class Site:
    """Where a generation may change genomes: from `first` on, mostly in the touches `near` it."""

    layout: Layout
    first: int
    near: NDArray[np.intp]
    ahead: NDArray[np.intp]

    def moves_of(self, group: int, begin: int = 0) -> NDArray[np.intp]:
        """The moves of a group from `begin` (and the site's first move) on."""
        found = self.layout.of_group[group]
        return found[found >= max(begin, self.first)]


def site_at(layout: Layout, first: int, spacing: int) -> Site | None:
    """The site of a checkpoint; None if no touch follows."""
    ahead = layout.touches[layout.touches >= first]
    if not len(ahead):
        return None
    near = ahead[ahead < first + spacing]
    return Site(layout, first, near if len(near) else ahead, ahead)


def _word(rng: Rng) -> int:
    return int(rng.choice(NUM_WORDS, p=WORD_CHANCES))


def _touch(site: Site, rng: Rng) -> int:
    """A touch, near more often than ahead."""
    return int(rng.choice(site.near if rng.random() < 0.7 else site.ahead))


def change_touch(genes: Genes, site: Site, rng: Rng) -> None:
    """One touch gets a new word."""
    genes[_touch(site, rng)] = _word(rng)


def change_group(genes: Genes, site: Site, rng: Rng) -> None:
    """All moves of one tensor get the same word."""
    genes[site.moves_of(site.layout.group[rng.choice(site.near)])] = _word(rng)


def change_stretch(genes: Genes, site: Site, rng: Rng) -> None:
    """Some moves of one tensor that follow one another get the same word."""
    at = rng.choice(site.near)
    found = site.moves_of(site.layout.group[at], at)
    genes[found[: 1 + rng.integers(len(found))]] = _word(rng)


def make_room(genes: Genes, site: Site, rng: Rng) -> None:
    """One tensor is wanted, and some of those touched during its life are dropped meanwhile."""
    own = site.moves_of(site.layout.group[rng.choice(site.near)])
    inside = site.ahead[(site.ahead >= own[0]) & (site.ahead <= own[-1])]
    others = np.unique(site.layout.group[inside])
    dropped = others[rng.random(len(others)) < rng.choice([1 / max(2, len(others)), 0.2, 0.5])]
    genes[inside[np.isin(site.layout.group[inside], dropped)]] = DROP
    genes[own] = EARN


def change_window(genes: Genes, site: Site, rng: Rng) -> None:
    """A third of the touches in a window of time get new words, one or many."""
    at = rng.choice(site.near)
    window = site.ahead[(site.ahead >= at) & (site.ahead < at + rng.integers(2, LONGEST_WINDOW))]
    chosen = window[rng.random(len(window)) < 1 / 3]
    if rng.random() < 0.5:
        genes[chosen] = _word(rng)
    else:
        genes[chosen] = rng.choice(NUM_WORDS, len(chosen), p=WORD_CHANCES)


MUTATIONS: tuple[Callable[[Genes, Site, Rng], None], ...] = (
    change_touch,
    change_group,
    change_stretch,
    make_room,
    change_window,
)
MUTATION_CHANCES = (2 / 9, 2 / 9, 2 / 9, 2 / 9, 1 / 9)


def mutate(genes: Genes, site: Site, num: int, rng: Rng) -> None:
    """Apply `num` mutations."""
    for kind in rng.choice(len(MUTATIONS), num, p=MUTATION_CHANCES):
        MUTATIONS[kind](genes, site, rng)


def cross(genes: Genes, other: Genes, site: Site, rng: Rng) -> None:
    """Take from `other` all moves after one time, between two times, or of some tensors."""
    kind = rng.integers(4)
    if kind < 2:
        begin = rng.integers(site.first, len(genes))
        end = len(genes) if kind == 0 else rng.integers(begin, len(genes)) + 1
        genes[begin:end] = other[begin:end]
    else:
        share = 0.1 if kind == 2 else 0.5
        taken = (rng.random(len(site.layout.of_group)) < share)[site.layout.group]
        taken[: site.first] = False
        genes[taken] = other[taken]
