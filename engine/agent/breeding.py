"""Which genomes games get: drawn parents, and children of these that the judge thinks well of.

Letters as in `engine.agent.selfplay`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.agent.config import PracticeConfig
from engine.agent.judge import Judge, chosen
from engine.agent.leaning import behind, everywhere, unrelated, varied
from engine.agent.replay import Parent
from engine.agent.selfplay import CHUNK
from engine.agent.workload import Workload
from engine.game.genome import Genes, Rng

T = TypeVar("T")


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
    return varied(rng, old, sites, rates, practice.cross_share, keeps_first=True)


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

    The judge chooses each among so many as `practice.variations`. `wild` `[B]` as in
    `varied_anywhere`. `keeps_first`: the first one is its parent's equal.
    """
    old, sites = [parent.genes for parent in parents], behind(workload.layout, start)
    rates = wild * practice.mutations
    tries = [
        varied(rng, old, sites, rates, practice.cross_share, keeps_first)
        for _ in range(practice.variations)
    ]
    if len(tries) == 1:
        return tries[0]
    return chosen(rng, judge, parents, np.stack(tries, axis=1), start)
