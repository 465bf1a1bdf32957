"""Leanings: what the games of a round are drawn to, so that they explore in whole thoughts.

Noise that is drawn afresh at every move rarely tries a new fate for a tensor: a stay that is
dropped once is copied back at the next touch. So each game is given a genome: that of a good game,
varied like `evolution` varies its own. Words that were varied are followed for sure where they are
legal; the others are a leaning, which the networks and the search may overrule. Letters as in
`engine.agent.self_play`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.agent.replay_buffer import Game
from engine.game.genome import Genes, Layout, Rng, random_genomes, relaxed_genomes
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.scripts import EARN, NUM_WORDS
from engine.game.variation import Site, cross, mutate, site_at

SHAKEN = 4.0
"""Most groups that a shaken genome changes, in shares of the moves that shall come out changed: for
words are wishes, and many a change comes to nothing."""
NONE = -1
"""In a genome: no word, the agent decides alone."""
RANDOM_SHARE, FIRST_RANDOM_SHARE = 0.1, 0.75
"""Of the games without parents, with a random genome; and before there is any good game."""
SPACING = 32
"""Moves of a place where a genome is varied."""
WISHES = np.eye(NUM_WORDS + 1, NUM_WORDS, dtype=np.float32)
WISHES[COPY, NO_COPY] = WISHES[NO_COPY, DROP] = 0.5
"""What leaning to a word means: where Copy is illegal NoCopy, where that is illegal Drop."""


def unrelated(
    rng: Rng,
    layout: Layout,
    games: int,
    is_first: bool,
    relaxed: NDArray[np.float64] | None = None,
    relaxed_share: float = 0.0,
) -> list[Genes]:
    """Genomes without parents: empty ones, and random ones, most of them where it `is_first`.

    `relaxed` `[L]`: to which share a relaxed optimum serves each move fast; `relaxed_share` of the
    random genomes round it.
    """
    num = int(games * (FIRST_RANDOM_SHARE if is_first else RANDOM_SHARE))
    num_relaxed = 0 if relaxed is None else int(num * relaxed_share)
    random = random_genomes(layout, num - num_relaxed, rng)
    if relaxed is not None:
        random += relaxed_genomes(layout, relaxed, num_relaxed, rng)
    empty = np.full(layout.num_moves, NONE, np.int8)
    return [empty] * (games - len(random)) + random


def everywhere(layout: Layout) -> list[Site]:
    """The sites of a genome without parents: it may change in any one place."""
    places = [site_at(layout, first, SPACING) for first in range(0, layout.num_moves, SPACING)]
    return [replace(site, first=0) for site in places if site]


def varied(
    rng: Rng,
    genomes: Sequence[Genes],
    sites: Sequence[Site],
    rates: NDArray[np.float32],
    cross_share: float,
) -> NDArray[np.int8]:
    """Copies of the genomes, `[B, L]`, all but the first changed, each mostly in one of the places.

    `rates` `[B]`: mutations beyond the first. A share are crossed with another one, and half of
    these not mutated.
    """
    found = np.stack(genomes)
    for index in range(1, len(found) if sites else 0):
        genes, site = found[index], sites[int(rng.integers(len(sites)))]
        other = genomes[int(rng.integers(len(genomes)))]
        is_crossed = other is not genomes[index] and rng.random() < cross_share
        if is_crossed:
            cross(genes, other, site, rng)
        if not is_crossed or rng.random() < 0.5:
            mutate(genes, site, 1 + int(rng.poisson(rates[index])), rng)
    return found


def shaken(
    rng: Rng,
    layout: Layout,
    genes: Genes,
    games: int,
    share: float,
    relaxed: NDArray[np.float64] | None,
) -> NDArray[np.int8]:
    """Copies of a genome in which many groups at once have other words, `[B, L]`.

    As many groups as half to `SHAKEN` times that `share`; the words are those of random genomes, or
    of such that round `relaxed`.
    """
    found = np.repeat(genes[None], games, axis=0)
    num_relaxed = 0 if relaxed is None else games // 2
    other = random_genomes(layout, games - num_relaxed, rng)
    if relaxed is not None:
        other += relaxed_genomes(layout, relaxed, num_relaxed, rng)
    shares = share * rng.uniform(0.5, SHAKEN, games)
    taken = rng.random((games, len(layout.of_group))) < shares[:, None]
    return np.where(taken[:, layout.group], np.stack(other), found)


def leaning(
    genomes: NDArray[np.int8], is_sure: NDArray[np.bool_], lean: NDArray[np.float32], sure: float
) -> NDArray[np.float32]:
    """What the genomes `[B, L]` draw to, in logits, `[L, B, NUM_WORDS]`.

    `lean` `[B]`, or `sure` at the moves that `is_sure` `[B, L]`.
    """
    strength = np.where(is_sure, np.float32(sure), lean[:, None])
    found: NDArray[np.float32] = np.swapaxes(WISHES[genomes] * strength[..., None], 0, 1)
    return found


def meant(genes: NDArray[np.int8], game: Game) -> NDArray[np.int32]:
    """The actions `[..., L]` that words would be in the positions of a game."""
    legal = game.legal
    found = np.where(genes == EARN, game.greedy, np.clip(genes, 0, DROP))
    found = np.where((found == COPY) & ~legal[:, COPY], NO_COPY, found)
    return np.where((found == NO_COPY) & ~legal[:, NO_COPY], DROP, found).astype(np.int32)


def settled(genes: Genes, game: Game) -> Genes:
    """The genome of a game that leaned to `genes`: where it did otherwise, what it did.

    Words that came true are kept, and those that were illegal, for they may come true in its
    offspring. What is new counts as `EARN` where it was the greedy choice.
    """
    moves = np.arange(len(genes))
    meant = np.where(genes == EARN, game.greedy, np.clip(genes, 0, DROP))
    is_kept = (genes != NONE) & ((meant == game.action) | ~game.legal[moves, meant])
    anew = np.where(game.greedy == game.action, EARN, game.action)
    found: Genes = np.where(is_kept, genes, anew).astype(np.int8)
    return found
