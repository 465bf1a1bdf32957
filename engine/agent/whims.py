"""Whims: a way to explore that holds on to what it begins.

Noise that is drawn afresh at every move rarely tries a whole new fate for a tensor: a stay that is
dropped once is copied back at the next touch. A whim makes one game lean to one word
(`engine.game.scripts`) at several moves of one group. Letters as in `engine.agent.selfplay`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.agent.replay import Game
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.scripts import EARN, NUM_WORDS

Rng = np.random.Generator
KINDS = 3
"""All later moves of a group, some of them, or room made for all of them."""
WISHES = np.eye(NUM_WORDS, dtype=np.float32)
WISHES[COPY, NO_COPY] = WISHES[NO_COPY, DROP] = 0.5
"""What leaning to a word means: where Copy is illegal NoCopy, where that is illegal Drop."""
WORD_CHANCES = (0.1, 0.15, 0.35, 0.4)
"""Of Copy, NoCopy, Drop, and of what earns most at once."""
LENT_SHARES = (0.1, 0.5)
"""Of the groups, by a second parent."""
ROOM_SHARES = (0.0, 0.2, 0.5)
"""Of the other groups touched meanwhile that are dropped; at least about one."""


def whims(
    rng: Rng,
    groups: NDArray[np.int32],
    start: int,
    wild: NDArray[np.float32],
    most: float,
    strength: float,
) -> NDArray[np.float32]:
    """What each game leans to, in logits, `[L, B, NUM_WORDS]`.

    `groups` `[L]`: of each move; whims begin at moves from `start` on. The first game has none, the
    others at least one and about `most * wild` (`wild` `[B]`).
    """
    lean = np.zeros((len(groups), len(wild), NUM_WORDS), np.float32)
    counts = np.maximum(1, rng.poisson(most * wild))
    counts[:1] = 0
    for game, count in enumerate(counts):
        for begun in rng.integers(start, len(groups), size=count):
            _whim(rng, lean[:, game], groups, int(begun), strength)
    return lean


def leanings(
    rng: Rng, groups: NDArray[np.int32], parents: Sequence[Game], cross_share: float
) -> NDArray[np.float32]:
    """What the parent of each game did, `[L, B, NUM_WORDS]`.

    A share of the games have a second parent, that of another game, which lends them its fate of
    some groups or its moves from some move on.
    """
    lean = np.stack([parent.words for parent in parents], axis=1)
    for game in np.flatnonzero(rng.random(len(parents)) < cross_share):
        other = parents[int(rng.integers(len(parents)))]
        if rng.random() < 0.5:
            lent = np.arange(len(groups)) >= rng.integers(len(groups))
        else:
            lent = (rng.random(int(groups.max()) + 1) < rng.choice(LENT_SHARES))[groups]
        lean[lent, game] = other.words[lent]
    return lean


def _whim(
    rng: Rng, lean: NDArray[np.float32], groups: NDArray[np.int32], begun: int, strength: float
) -> None:
    own = begun + np.flatnonzero(groups[begun:] == groups[begun])
    kind = rng.integers(KINDS)
    if kind == 2:
        lean[_in_the_way(rng, groups, own)] += strength * WISHES[DROP]
        lean[own] += strength * WISHES[EARN]
        return
    if kind == 1:
        own = own[: 1 + rng.integers(len(own))]
    lean[own] += strength * WISHES[rng.choice(NUM_WORDS, p=WORD_CHANCES)]


def _in_the_way(rng: Rng, groups: NDArray[np.int32], own: NDArray[np.intp]) -> NDArray[np.intp]:
    """Moves of some other groups that are touched between a group's moves."""
    meanwhile = np.arange(own[0], own[-1] + 1)
    others = np.setdiff1d(groups[meanwhile], groups[own[:1]])
    share = max(rng.choice(ROOM_SHARES), 1 / max(2, len(others)))
    dropped = others[rng.random(len(others)) < share]
    found: NDArray[np.intp] = meanwhile[np.isin(groups[meanwhile], dropped)]
    return found
