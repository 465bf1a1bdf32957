"""Sweeps: every other action along a game, each played out by the real rules.

A *deviation* repeats a game up to a move, takes another legal action there, and leaves the rest to
the prior, which chooses without noise, but for the deviations that the game has later on, which are
taken again where they are allowed. Nothing is drawn by chance, so the difference of two scores
is what that action is worth: an exact advantage, where a learned value errs by more than most
actions differ. This is the rollout algorithm (Tesauro and Galperin 1996; Bertsekas 2020, "Rollout,
Policy Iteration, and Distributed Reinforcement Learning"): who goes on from the best game found is
never worse than the prior, and a game that no deviation improves is a local optimum.

Letters: `B` games played in step, `L` moves of a game.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field

import jax
import numpy as np
from numpy.typing import NDArray

from engine.agent.config import AgentConfig
from engine.agent.network import Params
from engine.agent.self_play import CHUNK, FREE, play_games
from engine.agent.types import Floats, Game
from engine.agent.workload import Workload, continued, positions_in, split

AHEAD = 8
"""Chunks after the last deviation of a batch: where none is ahead by then, none is played out."""
LEAST = 1e-4
"""Points that count as better; below is the rounding of sums."""

SHARP = 0.05
"""Points of disadvantage at which an action is wanted `e` times less."""

Deviation = tuple[int, int]
"""A move, and the action in place of the one that was played there."""


@dataclass
class Sweep:
    """Where a sweep over a game stands; it is over when no deviation improves the game.

    `next`: from where on deviations come next, and `judged`: how many were since the game last
    improved, both in cells of `advantages`, row by row.
    `taken`: what is played again after a deviation, `[L]`; where it is `FREE` the prior decides.
    `advantages` `[L, A]`: points that each deviation is worth, NaN where it is not known; those of
    a batch that was not played out are what they were at its end.
    """

    game: Game
    next: int = 0
    judged: int = 0
    is_over: bool = False
    taken: NDArray[np.int32] = field(init=False)
    advantages: Floats = field(init=False)
    is_of_prior: InitVar[bool] = False

    def __post_init__(self, is_of_prior: bool) -> None:
        """Nothing is known yet; `is_of_prior`: the game is what the prior chooses without noise."""
        self.taken = np.full_like(self.game.action, FREE) if is_of_prior else self.game.action
        self.advantages = np.full(self.game.legal.shape, np.nan, np.float32)

    def upcoming(self, most: int) -> list[Deviation]:
        """The next deviations in the order of their moves, `most` at most; none if it is over."""
        others = self.game.legal.copy()
        others[np.arange(len(others)), self.game.action] = False
        cells = np.flatnonzero(others)
        ahead = cells[cells >= self.next]
        if not len(ahead):
            self._pass(others.size)
            ahead = cells
        if not len(ahead) or self.judged >= others.size:
            self.is_over = True
            return []
        return [divmod(int(cell), others.shape[1]) for cell in ahead[:most]]

    def take(self, tried: Sequence[Deviation], advantages: Floats, games: Sequence[Game]) -> bool:
        """Note what `tried` are worth `[N]`, and go on from the best one; whether it is better.

        `games`: whole games of the deviations, none where no deviation was played out.
        """
        best = int(np.argmax(advantages)) if games else -1
        if games and advantages[best] > LEAST:
            move, action = tried[best]
            self.game, self.judged = games[best], 0
            self.taken = self.taken.copy()
            self.taken[move] = action
            self.advantages[:] = np.nan
            self.next = (move + 1) * self.advantages.shape[1] % self.advantages.size
            return True
        for (move, action), advantage in zip(tried, advantages, strict=True):
            self.advantages[move, action] = advantage
        move, action = tried[-1]
        self._pass(move * self.advantages.shape[1] + action + 1)
        return False

    def policy(self) -> Floats:
        """What the advantages say should be played, `[L, A]`: their softmax at `SHARP` points.

        The target that a learner takes from a sweep; sure of the action where nothing is known.
        """
        worth = self.advantages.copy()
        worth[np.arange(len(worth)), self.game.action] = 0.0
        weights = np.where(np.isnan(worth), 0.0, np.exp(np.minimum(worth, 0.0) / SHARP))
        policy: Floats = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
        return policy

    def _pass(self, end: int) -> None:
        """The cells up to `end` are judged."""
        self.judged += end - self.next
        self.next = end % self.advantages.size


def play_deviations(
    params: Params,
    workload: Workload,
    sweep: Sweep,
    tried: Sequence[Deviation],
    config: AgentConfig,
    go_on: Callable[[], bool] = lambda: True,
) -> tuple[Floats, list[Game]] | None:
    """What deviations from the sweep's game are worth `[N]`, in points, and the whole games.

    At most `B` at once. No games where none was ahead `AHEAD` chunks after the last deviation; the
    advantages are then those of that moment. None if `go_on`, asked between chunks, says no.
    """
    game, together = sweep.game, config.self_play.games
    start = tried[0][0] // CHUNK * CHUNK
    script = np.repeat(sweep.taken[start:, None], together, axis=1)
    for lane, (move, action) in enumerate(tried):
        script[: move - start, lane] = game.action[start:move]
        script[move - start, lane] = action
    script[:, len(tried) :] = game.action[start:, None]
    before = np.cumsum(game.reward[start:], dtype=np.float64)
    decided = tried[-1][0] - start + AHEAD * CHUNK

    def none_is_ahead(earned: Floats) -> bool:
        """Whether to stop, by what was `earned` so far `[moves, B]`."""
        if not decided <= len(earned) < len(before):
            return False
        sums = earned[:, : len(tried)].sum(axis=0, dtype=np.float64)
        return bool(np.all(sums <= before[len(earned) - 1] + LEAST))

    played = play_games(
        params,
        workload.arena,
        positions_in([game] * together, start // CHUNK),
        jax.random.key(0),
        np.zeros((together, 1), np.float32),
        script,
        config.search,
        go_on,
        grows=False,
        stops=none_is_ahead,
    )
    if played is None:
        return None
    earned = played.moves.reward[:, : len(tried)]
    sums = earned.sum(axis=0, dtype=np.float64)
    advantages = (sums - before[len(earned) - 1]).astype(np.float32)
    if len(earned) < len(script):
        return advantages, []
    return advantages, [continued(game, some, start) for some in split(played)[: len(tried)]]
