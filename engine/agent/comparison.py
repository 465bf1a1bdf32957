"""Comparing games with those that they descend from.

A varied game plays like its parent up to the first move at which it does otherwise. Which of the
two came out better is a clean word about that one choice: what led there is the same, and what
follows mostly too. The prior learns which action won (as rewards are learned from preferences,
arXiv 1706.03741), and with what it has learned it chooses among variations those worth a game.
Letters as in `engine.agent.selfplay`; `K` variations, `P` pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from engine.agent.leaning import meant
from engine.agent.network import Params, predict, represent
from engine.agent.replay import Parent
from engine.agent.selfplay import CHUNK
from engine.game.features import Features
from engine.game.genome import Rng
from engine.game.inputs import NUM_VIEW

NUM_PAIRS = 256
"""In a learning batch."""
MEMORY = 8192
"""Pairs that are remembered of a program."""
CHANCE = 0.5
"""Noise in the choice of a variation; at 1 each is drawn with the odds that the prior gives it."""
LATE = 1e3
"""What counts against a variation that parts late: more than any odds."""
LEAST_GAIN = 1e-3
"""Points; games whose scores are nearer than that say nothing."""
COLUMNS = {
    "view": (np.float16, (NUM_VIEW,)),
    "move": (np.int32, ()),
    "better": (np.int32, ()),
    "worse": (np.int32, ()),
}
Columns = dict[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Forks:
    """Where variations `[K]` part from their parent.

    `move`: the first at which they would act otherwise; -1: none. `action`: what they would do.
    """

    move: NDArray[np.intp]
    action: NDArray[np.int32]


def forks(parent: Parent, genes: NDArray[np.int8], start: int) -> Forks:
    """Where games that lean to the genomes `[K, L]` from move `start` on would part from `parent`.

    As far as that can be said without playing: up to there all see what the parent saw, which is
    taken for what its ancestor saw where nobody looked.
    """
    would = meant(genes[:, start:], parent, start)
    differs = (genes[:, start:] != parent.genes[start:]) & (would != parent.action[start:])
    first = differs.argmax(axis=1)
    action = np.take_along_axis(would, first[:, None], axis=1)[:, 0]
    return Forks(np.where(differs.any(axis=1), start + first, -1), action)


def pairs_of(
    parents: Sequence[Parent], actions: Sequence[NDArray[np.int32]], scores: Sequence[float]
) -> Columns:
    """The choices that made a difference: what was seen, and which action was better and worse.

    `actions` `[L]` and `scores` are those of a game for each parent. Where nobody saw the position
    of the choice, nothing is said.
    """
    rows = []
    for parent, action, score in zip(parents, actions, scores, strict=True):
        differs = parent.action != action
        gain = score - parent.score
        if abs(gain) < LEAST_GAIN or not differs.any():
            continue
        move = int(differs.argmax())
        if move > parent.sees_up_to:
            continue
        both = (action[move], parent.action[move])
        better, worse = both if gain > 0 else both[::-1]
        rows.append((parent.view[move], move, better, worse))
    cells = zip(*rows, strict=True) if rows else ([] for _ in COLUMNS)
    return {
        name: np.asarray(list(column), kind).reshape(-1, *shape)
        for (name, (kind, shape)), column in zip(COLUMNS.items(), cells, strict=True)
    }


def joined(parts: Sequence[Columns]) -> Columns:
    """All pairs of the parts, of which there is at least one."""
    return {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS}


class Comparisons:
    """The last pairs of a program."""

    def __init__(self, capacity: int = MEMORY) -> None:
        self._columns = {
            name: np.zeros((capacity, *shape), kind) for name, (kind, shape) in COLUMNS.items()
        }
        self._capacity, self._num_added = capacity, 0

    def __len__(self) -> int:
        return min(self._num_added, self._capacity)

    def add(self, pairs: Columns) -> None:
        """Take in copies of pairs; the oldest make room."""
        number = len(pairs["move"])
        rows = (self._num_added + np.arange(number)) % self._capacity
        for name, column in pairs.items():
            self._columns[name][rows] = column
        self._num_added += number

    def sample(self, rng: Rng, size: int = NUM_PAIRS) -> Columns:
        """`size` pairs, drawn evenly, and their `weight`: 0 if there are none."""
        # By age, so that a resumed run, which adds fewer pairs, draws the same ones.
        age = rng.integers(max(1, len(self)), size=size)
        rows = (self._num_added - 1 - age) % self._capacity
        found: Columns = {name: column[rows] for name, column in self._columns.items()}
        return found | {"weight": np.full(size, float(len(self) > 0), np.float32)}


@jax.jit
def prior_logits(params: Params, known: Features, move: Array, view: Array) -> Array:
    """The prior in positions before the moves `[N]` that look like `view`, `[N, A]`."""
    return predict(params, represent(params, known.outlook[move], view)).policy


def chosen(
    rng: Rng,
    params: Params,
    known: Features,
    parents: Sequence[Parent],
    variations: NDArray[np.int8],
    start: int,
) -> NDArray[np.int8]:
    """One of the variations `[B, K, L]` of each game, `[B, L]`.

    The better the odds that the prior gives to the choice by which a variation parts from its
    parent, the likelier it is drawn. One that parts more than a chunk of moves after the start is
    drawn only where all do, for what comes before is played for nothing, and one that would do the
    same as its parent only where all would.
    """
    found = [forks(*pair, start) for pair in zip(parents, variations, strict=True)]
    move = np.maximum(np.stack([fork.move for fork in found]), start)
    action = np.stack([fork.action for fork in found])
    games = np.arange(len(parents))[:, None]
    old = np.stack([parent.action[m] for parent, m in zip(parents, move, strict=True)])
    view = np.stack([parent.view[m] for parent, m in zip(parents, move, strict=True)])
    logits = np.asarray(
        prior_logits(params, known, move.ravel(), view.reshape(-1, NUM_VIEW).astype(np.float32))
    ).reshape(*move.shape, -1)
    places = np.arange(move.shape[1])
    odds = logits[games, places, action] - logits[games, places, old]
    is_idle = np.stack([fork.move for fork in found]) < 0
    is_late = move >= start + CHUNK
    noisy = odds + CHANCE * rng.gumbel(size=odds.shape) - LATE * is_late
    drawn = np.where(is_idle, -np.inf, noisy)
    best: NDArray[np.int8] = variations[games[:, 0], drawn.argmax(axis=1)]
    return best
