"""Bands of scouts (`engine.agent.scout`): many games without the networks, one learning of them.

A band goes out for some generations, each from the best games of those before; what is worth
remembering in the end is gone through again. Letters as there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from engine.agent.breeding import children_of, drawn, drawn_start, first_genomes, varied_anywhere
from engine.agent.comparison import Columns, joined, pairs_of
from engine.agent.config import PracticeConfig
from engine.agent.judge import Judge
from engine.agent.leaning import NONE, shaken
from engine.agent.network import Params
from engine.agent.replay_buffer import Game, fittest
from engine.agent.scout import Actions, Scout, play_legs, scout_of, strangers
from engine.agent.self_play import CHUNK, wildness
from engine.agent.workload import FOLLOWERS, Workload, follow
from engine.game.genome import Rng
from engine.game.scripts import EARN

HARDER, HARDEST = 1.25, 0.4
"""Each other champion as good as the best one makes shaking so much harder, up to that share of the
moves (as the neighbourhoods of variable neighbourhood search, Mladenović and Hansen 1997)."""


@dataclass(frozen=True)
class Outcome:
    """What came of a round's games: `actions` and `scores` of all, and what shall be remembered.

    Scores are points above par. `games`: new ones, with what the agent saw. `drifted`: good ones of
    before with other genomes that come to the same. `pairs`: what comparing games with their
    parents says.
    """

    actions: list[Actions]
    scores: list[float]
    games: list[Game]
    drifted: list[Game]
    pairs: Columns


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
    best: list[Scout]
    actions: list[Actions] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    pairs: list[Columns] = field(default_factory=list)

    def send(self, parents: Sequence[Scout], start: int, genes: NDArray[np.int8]) -> list[Scout]:
        """Those that may be among the best of games with the genomes `[B, L]`.

        They begin like their parents, before move `start`.
        """
        legs = play_legs(self.workload, parents, genes, start // CHUNK)
        actions, scores = list(legs.actions), legs.earned[-1].tolist()
        self.actions += actions
        self.scores += scores
        self.pairs.append(pairs_of(parents, actions, scores))
        size = self.workload.replay.num_best
        least = self.best[-1].score if len(self.best) >= size else -np.inf
        return [legs.scout(k) for k, score in enumerate(scores) if score >= least]

    def keep(self, young: Sequence[Scout]) -> None:
        """The fittest of old and young stay."""
        self.best = fittest([*self.best, *young], self.workload.replay.num_best)

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


def _band(workload: Workload) -> Band:
    return Band(workload, [scout_of(game) for game in workload.replay.best])


def send_scouts(
    workload: Workload,
    params: Params,
    practice: PracticeConfig,
    rng: Rng,
    guests: Sequence[Game],
    go_on: Callable[[], bool],
) -> Outcome:
    """A round of scouts; the first generation descends from the guests, if there are any.

    `go_on`, here and below, is asked before each generation but the first.
    """
    band = _band(workload)
    if guests:
        genes = varied_anywhere(
            workload, practice, rng, [game.genes for game in guests], wildness(practice.scouts)
        )
        band.keep(band.send(strangers(workload, guests), 0, genes))
    else:
        _descend(band, params, practice, rng, 1, lambda: True)
    _descend(band, params, practice, rng, practice.generations - 1, go_on)
    return band.outcome(params)


def _descend(
    band: Band,
    params: Params,
    practice: PracticeConfig,
    rng: Rng,
    generations: int,
    go_on: Callable[[], bool],
) -> None:
    workload, wild = band.workload, wildness(practice.scouts)
    judge = Judge(params, workload.arena.known)
    for _ in range(generations):
        if not go_on():
            return
        parents, start = drawn(band.best, practice.scouts, rng), drawn_start(workload, rng)
        genes = children_of(workload, judge, practice, rng, parents, start, wild)
        band.keep(band.send(parents, start, genes))


def set_out(
    workload: Workload,
    params: Params,
    practice: PracticeConfig,
    rng: Rng,
    go_on: Callable[[], bool],
) -> Outcome:
    """The first round of a family without ancestors, from genomes without parents."""
    band = _band(workload)
    genes = first_genomes(workload, practice, rng, wildness(practice.scouts))
    # Scouts have nobody to decide where there is no word.
    genes = np.where(genes == NONE, EARN, genes).astype(np.int8)
    crowd = strangers(workload, workload.replay.shown[:1]) * practice.scouts
    band.keep(band.send(crowd, 0, genes))
    _descend(band, params, practice, rng, practice.generations - 1, go_on)
    return band.outcome(params)


def shake(
    workload: Workload,
    params: Params,
    practice: PracticeConfig,
    rng: Rng,
    go_on: Callable[[], bool],
) -> Outcome:
    """The first round of a family with ancestors: scouts far from a champion, but not too far.

    As in iterated local search (Lourenço, Martin and Stützle 2003): what is good about the champion
    is mostly kept, and practice leads elsewhere than back.
    """
    band = _band(workload)
    (champion,) = drawn(workload.replay.champions, 1, rng)
    share = float(np.exp(rng.uniform(*np.log(practice.shaken))))
    share = min(HARDEST, share * HARDER**workload.replay.num_returned)
    avoided = Avoided(champion, share)
    near: list[Scout] = []
    for number in range(practice.generations):
        if number and not go_on():
            break
        genes = shaken(
            rng, workload.layout, champion.genes, practice.scouts, share, workload.relaxed
        )
        crowd = strangers(workload, [champion]) * practice.scouts
        found = band.send(crowd, 0, genes)
        band.keep([one for one in found if avoided.is_far(one.action)])
        # Only what may be needed: games know all their states.
        near = fittest([*near, *found], workload.replay.num_best)
    if not band.best:
        band.keep(near)
    return band.outcome(params)
