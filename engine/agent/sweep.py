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
from copy import copy
from dataclasses import InitVar, dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.agent.config import AgentConfig
from engine.agent.network import Params, is_drafts_own
from engine.agent.self_play import CHUNK, FREE
from engine.agent.types import Floats, Game
from engine.agent.workload import Workload, continued, one_of, play_script, position_in, split
from engine.game.jaxgame.env import Position
from engine.game.jaxgame.state import NOBODY
from engine.game.move_list import moves
from engine.game.moves import DROP
from engine.game.observation.static import NO_WISH

AHEAD = (2, 4, 8)
"""Chunks after the last deviation of a batch, by which it is seen which is ahead: in the first pass
over a game, the second, and from the third on. A pass is quicker the less it looks ahead."""
LEAST = 1e-4
"""Points that count as better; below is the rounding of sums."""
SHARP = 0.05
"""Points of disadvantage at which an action is wanted `e` times less."""

Deviation = tuple[int, int]
"""A move, and the action in place of the one that was played there."""


@dataclass(frozen=True)
class Found:
    """Games played equally far, to move `length`: the own one of a sweep, then `N` deviations.

    `scores` `[1 + N]`: points above the baseline, as far as they were played. `lost` `[N]`: what
    counts against each deviation besides. `game`: one of the games, by its number.
    """

    scores: NDArray[np.float64]
    lost: Floats
    length: int
    game: Callable[[int], Game]


@dataclass
class Sweep:
    """Where a sweep over a game of `L` moves stands; it is over when no deviation improves it.

    `game`: as far as it is known; after an improvement what follows is played anew, bit by bit.
    `next`: from where on deviations come next, and `judged`: how many were since the game last
    improved, both in cells of `advantages`, row by row. `taken` `[L]`: what is played again after a
    deviation; where it is `FREE` the prior decides. `advantages` `[L, A]`: points that each
    deviation is worth, as far as was looked ahead; NaN where it is not known.
    `before`: the best score of the games with which passes began; `is_changed`: in this pass.
    `stage`: how far is looked ahead, see `AHEAD`; at once as far as ever where that is the game.
    """

    game: Game
    next: int = 0
    judged: int = 0
    is_over: bool = False
    is_changed: bool = False
    stage: int = field(init=False)
    before: float = field(init=False)
    taken: NDArray[np.int32] = field(init=False)
    advantages: Floats = field(init=False)
    is_of_prior: InitVar[bool] = False

    def __post_init__(self, is_of_prior: bool) -> None:
        """Nothing is known yet; `is_of_prior`: the game is what the prior chooses without noise."""
        self.before = self.game.score
        self.stage = 0 if len(self.game.action) > AHEAD[-1] * CHUNK else len(AHEAD) - 1
        self.taken = np.full_like(self.game.action, FREE) if is_of_prior else self.game.action
        self.advantages = np.full(self.game.legal.shape, np.nan, np.float32)

    @property
    def is_whole(self) -> bool:
        """Whether the game is known to its end."""
        return len(self.game.action) == len(self.taken)

    def upcoming(self, most: int) -> list[Deviation]:
        """The next deviations in the order of their moves, `most` at most.

        None where the game must be known further first, or where the sweep is over.
        """
        others = self.game.legal.copy()
        others[np.arange(len(others)), self.game.action] = False
        cells = np.flatnonzero(others)
        ahead = cells[cells >= self.next]
        if not len(ahead) and self.is_whole:
            self._pass(others.size)
            ahead = cells
            # Looking ahead is not looking to the end: a pass may have been for nothing, or worse.
            is_futile = self.is_changed and self.game.score <= self.before + LEAST
            is_worse = is_futile and self.game.score < self.before - LEAST
            self.is_over = not len(cells) or is_worse or (not self.look_further() and is_futile)
            self.before, self.is_changed = max(self.before, self.game.score), False
        self.is_over |= self.is_whole and self.judged >= others.size
        if self.is_over:
            self.before = max(self.before, self.game.score)
            return []
        return [divmod(int(cell), others.shape[1]) for cell in ahead[:most]]

    @property
    def is_done(self) -> bool:
        """Whether no deviation is left, so that the sweep is over when `upcoming` is asked again.

        Not where the game turned out worse than it was before.
        """
        asked = copy(self)
        asked.upcoming(1)
        return asked.is_over and asked.game.score >= asked.before - LEAST

    def look_further(self) -> bool:
        """Look further ahead from now on, and judge all anew; False where it is the most."""
        if self.stage == len(AHEAD) - 1:
            return False
        self.stage, self.judged = self.stage + 1, 0
        return True

    def take(self, tried: Sequence[Deviation], found: Found) -> None:
        """Go on from the best of the games that were played: the own one, or one of `tried`."""
        worth = (found.scores[1:] - found.scores[0] - found.lost).astype(np.float32)
        if len(worth) and worth.max() > LEAST:
            best = int(np.argmax(worth))
            move, action = tried[best]
            self.game, self.judged, self.is_changed = found.game(1 + best), 0, True
            self.taken = self.taken.copy()
            self.taken[move] = action
            self.advantages[:] = np.nan
            self.next = (move + 1) * self.advantages.shape[1]
            return
        if found.length > len(self.game.action):
            self.game = found.game(0)
        for (move, action), advantage in zip(tried, worth, strict=True):
            self.advantages[move, action] = advantage
        if tried:
            move, action = tried[-1]
            self._pass(move * self.advantages.shape[1] + action + 1)

    def restart(self, game: Game, taken: NDArray[np.int32]) -> None:
        """Begin anew with a whole game, and what it has `taken`."""
        self.game, self.taken, self.before = game, taken, game.score
        self.next, self.judged, self.is_over, self.is_changed = 0, 0, False, False
        self.advantages[:] = np.nan

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


