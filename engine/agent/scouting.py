"""Scouts: games that follow their genomes to the word, without asking the networks.

A scout costs a fraction of a game in which the agent decides, for nobody looks at its positions.
What is worth remembering is gone through again. Letters: `B` scouts, `L` moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from engine.agent.network import Params
from engine.agent.replay import Game
from engine.agent.selfplay import CHUNK, first_positions
from engine.agent.workload import FOLLOWERS, Workload, follow, positions_in
from engine.game.batch import play_words
from engine.game.scripts import EARN

Actions = NDArray[np.int32]  # [L]


@dataclass(frozen=True)
class Outcome:
    """What came of a round's games: `actions` and `scores` of all, and what shall be remembered.

    `games`: new ones, with what the agent saw. `drifted`: good ones of before with other genomes
    that come to the same.
    """

    actions: list[Actions]
    scores: list[float]
    games: list[Game]
    drifted: list[Game]


@dataclass(frozen=True)
class Avoided:
    """A game, and the least share of its moves in which another has to differ from it."""

    game: Game
    least: float

    def is_far(self, action: Actions) -> bool:
        """Whether a game with these actions is another one."""
        return float(np.mean(action != self.game.action)) >= self.least


def send_scouts(
    workload: Workload,
    params: Params,
    parents: Sequence[Game],
    start: int,
    genes: NDArray[np.int8],
    avoided: Avoided | None = None,
) -> Outcome:
    """Play games with the genomes `[B, L]`; of the good new ones a few are gone through again.

    They begin like their parents, before move `start`; without parents at the first move. Games
    that are too near to what is `avoided` are not remembered, unless all are.
    """
    actions, scores = _scout(workload, parents, start, genes)
    known = {game.action.tobytes(): game for game in workload.replay.best}
    found: dict[bytes, int] = {}
    drifted = []
    wanted = workload.replay.would_keep(scores)
    if avoided:
        wanted = [index for index in wanted if avoided.is_far(actions[index])] or wanted
    for index in wanted:
        same = actions[index].tobytes()
        if same in known:
            drifted.append(replace(known[same], genes=genes[index]))
        elif len(found) < FOLLOWERS:
            found.setdefault(same, index)
    new = list(found.values())
    some = [parents[index] for index in new] if parents else []
    games = follow(workload, params, [actions[index] for index in new], some, start)
    # Nobody searched, so there is no policy to learn from, unless the game is one of the best.
    games = [
        replace(game, genes=genes[index], policy=np.zeros_like(game.policy))
        for game, index in zip(games, new, strict=True)
    ]
    return Outcome(actions, scores, games, drifted)


def _scout(
    workload: Workload, parents: Sequence[Game], start: int, genes: NDArray[np.int8]
) -> tuple[list[Actions], list[float]]:
    arena, length = workload.arena, workload.num_moves
    begun = positions_in(parents, start // CHUNK) if parents else first_positions(arena, len(genes))
    words = np.full((arena.encoded.moves.shape[0], len(genes)), EARN, np.int8)
    words[:length] = genes.T
    played, ticks = play_words(arena.encoded, begun.state, jnp.asarray(words), jnp.int32(start))
    actions = np.asarray(played)[:length].T.astype(np.int32)
    par = float(np.asarray(arena.par)[start])
    scores = np.asarray(ticks) / float(arena.known.point_ticks) - par
    for index, parent in enumerate(parents):
        actions[index, :start] = parent.action[:start]
        scores[index] += parent.reward[:start].sum()
    return list(actions), scores.tolist()
