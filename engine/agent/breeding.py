"""Which genomes games get: drawn parents, and children of these that the judge thinks well of.

Letters as in `engine.agent.self_play`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.agent.config import PracticeConfig
from engine.agent.judge import Changes, Judge
from engine.agent.leaning import NONE, SPACING, everywhere, unrelated, varied
from engine.agent.replay_buffer import Parent
from engine.agent.self_play import CHUNK
from engine.agent.workload import Workload
from engine.game.genome import Genes, Rng
from engine.game.variation import cross, mutate, site_at

T = TypeVar("T")
POOL = 256
"""Mutations that are drawn for all children of a generation."""
CHANCE = 0.5
"""Noise in the choice of a mutation; at 1 each is drawn with the odds that the prior gives it."""
LATE = 1e3
"""What counts against a mutation that parts late: more than any odds."""


def drawn(best: Sequence[T], number: int, rng: Rng) -> list[T]:
    """That many of the games, the better ones more often; none if there are none."""
    if not best:
        return []
    ranks = (len(best) * rng.random(number) ** 2).astype(int)
    return [best[rank] for rank in ranks]


def drawn_start(workload: Workload, rng: Rng) -> int:
    """The first move of some chunk, up to the last touch: behind it nothing can be varied."""
    last = int(workload.layout.touches.max(initial=0))
    return CHUNK * int(rng.integers(last // CHUNK + 1))


def first_genomes(
    workload: Workload, practice: PracticeConfig, rng: Rng, wild: NDArray[np.float32]
) -> NDArray[np.int8]:
    """Genomes without parents, `[B, L]`; `wild` `[B]` as in `varied_anywhere`."""
    # Later families begin elsewhere: all that round the same optimum end much alike.
    relaxed = None if workload.replay.champions else workload.relaxed
    is_first = not workload.replay.best
    old = unrelated(rng, workload.layout, len(wild), is_first, relaxed, practice.relaxed_share)
    return varied_anywhere(workload, practice, rng, old, wild)


def varied_anywhere(
    workload: Workload,
    practice: PracticeConfig,
    rng: Rng,
    old: Sequence[Genes],
    wild: NDArray[np.float32],
) -> NDArray[np.int8]:
    """Copies of the genomes `old`, all but the first changed in any one place, `[B, L]`.

    `wild` `[B]`: how far each may stray, 0 to 1.
    """
    rates = wild * practice.mutations
    sites = everywhere(workload.layout)
    return varied(rng, old, sites, rates, practice.cross_share)


def children_of(
    workload: Workload,
    judge: Judge,
    practice: PracticeConfig,
    rng: Rng,
    parents: Sequence[Parent],
    start: int,
    wild: NDArray[np.float32],
    keeps_first: bool = False,
) -> NDArray[np.int8]:
    """A child of each parent, changed from move `start` on, `[B, L]`.

    A share are crossed (`_mates`), and half of these not mutated. The judge chooses each
    mutation among 1 to `practice.variations`, by a number that is drawn for the child: what it
    likes best is tried soon, and what it does not like now and then. `wild` `[B]`: how far each may
    stray, 0 to 1. `keeps_first`: the first child is its parent's equal.
    """
    found = np.stack([parent.genes for parent in parents])
    site = site_at(workload.layout, start, SPACING)
    if site is None:
        return found
    pool = np.full((POOL, found.shape[1]), NONE, np.int8)
    for words in pool:
        mutate(words, site, 1, rng)
    liking = _liking(judge, parents, pool, start, practice.variations)
    chosen = _chosen(rng, liking, wild * practice.mutations, practice.variations)
    mates, share = _mates(workload, practice, parents)
    for index in range(int(keeps_first), len(found)):
        genes, other = found[index], mates[int(rng.integers(len(mates)))]
        is_crossed = rng.random() < share and not np.array_equal(genes, other.genes)
        if is_crossed:
            cross(genes, other.genes, site, rng)
        if not is_crossed or rng.random() < 0.5:
            for words in pool[chosen[index]]:
                np.copyto(genes, words, where=words != NONE)
    return found


def _chosen(
    rng: Rng, liking: NDArray[np.float64], rates: NDArray[np.float32], variations: int
) -> list[NDArray[np.intp]]:
    """Of each child which of the pool's mutations it gets: 1, and a mean of `rates` `[B]` more.

    `liking` `[B, P]`. Those that are liked best among 1 to `variations` times as many.
    """
    numbers = 1 + rng.poisson(rates)
    asked = numbers * np.rint(variations ** rng.random(len(rates))).astype(int)
    drawn = rng.integers(liking.shape[1], size=(len(rates), int(asked.max())))
    noisy = np.take_along_axis(liking, drawn, axis=1) + CHANCE * rng.gumbel(size=drawn.shape)
    noisy[np.arange(drawn.shape[1]) >= asked[:, None]] = -np.inf
    ranked = np.take_along_axis(drawn, np.argsort(-noisy, axis=1), axis=1)
    return [row[:number] for row, number in zip(ranked, numbers, strict=True)]


def _mates(
    workload: Workload, practice: PracticeConfig, parents: Sequence[Parent]
) -> tuple[Sequence[Parent], float]:
    """With whom children may be crossed, and which share of them is.

    In a family of champions with these, for the weaker ones soon make room among its best games.
    """
    memory = workload.replay
    if memory.champions and memory.kind == "reunited":
        return memory.champions, practice.reunion_share
    return parents, practice.cross_share


def _liking(
    judge: Judge, parents: Sequence[Parent], pool: NDArray[np.int8], start: int, variations: int
) -> NDArray[np.float64]:
    """How much there is to be said for mutations `[P, L]` of each parent, `[B, P]`.

    The odds that the judge gives to them. One that parts more than a chunk of moves after the start
    is taken only where all do, for what comes before is played for nothing, and one that would do
    the same as its parent only where all would.
    """
    if variations == 1:
        return np.zeros((len(parents), len(pool)))
    changes = Changes.of(pool)
    found: dict[int, NDArray[np.float64]] = {}
    for parent in parents:
        if id(parent) not in found:
            told = judge.verdicts(parent, changes)
            late = np.where(told.fork < 0, 2 * LATE, LATE * (told.fork >= start + CHUNK))
            found[id(parent)] = told.odds - late
    return np.stack([found[id(parent)] for parent in parents])