def steepest(workload: Workload, game: Game) -> int:
    """The move from which on a game loses most per move against what the draft wants of it.

    A long program's sweep begins there, for it may not come to its end. What is wanted and saves
    less than it might is lost, by a stall or because it is not had. 0 without a draft.
    """
    arena, length = workload.arena, len(game.action)
    wish, baseline = np.asarray(arena.known.wish)[:length], np.asarray(arena.baseline)
    saving = np.array([move.saving_s for move in moves(workload.program)]) / workload.point_s
    earned = game.reward + baseline[:length] - baseline[1 : length + 1]
    is_wanted = (wish != DROP) & (wish != NO_WISH)
    lost = np.where(is_wanted, np.maximum(saving - earned, 0.0), 0.0)
    after = np.cumsum(lost[::-1])[::-1][::CHUNK]
    return CHUNK * int(np.argmax(after / (length - CHUNK * np.arange(len(after)))))


def play_deviations(
    params: Params,
    workload: Workload,
    sweep: Sweep,
    tried: Sequence[Deviation],
    config: AgentConfig,
    go_on: Callable[[], bool] = lambda: True,
) -> Found | None:
    """The sweep's game, and its deviations, each from the first move on; fewer than `B` of them.

    All are played as far as the sweep looks `AHEAD` past the last deviation, or past what is known
    of the game where there is none, or to the end. Where they are not, what the next touches save
    of all that the game then has in fast memory, and a deviation has not, is lost to that, `[N]`.
    None if `go_on`, asked between chunks, says no.
    """
    game, together = sweep.game, config.self_play.games
    known, length = len(game.action), workload.num_moves
    first, furthest = (tried[0][0], tried[-1][0]) if tried else (known - 1, known)
    start = first // CHUNK * CHUNK
    script = np.repeat(sweep.taken[start:, None], together, axis=1)
    script[: known - start] = game.action[start:, None]
    for lane, (move, action) in enumerate(tried, 1):
        script[move - start, lane] = action
        script[move - start + 1 :, lane] = sweep.taken[move + 1 :]
    enough = furthest + 1 - start + AHEAD[sweep.stage] * CHUNK
    played = play_script(
        params,
        workload,
        script,
        config,
        go_on,
        positions=position_in(game, start // CHUNK, together),
        stops=lambda played: played >= enough,
        looks=not is_drafts_own(params),
    )
    if played is None:
        return None
    reached, count = start + len(played.moves.reward), 1 + len(tried)
    earned = played.moves.reward[:, :count].sum(axis=0, dtype=np.float64)
    lost = np.zeros(together, np.float32)
    if reached < length:
        lost = _missing(workload, played.end)
    return Found(
        scores=game.reward[:start].sum(dtype=np.float64) + earned,
        lost=lost[1:count],
        length=reached,
        game=lambda number: continued(game, one_of(played, number), start),
    )


def play_prefixes(
    params: Params,
    workload: Workload,
    sweep: Sweep,
    config: AgentConfig,
    go_on: Callable[[], bool] = lambda: True,
) -> list[tuple[Game, NDArray[np.int32]]] | None:
    """Whole games `[B]` with a prefix of what the sweep has taken, from none to all of it.

    Each comes with its prefix, `[L]`, else `FREE`. Who looks only some moves ahead may take what
    costs more later; what was taken before that is a gain still. None if `go_on`, asked between
    chunks, says no.
    """
    together, at = config.self_play.games, np.flatnonzero(sweep.taken != FREE)
    script = np.full((len(sweep.taken), together), FREE, np.int32)
    for lane in range(together):
        first = at[: round(len(at) * lane / max(1, together - 1))]
        script[first, lane] = sweep.taken[first]
    looks = not is_drafts_own(params)
    played = play_script(params, workload, script, config, go_on, looks=looks)
    return None if played is None else list(zip(split(played), script.T, strict=True))


def _missing(workload: Workload, end: Position) -> Floats:
    """Points that the next touches save of what the first position holds and each has not `[B]`."""
    table, density = end.state.table, np.asarray(workload.arena.known.density)
    held = np.where(table.is_live, table.group, NOBODY)
    rank = np.minimum(table.rank[0], len(density) - 1)
    worth = np.where(rank >= 0, density[rank] * table.size[0], 0.0)
    is_missing = (held[:, :, None] != held[0]).all(axis=1) & (held[0] != NOBODY)
    missing: Floats = (is_missing * worth).sum(axis=1).astype(np.float32)
    return missing
