"""The replay buffer: the agent's own games, the best of them, and demonstrations.

All games of one buffer belong to one program, so they have equally many moves and lie stacked in
arrays. Letters: `L` moves, `U` unrolled steps, `B` sampled positions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from engine.agent.config import ReplayConfig
from engine.agent.types import Batch, Floats, Game

SAME = 0.01
"""Points; of the best games one is kept for each multiple of it."""


class Pool:
    """The last `capacity` games, stacked, with their value targets."""

    def __init__(self, capacity: int, td_steps: int) -> None:
        self._capacity, self._td_steps = capacity, td_steps
        self._columns: dict[str, NDArray[np.generic]] = {}
        self._num_added = 0

    def __len__(self) -> int:
        return min(self._num_added, self._capacity)

    def add(self, game: Game) -> None:
        """Take in a copy of a game; the oldest makes room."""
        row = {
            "view": game.view,
            "legal": game.legal,
            "action": game.action,
            "policy": game.policy,
            "reward": game.reward,
            "target": value_targets(game, self._td_steps),
        }
        if not self._columns:
            self._columns = {
                name: np.zeros((self._capacity, *cells.shape), cells.dtype)
                for name, cells in row.items()
            }
        for name, cells in row.items():
            self._columns[name][self._num_added % self._capacity] = cells
        self._num_added += 1

    def batch(self, rng: np.random.Generator, size: int, unroll: int) -> Batch:
        """`size` positions, drawn evenly from all games."""
        columns = self._columns
        length = columns["action"].shape[1]
        # By age, so that a resumed run, which adds fewer games, draws the same ones.
        age = rng.integers(len(self), size=size)[:, None]
        game = (self._num_added - 1 - age) % self._capacity
        start = rng.integers(length, size=size)
        steps = start[:, None] + np.arange(unroll + 1)
        inside = steps < length
        at = np.minimum(steps, length - 1)
        legal = columns["legal"][game, at]
        choice = inside & (legal.sum(axis=2) > 1)
        return Batch(
            view=columns["view"][game, at],
            move=start.astype(np.int32),
            action=columns["action"][game, at[:, :-1]],
            reward=columns["reward"][game, at[:, :-1]] * inside[:, :-1],
            policy=columns["policy"][game, at],
            legal=legal,
            value=columns["target"][game, at] * inside,
            weight=inside.astype(np.float32),
            policy_weight=choice.astype(np.float32),
        )


@dataclass
class ReplayBuffer:
    """The last own games, the best ones (best first), and the demonstrations."""

    config: ReplayConfig
    demonstrations: tuple[Game, ...] = ()
    best: tuple[Game, ...] = ()
    _pools: dict[str, Pool] = field(default_factory=dict)

    @property
    def top(self) -> Game | None:
        """The best own game; None before the first."""
        return self.best[0] if self.best else None

    @property
    def top_score(self) -> float:
        """The score of the best own game; minus infinity before the first."""
        return self.best[0].score if self.best else -np.inf

    def count(self, kind: str) -> int:
        """Games of a kind: `own`, `best` or `demonstrations`."""
        return len(self.best) if kind == "best" else len(self._pools.get(kind, ()))

    def demonstrate(self, games: Sequence[Game]) -> None:
        """Take in demonstrations in place of earlier ones."""
        self.demonstrations = tuple(games)
        self._pools["demonstrations"] = self._stacked(self.demonstrations)

    def add_best(self, games: Sequence[Game]) -> None:
        """Remember those of own games that are among the best."""
        if not games:
            return
        # What made a game good is what was played in it, noise included.
        fresh = (replace(game, policy=game.played) for game in games)
        self.set_best(best_of([*self.best, *fresh], self.config.num_best))

    def add_old(self, games: Sequence[Game]) -> None:
        """Take in own games, in this order, whether or not they are among the best."""
        own = self._pools.setdefault("own", Pool(self.config.capacity, self.config.td_steps))
        for game in games:
            own.add(game)

    def set_best(self, games: Iterable[Game]) -> None:
        """Remember these as the best, the best of them first."""
        self.best = tuple(games)
        self._pools.pop("best", None)

    def _stacked(self, games: Sequence[Game]) -> Pool:
        pool = Pool(len(games), self.config.td_steps)
        for game in games:
            pool.add(game)
        return pool

    def sample(
        self,
        rng: np.random.Generator,
        size: int,
        unroll: int,
        best_share: float = 0.0,
        demonstration_share: float = 0.0,
    ) -> Batch:
        """`size` positions, the given shares of them from the best games and demonstrations.

        All of these must be seen (`Game.is_seen`).

        Where there are no games of a kind, others take their place; there must be some.
        """
        drawn, shown, best = rng.random(size), 0, 0
        if self.count("demonstrations"):
            shown = int((drawn < demonstration_share).sum())
        if self.count("best"):
            best = int((drawn < demonstration_share + best_share).sum()) - shown
        own = size - shown - best
        if not self.count("own"):
            shown, own = shown + own, 0
        if best and "best" not in self._pools:
            self._pools["best"] = self._stacked(self.best)
        numbers = {"demonstrations": shown, "best": best, "own": own}
        return _joined(
            [self._pools[kind].batch(rng, n, unroll) for kind, n in numbers.items() if n]
        )


def best_of(games: Iterable[Game], number: int) -> list[Game]:
    """The best `number` games, best first; of those with the same score (`SAME`) the first."""
    distinct: dict[int, Game] = {}
    for game in sorted(games, key=lambda game: -game.score):
        distinct.setdefault(round(game.score / SAME), game)
    return list(distinct.values())[:number]


def _joined(parts: Sequence[Batch]) -> Batch:
    return Batch(
        **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Batch)}
    )


def value_targets(game: Game, td_steps: int) -> Floats:
    """The value target of each move `[L]`: its n-step return.

    That is the sum of the next `td_steps` rewards and of the game's `value` at the move after them.
    """
    length = len(game.action)
    earned = np.concatenate([[0.0], np.cumsum(game.reward, dtype=np.float64)])
    values = np.append(game.value, 0.0)
    at = np.arange(length)
    end = np.minimum(at + td_steps, length)
    targets: Floats = (earned[end] - earned[at] + values[end]).astype(np.float32)
    return targets
