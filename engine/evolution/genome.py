"""Genomes: scripts of the mallocGame, one word per move; the first ones, and the fittest.

A word is a wish: one that is illegal now is kept, and comes true when another change makes room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.game.move_list import moves
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.scripts import EARN, NUM_WORDS
from engine.program.model import Program

if TYPE_CHECKING:
    # JAX takes a second to import, which who only makes genomes need not wait for.
    from engine.game.jaxgame.batching import Trail

Genes = NDArray[np.int8]  # [moves]
Rng = np.random.Generator
NUM_FIRST = 96
"""Genomes that are tried before the first generation."""
WORD_CHANCES = (0.09, 0.13, 0.35, 0.01, 0.02, 0.35, 0.05)
"""Of the actions, `EARN` and `EARN_OTHER` as a new word."""
RANDOM_SHARE = 0.15
"""Of the random genomes: every move's word drawn by itself; in the others a group has one word."""
RELAXED_SHARE = 0.4
"""Of the random genomes among the first, if there is an optimum; none and 0.8 were worse."""
FOCUS = 0.7
"""A search under several place rules gives so many of its rounds to the rule whose best game saves
most, on top of its turns."""
GUEST_SHARE = 0.5
"""Of its rounds under another rule: these try what the leading rule's best genomes mean there."""


@dataclass(frozen=True)
class Layout:
    """What the operators know about a program's moves: their groups and which are free.

    `touches`: moves that are no sinks. `worth`: ticks that a touch saves per granule of its tensor,
    if it is served fast. `of_group[g]`: the moves of a group. `slot_begin`: the first move of the
    slot that a move is in. `size`: of a move's group, in granules.
    """

    group: NDArray[np.intp]  # [moves]
    touches: NDArray[np.intp]
    worth: NDArray[np.float64]  # [moves]
    of_group: tuple[NDArray[np.intp], ...]
    slot_begin: NDArray[np.intp]  # [moves]
    size: NDArray[np.intp]  # [moves]

    @property
    def num_moves(self) -> int:
        """Length of a genome."""
        return len(self.group)


def layout(program: Program) -> Layout:
    """The layout of a program's moves."""
    rows = moves(program)
    group = np.asarray([row.group for row in rows], dtype=np.intp)
    touches = np.flatnonzero([not row.is_sink for row in rows])
    worth = np.asarray([row.saving_ticks / row.size_granules for row in rows], dtype=np.float64)
    of_group = tuple(np.flatnonzero(group == g) for g in range(_end(group)))
    times = [row.time for row in rows]
    size = np.asarray([row.size_granules for row in rows], dtype=np.intp)
    return Layout(group, touches, worth, of_group, np.searchsorted(times, times), size)


def _end(group: NDArray[np.intp]) -> int:
    return int(group.max(initial=-1)) + 1


def first_genomes(
    program_layout: Layout, num: int, rng: Rng, relaxed: NDArray[np.float64] | None = None
) -> list[Genes]:
    """The greedy game, everything slow, NoCopy and Copy throughout, and random ones.

    `relaxed` `[moves]` as in `relaxed_genomes`: `RELAXED_SHARE` of the random ones round it.
    """
    plain = [np.full(program_layout.num_moves, w, np.int8) for w in (EARN, DROP, NO_COPY, COPY)]
    others = max(0, num - len(plain))
    rounded: list[Genes] = []
    if relaxed is not None:
        rounded = relaxed_genomes(program_layout, relaxed, int(others * RELAXED_SHARE), rng)
    return plain[:num] + rounded + random_genomes(program_layout, others - len(rounded), rng)


def random_genomes(program_layout: Layout, num: int, rng: Rng) -> list[Genes]:
    """Random words per move, or whole groups dropped out of the greedy game, few or many."""
    return [_random_genome(program_layout, rng) for _ in range(num)]


def relaxed_genomes(
    program_layout: Layout, shares: NDArray[np.float64], num: int, rng: Rng
) -> list[Genes]:
    """The greedy game without what a relaxed optimum, rounded at random, serves slow.

    `shares` `[moves]`: to which it serves each move fast. All tensors are rounded by one draw, or
    each by its own (randomised rounding, Raghavan and Thompson 1987).
    """
    genomes = []
    for number in range(num):
        draw = np.full(len(program_layout.of_group), rng.random())
        if number % 2:
            draw = rng.random(len(draw))
        is_fast = shares > draw[program_layout.group]
        genomes.append(np.where(is_fast, EARN, DROP).astype(np.int8))
    return genomes


def relaxed_shares(program: Program, served: Sequence[float]) -> NDArray[np.float64] | None:
    """The share to which a bound's optimum serves each move fast, `[moves]`; None if not known.

    `served`: by touch (`engine.plan.bounds.Bound`). Sinks are left to the greedy word.
    """
    if not any(served):
        return None
    return np.asarray([1.0 if row.is_sink else served[row.touch] for row in moves(program)])


def _random_genome(program_layout: Layout, rng: Rng) -> Genes:
    if rng.random() < RANDOM_SHARE:
        return rng.integers(0, NUM_WORDS, program_layout.num_moves).astype(np.int8)
    chance = rng.random(len(program_layout.of_group))
    words = np.where(chance < 0.8 * rng.random(), DROP, EARN)
    if rng.random() < 0.4:
        words = np.where(rng.random(len(words)) < 0.1, NO_COPY, words)
    genes: Genes = words[program_layout.group].astype(np.int8)
    return genes


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
