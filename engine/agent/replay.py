"""Games that the learner samples from: the agent's own, and demonstrations.

All games of one memory belong to one program, so they have equally many moves. Letters: `L` moves,
`U` unrolled steps, `B` sampled positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
WIN = 5.0
"""Points of a game that beats the agent's average."""
AVERAGE_DECAY = 0.98
"""Per game, of the average of own scores."""


@dataclass
class Game:
    """One game; rewards and values in points above par. `score`: their sum, of the whole game."""

    observation: NDArray[np.float16]  # [L, SIZE]
    legal: NDArray[np.bool_]  # [L, A]
    action: NDArray[np.int32]  # [L]
    policy: Floats  # [L, A]
    value: Floats  # [L]
    reward: Floats  # [L]
    is_demonstration: bool = False
    outcome: float | None = None
    """Where the agent competes with itself: `WIN` or `-WIN`, the value of all its positions."""

    @property
    def played(self) -> Floats:
        """The actions as a policy that is sure of them, `[L, A]`."""
        sure: Floats = np.eye(self.policy.shape[1], dtype=np.float32)[self.action]
        return sure

    @property
    def score(self) -> float:
        """Points above par."""
        return float(self.reward.sum())


@dataclass(frozen=True)
class Batch:
    """Positions to learn from; `[B, U + 1, ...]`, rewards and actions `[B, U]`.

    `weight`: 0 past the end of a game. `policy_weight` is 0 as well where no choice was left.
    """

    observation: NDArray[np.float16]  # [B, U + 1, SIZE]
    move: NDArray[np.int32]  # [B]
    action: NDArray[np.int32]  # [B, U]
    reward: Floats  # [B, U]
    policy: Floats  # [B, U + 1, A]
    legal: NDArray[np.bool_]  # [B, U + 1, A]
    value: Floats  # [B, U + 1]
    weight: Floats  # [B, U + 1]
    policy_weight: Floats  # [B, U + 1]


@dataclass
class Replay:
    """The last `capacity` own games, the best `num_best` ever, and the demonstrations.

    `td_steps`: rewards in a value target before the search's value takes over. `is_competing`:
    games are judged by whether they beat the `average` of the agent's own scores.
    """

    capacity: int
    num_best: int
    td_steps: int
    is_competing: bool = False
    average: float | None = None
    games: list[Game] = field(default_factory=list)
    best: list[Game] = field(default_factory=list)
    demonstrations: list[Game] = field(default_factory=list)

    @property
    def top_score(self) -> float:
        """Score of the best own game; minus infinity before the first."""
        return self.best[0].score if self.best else -np.inf

    def add(self, game: Game) -> None:
        """Take in a game; the oldest makes room."""
        if self.is_competing:
            self._judge(game)
        if game.is_demonstration:
            self.demonstrations.append(game)
            return
        self.games.append(game)
        del self.games[: -self.capacity]
        self._keep_best(game)

    def _judge(self, game: Game) -> None:
        """Demonstrations count as won or lost, but do not move the average."""
        average = game.score if self.average is None else self.average
        game.outcome = WIN if game.score >= average else -WIN
        if not game.is_demonstration:
            self.average = AVERAGE_DECAY * average + (1 - AVERAGE_DECAY) * game.score

    def _keep_best(self, game: Game) -> None:
        is_known = any(np.array_equal(game.action, other.action) for other in self.best)
        if is_known or (len(self.best) >= self.num_best and game.score <= self.best[-1].score):
            return
        # What made the game good is what was played in it, noise included.
        self.best.append(replace(game, policy=game.played))
        self.best.sort(key=lambda g: -g.score)
        del self.best[self.num_best :]

    def sample(
        self,
        rng: np.random.Generator,
        size: int,
        unroll: int,
        best_share: float = 0.0,
        demonstration_share: float = 0.0,
    ) -> Batch:
        """`size` positions, the given shares of them from the best games and demonstrations."""
        picked = []
        for draw in rng.random(size):
            pool = self.games
            if self.demonstrations and draw < demonstration_share:
                pool = self.demonstrations
            elif self.best and draw < demonstration_share + best_share:
                pool = self.best
            pool = pool or self.demonstrations
            game = pool[int(rng.integers(len(pool)))]
            picked.append((game, int(rng.integers(len(game.action)))))
        return self._batch(picked, unroll)

    def _batch(self, picked: list[tuple[Game, int]], unroll: int) -> Batch:
        steps = np.arange(unroll + 1)
        rows = []
        for game, start in picked:
            at = start + steps
            inside = at < len(game.action)
            at = np.minimum(at, len(game.action) - 1)
            choice = inside & (game.legal[at].sum(axis=1) > 1)
            target = value_targets(game, at, self.td_steps) * inside
            rows.append((game, at, inside, choice, target))
        return Batch(
            observation=np.stack([g.observation[at] for g, at, *_ in rows]),
            move=np.array([start for _, start in picked], np.int32),
            action=np.stack([g.action[at[:-1]] for g, at, *_ in rows]),
            reward=np.stack([_rewards(g)[at[:-1]] * i[:-1] for g, at, i, *_ in rows]),
            policy=np.stack([g.policy[at] for g, at, *_ in rows]),
            legal=np.stack([g.legal[at] for g, at, *_ in rows]),
            value=np.stack([t for *_, t in rows]).astype(np.float32),
            weight=np.stack([i for _, _, i, *_ in rows]).astype(np.float32),
            policy_weight=np.stack([c for *_, c, _ in rows]).astype(np.float32),
        )


def _rewards(game: Game) -> Floats:
    return game.reward if game.outcome is None else np.zeros_like(game.reward)


def value_targets(game: Game, at: NDArray[np.int_], td_steps: int) -> Floats:
    """Rewards of the next `td_steps` moves plus the search's value after them, or the outcome."""
    if game.outcome is not None:
        return np.full(len(at), game.outcome, np.float32)
    earned = np.concatenate([[0.0], np.cumsum(game.reward, dtype=np.float64)])
    values = np.append(game.value, 0.0)
    end = np.minimum(at + td_steps, len(game.action))
    found: Floats = (earned[end] - earned[at] + values[end]).astype(np.float32)
    return found
