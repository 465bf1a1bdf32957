"""Games that the learner samples from: the agent's own, the best of them, and demonstrations.

All games of one memory belong to one program, so they have equally many moves and lie stacked in
arrays. Letters: `L` moves, `U` unrolled steps, `B` sampled positions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.agent.types import Batch
from engine.game.env import Position
from engine.game.genome import Genes

Floats = NDArray[np.float32]
WIN = 5.0
"""Points of a game that beats the agent's average."""
AVERAGE_DECAY = 0.98
"""Per game, of the average of own scores."""
NICHE = 0.01
"""Points; of the best games one is kept for each multiple of it."""
PROGRESS = 0.1
"""Points by which a family has to get better, or it is stale."""
REUNITED_EVERY = 3
"""Families; two new champions then have something to add to the others."""
Kind = Literal["fresh", "shaken", "reunited"]
"""How a family begins: from nothing, near a champion, or with all of these."""
SAME = 1e-3
"""Points; games whose scores are nearer than that are equally good: sums of rounded rewards."""


class Parent(Protocol):
    """What has to be known of a game from which others descend.

    `seen`: the nearest ancestor, or the game itself, whose positions the agent saw; the same as its
    own before and at move `sees_up_to`.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def seen(self) -> Game: ...
    @property
    def action(self) -> NDArray[np.int32]: ...  # [L]
    @property
    def genes(self) -> Genes: ...  # [L]
    @property
    def score(self) -> float: ...
    @property
    def sees_up_to(self) -> int: ...


@dataclass
class Game:
    """One game; rewards and values in points above par. `score`: their sum, of the whole game.

    `greedy`: what the greedy player would have done. `genes`: the word (`engine.game.scripts`) that
    led to each move, or would have, were it legal.
    `trail`: positions on the way, on the host (`engine.agent.self_play.Played`).
    """

    view: NDArray[np.float16]  # [L, NUM_VIEW]
    legal: NDArray[np.bool_]  # [L, A]
    action: NDArray[np.int32]  # [L]
    policy: Floats  # [L, A]
    value: Floats  # [L]
    reward: Floats  # [L]
    greedy: NDArray[np.int8]  # [L]
    genes: Genes  # [L]
    trail: Position | None = None  # [L / CHUNK, ...]
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

    @property
    def seen(self) -> Game:
        """Itself."""
        return self

    @property
    def sees_up_to(self) -> int:
        """All of its positions were seen."""
        return len(self.action)


Some = TypeVar("Some", bound=Parent)


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
            "reward": game.reward if game.outcome is None else np.zeros_like(game.reward),
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
class Replay:
    """The last `capacity` own games, the best `num_best` of a family, and the demonstrations.

    Good games descend from one another; a family that has not got better for some time makes room
    for a new one and leaves a champion (`champions`: best first). The first `num_fresh` families
    and every `fresh_every`-th have no ancestors; of the others every `REUNITED_EVERY`-th reunites
    the champions, if they are `is_reuniting`. `td_steps`: rewards in a value target before the
    search's value takes over.
    `is_competing`: games are judged by whether they beat the `average` of the agent's own scores.
    `stale`: rounds since the family's best game was better than its `mark`, the score before, by at
    least `PROGRESS`. `began`: the round since which own games are remembered.
    """

    capacity: int
    num_best: int
    td_steps: int
    is_competing: bool = False
    num_fresh: int = 1
    fresh_every: int = 1
    is_reuniting: bool = False
    average: float | None = None
    shown: tuple[Game, ...] = ()
    best: tuple[Game, ...] = ()
    champions: tuple[Game, ...] = ()
    stale: int = 0
    mark: float = -np.inf
    began: int = 0
    _pools: dict[str, Pool] = field(default_factory=dict)

    @property
    def top(self) -> Game | None:
        """The best own game of all families; None before the first."""
        some = (*self.champions[:1], *self.best[:1])
        return max(some, key=lambda game: game.score, default=None)

    @property
    def top_score(self) -> float:
        """Its score, or minus infinity."""
        return -np.inf if self.top is None else self.top.score

    def count(self, kind: str) -> int:
        """Games of a kind: `own`, `best` or `shown`."""
        return len(self._pools.get(kind, ()))

    def show(self, games: Sequence[Game]) -> None:
        """Take in demonstrations in place of earlier ones; where the agent competes they win."""
        self.shown = tuple(
            replace(game, outcome=WIN if self.is_competing else None) for game in games
        )
        self._pools["shown"] = _stacked(self.shown, self.td_steps)

    def add(self, games: Sequence[Game], drifted: Sequence[Game] = ()) -> None:
        """Take in the own games of a round, in this order.

        `drifted`: games of before with other genomes that come to the same.
        """
        self._judge(games)
        self.add_old(games)
        # What made a game good is what was played in it, noise included.
        fresh = (replace(game, policy=game.played) for game in games)
        self.keep_best([*self.best, *drifted, *fresh])
        self.stale += 1
        if self.best[0].score > self.mark + PROGRESS:
            self.stale, self.mark = 0, self.best[0].score

    @property
    def num_returned(self) -> int:
        """Families that ended as well as the best of all, to within `PROGRESS`, by other games."""
        least = max((game.score for game in self.champions), default=0.0) - PROGRESS
        ends = {game.action.tobytes() for game in self.champions if game.score >= least}
        return max(0, len(ends) - 1)

    @property
    def kind(self) -> Kind:
        """How the family began, by how many there were before."""
        number = len(self.champions)
        if number < self.num_fresh or number % self.fresh_every == 0:
            return "fresh"
        is_turn = number % REUNITED_EVERY == 0
        return "reunited" if is_turn and self.is_reuniting else "shaken"

    def begin_family(self, number: int) -> None:
        """A new family in round `number`, without games as yet, or of the champions reunited.

        What has no ancestors does not learn from own games of before either: else it soon plays the
        same again.
        """
        ranked = sorted((*self.champions, *self.best[:1]), key=lambda game: -game.score)
        self.champions = tuple(ranked)
        self.stale, self.mark = 0, -np.inf
        self.set_best(fittest(ranked, self.num_best) if self.kind == "reunited" else [])
        if self.kind == "fresh":
            self._pools.pop("own", None)
            self.began = number

    def add_old(self, games: Sequence[Game]) -> None:
        """Take in own games that were judged before."""
        own = self._pools.setdefault("own", Pool(self.capacity, self.td_steps))
        for game in games:
            own.add(game)

    def keep_best(self, games: Iterable[Game]) -> None:
        """Remember the fittest of these games."""
        self.set_best(fittest(games, self.num_best))

    def set_best(self, games: Iterable[Game]) -> None:
        """Remember these as the best, the best of them first."""
        self.best = tuple(games)
        self._pools.pop("best", None)
        if self.best:
            self._pools["best"] = _stacked(self.best, self.td_steps)

    def _judge(self, games: Sequence[Game]) -> None:
        """Where the agent competes with itself: each game against the average before it."""
        for game in games if self.is_competing else ():
            average = game.score if self.average is None else self.average
            game.outcome = WIN if game.score >= average else -WIN
            self.average = AVERAGE_DECAY * average + (1 - AVERAGE_DECAY) * game.score

    def sample(
        self,
        rng: np.random.Generator,
        size: int,
        unroll: int,
        best_share: float = 0.0,
        shown_share: float = 0.0,
    ) -> Batch:
        """`size` positions, the given shares of them from the best games and demonstrations.

        Where there are no games of a kind, others take their place; there must be some.
        """
        drawn = rng.random(size)
        shown = int((drawn < shown_share).sum()) if self.count("shown") else 0
        best = int((drawn < shown_share + best_share).sum()) - shown if self.count("best") else 0
        own = size - shown - best
        if not self.count("own"):
            shown, own = shown + own, 0
        numbers = {"shown": shown, "best": best, "own": own}
        return _joined(
            [self._pools[kind].batch(rng, n, unroll) for kind, n in numbers.items() if n]
        )


def fittest(games: Iterable[Some], number: int) -> list[Some]:
    """The best games, one of each niche, best first; of equals the last that differs.

    So genomes drift: words that change nothing now may open a way later.
    """
    found: dict[int, Some] = {}
    for game in games:
        niche = round(game.score / NICHE)
        rival = found.get(niche)
        if rival is None or game.score > rival.score + SAME:
            found[niche] = game
        elif game.score > rival.score - SAME:
            is_same = np.array_equal(game.action, rival.action)
            found[niche] = replace(rival, genes=game.genes) if is_same else game
    return sorted(found.values(), key=lambda game: -game.score)[:number]


def _stacked(games: Sequence[Game], td_steps: int) -> Pool:
    pool = Pool(len(games), td_steps)
    for game in games:
        pool.add(game)
    return pool


def _joined(parts: Sequence[Batch]) -> Batch:
    return Batch(
        **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Batch)}
    )


def value_targets(game: Game, td_steps: int) -> Floats:
    """Of each move `[L]`: the next `td_steps` rewards and the search's value after them.

    Where the agent competes with itself, the outcome of the game.
    """
    length = len(game.action)
    if game.outcome is not None:
        return np.full(length, game.outcome, np.float32)
    earned = np.concatenate([[0.0], np.cumsum(game.reward, dtype=np.float64)])
    values = np.append(game.value, 0.0)
    at = np.arange(length)
    end = np.minimum(at + td_steps, length)
    found: Floats = (earned[end] - earned[at] + values[end]).astype(np.float32)
    return found
