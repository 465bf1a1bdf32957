"""Comparing games with those that they descend from.

A varied game plays like its parent up to the first move at which it does otherwise. Which of the
two came out better is a clean word about that one choice: what led there is the same, and what
follows mostly too. The prior learns which action won (as rewards are learned from preferences,
arXiv 1706.03741), and with what it has learned it judges variations (`engine.agent.judge`).
Letters as in `engine.agent.self_play`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.agent.replay_buffer import Parent
from engine.game.genome import Rng
from engine.game.inputs import NUM_VIEW

NUM_PAIRS = 256
"""In a learning batch."""
MEMORY = 8192
"""Pairs that are remembered of a program."""
LEAST_GAIN = 1e-3
"""Points; games whose scores are nearer than that say nothing."""
MOST_GAIN = 10.0
"""Points; what is lost beyond that was not lost by one choice."""
COLUMNS = {
    "view": (np.float16, (NUM_VIEW,)),
    "move": (np.int32, ()),
    "better": (np.int32, ()),
    "worse": (np.int32, ()),
    "gain": (np.float32, ()),
}
Columns = dict[str, NDArray[np.generic]]


def pairs_of(
    parents: Sequence[Parent], actions: Sequence[NDArray[np.int32]], scores: Sequence[float]
) -> Columns:
    """The choices that made a difference: what was seen, which action was better and worse, and by
    how many points the one game gained on the other.

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
        rows.append((parent.seen.view[move], move, better, worse, min(abs(gain), MOST_GAIN)))
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
