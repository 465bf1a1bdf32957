"""Scouts: games that follow their genomes to the word, without asking the networks.

A scout costs a fraction of a game in which the agent decides, for nobody looks at its positions.
Letters: `B` scouts, `L` moves, `C` chunks of moves, `S` numbers of a state
(`engine.game.state.packed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np
from numpy.typing import NDArray

from engine.agent.replay_buffer import Game
from engine.agent.self_play import CHUNK
from engine.agent.workload import Workload
from engine.game.batch import first_row, play_words
from engine.game.genome import Genes
from engine.game.scripts import EARN
from engine.game.state import packed

Actions = NDArray[np.int32]  # [L]
_packed = jax.jit(packed)


@dataclass(frozen=True)
class Scout:
    """A game from which others can go on.

    `seen`: the nearest ancestor whose positions the agent saw, the same as its own before and at
    move `sees_up_to`; what it sees later on is taken to be much the same. `trail`: states before
    each chunk; `earned`: points above par until then, and in the end.
    """

    seen: Game
    sees_up_to: int
    genes: Genes  # [L]
    action: Actions
    trail: NDArray[np.int32]  # [C, S]
    earned: NDArray[np.float64]  # [C + 1]

    @property
    def score(self) -> float:
        """Points above par."""
        return float(self.earned[-1])


@dataclass(frozen=True)
class Legs:
    """Games in step from chunk `first` to the end, which began like the `parents`.

    `states`: before each chunk from `first` on.
    """

    parents: Sequence[Scout]
    genes: NDArray[np.int8]  # [B, L]
    first: int
    actions: NDArray[np.int32]  # [B, L]
    earned: NDArray[np.float64]  # [C + 1, B]
    states: NDArray[np.int32]  # [C - first, B, S]

    def scout(self, index: int) -> Scout:
        """One of the games."""
        old, action = self.parents[index], self.actions[index]
        differs = action != old.action
        parted = int(differs.argmax()) if differs.any() else len(action)
        trail = old.trail.copy()
        trail[self.first :] = self.states[:, index]
        return Scout(
            seen=old.seen,
            sees_up_to=min(old.sees_up_to, parted),
            genes=self.genes[index],
            action=action,
            trail=trail,
            earned=self.earned[:, index],
        )


def play_legs(
    workload: Workload, parents: Sequence[Scout], genes: NDArray[np.int8], first: int
) -> Legs:
    """Let games go on from before chunk `first` of their parents, as the genomes `[B, L]` say."""
    arena, chunks = workload.arena, chunks_of(workload)
    words = np.full((arena.encoded.moves.shape[0], len(genes)), EARN, np.int8)
    words[: workload.num_moves] = genes.T
    found = jax.device_get(
        play_words(
            arena.encoded,
            np.stack([parent.trail[first] for parent in parents]),
            np.zeros(len(genes), np.int32),
            words,
            np.int32(first),
            CHUNK,
        )
    )
    actions = np.stack([parent.action for parent in parents])
    played = slice(first * CHUNK, workload.num_moves)
    actions[:, played] = found.actions[played].T
    earned = np.stack([parent.earned for parent in parents], axis=1)
    # Moves are padded to a length that need not be whole chunks.
    marks = np.minimum(np.arange(first, chunks + 1) * CHUNK, len(arena.par) - 1)
    par = np.asarray(arena.par, np.float64)[marks]
    ticks = np.concatenate([found.ticks_before[first:chunks], found.ticks[None]])
    points = ticks / float(arena.known.point_ticks)
    earned[first:] = earned[first] + points - (par[0] - par)[:, None]
    return Legs(parents, genes, first, actions, earned, found.states[first:chunks])


def chunks_of(workload: Workload) -> int:
    """In how many chunks its moves are played."""
    return -(-workload.num_moves // CHUNK)


def scout_of(game: Game) -> Scout:
    """A game that the agent saw, as a parent of scouts."""
    assert game.trail is not None
    length = len(game.action)
    before = np.concatenate([[0.0], np.cumsum(game.reward, dtype=np.float64)])
    earned = np.append(before[:-1:CHUNK], game.score)
    trail = np.asarray(_packed(game.trail.state))
    return Scout(game, length, game.genes, game.action, trail, earned)


def strangers(workload: Workload, games: Sequence[Game]) -> list[Scout]:
    """Games of which nothing shall be kept but the genomes; children begin at the first move."""
    chunks = chunks_of(workload)
    trail = np.repeat(first_row(workload.arena.encoded), chunks, axis=0)
    # No score, and nothing seen: nobody is compared with them.
    earned = np.append(np.zeros(chunks), np.nan)
    return [Scout(game, -1, game.genes, game.action, trail, earned) for game in games]
