"""Mutation and crossover of genomes. All change a genome in place, from a given move on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.evolution.genome import WORD_CHANCES, Genes, Individual, Layout, Rng, tournament
from engine.game.moves import DROP, OTHER_END
from engine.game.scripts import EARN, EARN_OTHER, NUM_WORDS

LONGEST_WINDOW = 32
"""Moves."""
MOST_DISPLACED = 3
"""Tensors, one of them perhaps drawn twice."""
LONGEST_WAIT = 64
"""Moves between the begin of a copy and the touch that it is for."""
_PAIRS = {**OTHER_END, EARN: EARN_OTHER}
_SWAPPED = _PAIRS | {other: word for word, other in _PAIRS.items()}
_AT_OTHER_END = np.asarray([_SWAPPED.get(word, word) for word in range(NUM_WORDS)], np.int8)
"""Of each word the one that means the same at the other end."""
_WORDS_UP_TO = np.cumsum(WORD_CHANCES)[:-1]


@dataclass(frozen=True)
class Site:
    """Where a generation may change genomes: from `first` on, mostly in the touches `near` it.

    `played` `[moves]`: what the words of the genome's parent came to, if it has one.
    """

    layout: Layout
    first: int
    near: NDArray[np.intp]
    ahead: NDArray[np.intp]
    played: Genes | None = None

    def of(self, played: Genes) -> Site:
        """The site for a child of the parent that played so."""
        return replace(self, played=played)

    def moves_of(self, group: int, begin: int = 0) -> NDArray[np.intp]:
        """The moves of a group from `begin` (and the site's first move) on."""
        moves = self.layout.of_group[group]
        return moves[moves >= max(begin, self.first)]


def site_at(layout: Layout, first: int, spacing: int) -> Site | None:
    """The site of a checkpoint; None if no touch follows."""
    ahead = layout.touches[layout.touches >= first]
    if not len(ahead):
        return None
    near = ahead[ahead < first + spacing]
    return Site(layout, first, near if len(near) else ahead, ahead)


# Many thousand genomes are varied a minute: `Generator.choice` takes ten times as long as these.


def _word(rng: Rng) -> int:
    return int(np.searchsorted(_WORDS_UP_TO, rng.random(), side="right"))


def _words(rng: Rng, num: int) -> Genes:
    return np.searchsorted(_WORDS_UP_TO, rng.random(num), side="right").astype(np.int8)


def _one_of(moves: NDArray[np.intp], rng: Rng) -> int:
    return int(moves[rng.integers(len(moves))])


def _touch(site: Site, rng: Rng) -> int:
    """A touch, near more often than ahead."""
    return _one_of(site.near if rng.random() < 0.7 else site.ahead, rng)


def _window(site: Site, rng: Rng) -> NDArray[np.intp]:
    """Touches in some stretch of time."""
    at = _one_of(site.near, rng)
    begin, end = np.searchsorted(site.ahead, [at, at + int(rng.integers(2, LONGEST_WINDOW))])
    return site.ahead[begin:end]


def _during(site: Site, first: int, last: int) -> NDArray[np.intp]:
    """The touches from one move to another."""
    begin, end = np.searchsorted(site.ahead, [first, last + 1])
    return site.ahead[begin:end]


def change_touch(genes: Genes, site: Site, rng: Rng) -> None:
    """One touch gets a new word."""
    genes[_touch(site, rng)] = _word(rng)


def change_group(genes: Genes, site: Site, rng: Rng) -> None:
    """All moves of one tensor get the same word."""
    genes[site.moves_of(site.layout.group[_one_of(site.near, rng)])] = _word(rng)


def change_stretch(genes: Genes, site: Site, rng: Rng) -> None:
    """Some moves of one tensor that follow one another get the same word."""
    at = _one_of(site.near, rng)
    moves = site.moves_of(site.layout.group[at], at)
    genes[moves[: 1 + rng.integers(len(moves))]] = _word(rng)


def make_room(genes: Genes, site: Site, rng: Rng) -> None:
    """One tensor is wanted, and some of those touched during its life are dropped meanwhile.

    Its life begins with a slot: what the instruction that writes it reads is in its way, too.
    """
    own = site.moves_of(site.layout.group[_one_of(site.near, rng)])
    inside = _during(site, int(site.layout.slot_begin[own[0]]), int(own[-1]))
    groups = site.layout.group[inside]
    is_there = np.zeros(len(site.layout.of_group), bool)
    is_there[groups] = True
    chance = (1 / max(2, int(is_there.sum())), 0.2, 0.5)[rng.integers(3)]
    is_dropped = rng.random(len(is_there)) < chance
    genes[inside[is_dropped[groups]]] = DROP
    genes[own] = EARN


def displace(genes: Genes, site: Site, rng: Rng) -> None:
    """One tensor is wanted in place of a few others, and all else goes on as it was played.

    Otherwise what was only wished for so far would come true in the room that is made, and often
    cost more than the change brings. The larger a tensor, and the more often it is touched
    meanwhile, the likelier it has to go.
    """
    own = site.moves_of(site.layout.group[_one_of(site.near, rng)])
    begin = max(site.first, int(site.layout.slot_begin[own[0]]))
    if site.played is not None:
        genes[begin:] = site.played[begin:]
    inside = _during(site, begin, int(own[-1]))
    groups = site.layout.group[inside]
    is_own = groups == site.layout.group[own[0]]
    up_to = np.cumsum(np.where(is_own, 0, site.layout.size[inside]))
    for _ in range(int(rng.integers(1, MOST_DISPLACED + 1)) if up_to[-1] else 0):
        one = np.searchsorted(up_to, rng.random() * up_to[-1], side="right")
        genes[inside[groups == groups[one]]] = DROP
    genes[own] = EARN


def outbid(genes: Genes, site: Site, rng: Rng) -> None:
    """One tensor is wanted; what is worth less per granule is not served fast meanwhile.

    A copy needs its room some time before the touch, so that time counts as well.
    """
    own = site.moves_of(site.layout.group[_touch(site, rng)])
    inside = _during(site, int(own[0]) - int(rng.integers(LONGEST_WAIT)), int(own[-1]))
    worth = site.layout.worth
    bid = worth[own].max() * np.exp(rng.normal())
    genes[inside[worth[inside] < bid]] = DROP
    genes[own] = EARN


def change_window(genes: Genes, site: Site, rng: Rng) -> None:
    """A third of the touches in a window of time get new words, one or many."""
    window = _window(site, rng)
    chosen = window[rng.random(len(window)) < 1 / 3]
    genes[chosen] = _word(rng) if rng.random() < 0.5 else _words(rng, len(chosen))


def change_ends(genes: Genes, site: Site, rng: Rng) -> None:
    """One touch, or one tensor from some touch on, goes to the other end."""
    at = _touch(site, rng)
    moved = np.asarray([at]) if rng.random() < 0.5 else site.moves_of(site.layout.group[at], at)
    genes[moved] = _AT_OTHER_END[genes[moved]]


MUTATIONS: tuple[Callable[[Genes, Site, Rng], None], ...] = (
    change_touch,
    change_group,
    change_stretch,
    make_room,
    change_window,
    outbid,
    change_ends,
    displace,
)
MUTATION_CHANCES = (0.17, 0.17, 0.17, 0.17, 0.09, 0.1, 0.08, 0.05)
_MUTATIONS_UP_TO = np.cumsum(MUTATION_CHANCES)[:-1]


def mutate(genes: Genes, site: Site, num: int, rng: Rng) -> None:
    """Apply `num` mutations."""
    for kind in np.searchsorted(_MUTATIONS_UP_TO, rng.random(num), side="right"):
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
