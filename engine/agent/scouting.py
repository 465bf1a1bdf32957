"""Scouts: games that follow their genomes to the word, without asking the networks.

A scout costs a fraction of a game in which the agent decides, for nobody looks at its positions. A
band of scouts goes out for some generations, each from the best of those before; what is worth
remembering in the end is gone through again. Letters: `B` scouts, `L` moves, `C` chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from engine.agent.breeding import children_of, drawn, drawn_start, guests_of
from engine.agent.comparison import Columns, joined, pairs_of
from engine.agent.config import PracticeConfig
from engine.agent.leaning import shaken
from engine.agent.network import Params
from engine.agent.replay import Game, fittest
from engine.agent.selfplay import CHUNK, wildness
from engine.agent.workload import FOLLOWERS, Workload, follow
from engine.game.batch import Words, play_words
from engine.game.genome import Genes, Rng
from engine.game.scripts import EARN
from engine.game.state import State, initial_state

HARDER, HARDEST = 1.25, 0.4
"""Each family that came back to the best champion makes shaking so much harder, up to that share of
the moves (as the neighbourhoods of variable neighbourhood search, Mladenović and Hansen 1997)."""
Actions = NDArray[np.int32]  # [L]


@dataclass(frozen=True)
class Outcome:
    """What came of a round's games: `actions` and `scores` of all, and what shall be remembered.

    `games`: new ones, with what the agent saw. `drifted`: good ones of before with other genomes
    that come to the same. `pairs`: what comparing games with their parents says.
    """

    actions: list[Actions]
    scores: list[float]
    games: list[Game]
    drifted: list[Game]
    pairs: Columns


@dataclass(frozen=True)
class Scout:
    """A good game of a scout, from which others can go on.

    `seen`: the nearest ancestor whose positions the agent saw, the same as its own before and at
    move `sees_up_to`; what it sees later on is taken to be much the same. `trail`, `earned`: state
    before each chunk, and points above par until then.
    """

    seen: Game
    sees_up_to: int
    genes: Genes  # [L]
    action: Actions
    score: float
    trail: State  # [C, ...]
    earned: NDArray[np.float64]  # [C]

    @property
    def view(self) -> NDArray[np.float16]:
        """What the ancestor saw, `[L, NUM_VIEW]`."""
        return self.seen.view

    @property
    def legal(self) -> NDArray[np.bool_]:
        """What was legal there, `[L, A]`."""
        return self.seen.legal


@dataclass(frozen=True)
class Avoided:
    """A game, and the least share of its moves in which another has to differ from it."""

    game: Game
    least: float

    def is_far(self, action: Actions) -> bool:
        """Whether a game with these actions is another one."""
        return float(np.mean(action != self.game.action)) >= self.least


@dataclass
class Band:
    """The scouts of a round. `best`: of them and of the games so far, the best of them first."""

    workload: Workload
    batch: int
    best: list[Scout]
    actions: list[Actions] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    pairs: list[Columns] = field(default_factory=list)

    def send(
        self,
        parents: Sequence[Scout],
        start: int,
        genes: NDArray[np.int8],
        avoided: Avoided | None = None,
    ) -> None:
        """Play games with the genomes `[B, L]`, `B` a multiple of `batch`, of which the best stay.

        They begin like their parents, before move `start`. Games that are too near to what is
        `avoided` do not stay, unless all are.
        """
        young = []
        for begin in range(0, len(genes), self.batch):
            some = slice(begin, begin + self.batch)
            young += self._play(parents[some], start, genes[some])
        if avoided:
            young = [one for one in young if avoided.is_far(one.action)] or young
        self.best = fittest([*self.best, *young], self.workload.replay.num_best)

    def _play(self, parents: Sequence[Scout], start: int, genes: NDArray[np.int8]) -> list[Scout]:
        """Those that may be among the best."""
        workload, first = self.workload, start // CHUNK
        arena, length = workload.arena, workload.num_moves
        words = np.full((arena.encoded.moves.shape[0], len(genes)), EARN, np.int8)
        words[:length] = genes.T
        begun = jax.tree.map(
            lambda *some: jnp.asarray(np.stack([column[first] for column in some])),
            *(parent.trail for parent in parents),
        )
        nothing = jnp.zeros(len(genes), jnp.int32)
        found = jax.device_get(
            play_words(arena.encoded, begun, nothing, jnp.asarray(words), jnp.int32(first), CHUNK)
        )
        actions = found.actions[:length].T.astype(np.int32)
        for action, parent in zip(actions, parents, strict=True):
            action[:start] = parent.action[:start]
        earned = self._earned(parents, first, found)
        scores = earned[-1].tolist()
        self.actions += list(actions)
        self.scores += scores
        self.pairs.append(pairs_of(parents, actions, scores))
        size = workload.replay.num_best
        least = self.best[-1].score if len(self.best) >= size else -np.inf
        return [
            _born(parents[k], first, genes[k], actions[k], earned[:, k], found, k)
            for k in np.argsort(-earned[-1], kind="stable")
            if scores[k] >= least
        ]

    def _earned(self, parents: Sequence[Scout], first: int, found: Words) -> NDArray[np.float64]:
        """Points above par before each chunk and in the end, `[C + 1, B]`."""
        par = np.asarray(self.workload.arena.par, np.float64)
        before = np.stack([parent.earned[first] for parent in parents])
        ticks = np.concatenate([found.ticks_before, found.ticks[None]])
        left = np.append(par[: len(found.ticks_before) * CHUNK : CHUNK], 0.0)
        points = ticks / float(self.workload.arena.known.point_ticks)
        found_points: NDArray[np.float64] = before + points - par[first * CHUNK] + left[:, None]
        return found_points

    def outcome(self, params: Params) -> Outcome:
        """What the band brings home; of what is new the best games are gone through again."""
        known = {game.action.tobytes(): game for game in self.workload.replay.best}
        new: list[Scout] = []
        drifted = []
        for one in self.best:
            if (same := known.get(one.action.tobytes())) is not None:
                drifted.append(replace(same, genes=one.genes))
            elif len(new) < FOLLOWERS:
                new.append(one)
        games = follow(self.workload, params, [one.action for one in new])
        # Nobody searched, so there is no policy to learn from, unless the game is one of the best.
        games = [
            replace(game, genes=one.genes, policy=np.zeros_like(game.policy))
            for game, one in zip(games, new, strict=True)
        ]
        return Outcome(self.actions, self.scores, games, drifted, joined(self.pairs))


def _born(
    parent: Scout,
    first: int,
    genes: Genes,
    action: Actions,
    earned: NDArray[np.float64],
    found: Words,
    index: int,
) -> Scout:
    """The game `index` of those that were found."""
    differs = action != parent.action
    parted = int(differs.argmax()) if differs.any() else len(action)

    def continued(before: NDArray[np.generic], after: NDArray[np.generic]) -> NDArray[np.generic]:
        return np.concatenate([before[:first], after[first : len(before), index]])

    return Scout(
        seen=parent.seen,
        sees_up_to=min(parent.sees_up_to, parted),
        genes=genes,
        action=action,
        score=float(earned[-1]),
        trail=jax.tree.map(continued, parent.trail, found.states),
        earned=np.concatenate([parent.earned[:first], earned[first : len(parent.earned)]]),
    )


def scout_of(game: Game) -> Scout:
    """A game that the agent saw, as a parent of scouts."""
    assert game.trail is not None
    length = len(game.action)
    before = np.concatenate([[0.0], np.cumsum(game.reward, dtype=np.float64)])
    return Scout(
        game, length, game.genes, game.action, game.score, game.trail.state, before[:-1:CHUNK]
    )


def _strangers(workload: Workload, games: Sequence[Game]) -> list[Scout]:
    """Games of which nothing shall be kept but the genomes; children begin at the first move."""
    start = initial_state(workload.arena.encoded)
    chunks = -(-workload.num_moves // CHUNK)
    trail = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (chunks, *leaf.shape)), start)
    # No score, and nothing seen: nobody is compared with them.
    return [
        Scout(game, -1, game.genes, game.action, np.nan, trail, np.zeros(chunks)) for game in games
    ]


def _band(workload: Workload, practice: PracticeConfig) -> Band:
    return Band(workload, practice.scouts, [scout_of(game) for game in workload.replay.best])


def send_scouts(
    workload: Workload, params: Params, practice: PracticeConfig, rng: Rng, guests: Sequence[Game]
) -> Outcome:
    """A round of scouts; the first generation descends from the guests, if there are any."""
    band = _band(workload, practice)
    wild = wildness(practice.scouts)
    for _ in range(practice.generations):
        if guests:
            genes = guests_of(workload, practice, rng, [game.genes for game in guests], wild)
            band.send(_strangers(workload, guests), 0, genes)
            guests = []
            continue
        parents, start = drawn(band.best, practice.scouts, rng), drawn_start(workload, rng)
        genes = children_of(workload, params, practice, rng, parents, start, wild)
        band.send(parents, start, genes)
    return band.outcome(params)


def shake(workload: Workload, params: Params, practice: PracticeConfig, rng: Rng) -> Outcome:
    """The first round of a family with ancestors: scouts far from a champion, but not too far.

    As in iterated local search (Lourenço, Martin and Stützle 2003): what is good about the champion
    is mostly kept, and practice leads elsewhere than back.
    """
    band = _band(workload, practice)
    (champion,) = drawn(workload.replay.champions, 1, rng)
    share = float(np.exp(rng.uniform(*np.log(practice.shaken))))
    share = min(HARDEST, share * HARDER**workload.replay.num_returned)
    number = practice.scouts * practice.generations
    genes = shaken(rng, workload.layout, champion.genes, number, share, workload.relaxed)
    band.send(_strangers(workload, [champion]) * number, 0, genes, Avoided(champion, share))
    return band.outcome(params)
