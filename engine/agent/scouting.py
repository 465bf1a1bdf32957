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
from engine.agent.replay import Game, fittest
from engine.agent.scout import Actions, Leg, Scout, chunks_of, play_leg, scout_of, strangers
from engine.agent.selfplay import CHUNK, wildness
from engine.agent.workload import FOLLOWERS, Workload, follow
from engine.game.genome import Rng
from engine.game.scripts import EARN

RACE = ((16, 4), (4, 2))
"""After a sixteenth of the way a quarter of the field goes on, after a quarter half of these."""
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
    """The scouts of a round. `best`: of them and of the games so far, the best of them first.

    `actions`, `scores`: of the games that were played to the end.
    """

    workload: Workload
    best: list[Scout]
    actions: list[Actions] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    pairs: list[Columns] = field(default_factory=list)

    def send(
        self, parents: Sequence[Scout], start: int, genes: NDArray[np.int8], is_race: bool
    ) -> list[Scout]:
        """Those that may be among the best of games with the genomes `[B, L]`.

        They begin like their parents, before move `start`. In a race most are given up on the way
        (`RACE`): those that have earned least, compared with their parents up to there (successive
        halving, Jamieson and Talwalkar 2016).
        """
        first, chunks = start // CHUNK, chunks_of(self.workload)
        runners, origins = list(parents), list(parents)
        for last, divisor in (_legs(first, chunks) if is_race else {chunks: 1}).items():
            leg = play_leg(self.workload, runners, genes, first, last)
            gains = leg.earned[last] - [origin.earned[last] for origin in origins]
            order = np.argsort(-gains, kind="stable")
            if last < chunks:
                order, behind = np.split(order, [max(1, len(order) // divisor)])
                self._compare(origins, leg, gains, behind)
                runners, genes = [leg.scout(k) for k in order], genes[order]
                origins, first = [origins[k] for k in order], last
        self._compare(origins, leg, gains, order)
        self.actions += list(leg.actions)
        self.scores += leg.earned[-1].tolist()
        size = self.workload.replay.num_best
        least = self.best[-1].score if len(self.best) >= size else -np.inf
        return [leg.scout(k) for k in order if leg.earned[-1, k] >= least]

    def _compare(
        self,
        origins: Sequence[Scout],
        leg: Leg,
        gains: NDArray[np.float64],
        some: NDArray[np.intp],
    ) -> None:
        """What some games say as far as they went."""
        parents = [origins[k] for k in some]
        scores = [origins[k].score + gains[k] for k in some]
        self.pairs.append(pairs_of(parents, list(leg.actions[some]), scores))

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


def _legs(first: int, chunks: int) -> dict[int, int]:
    """Before which chunks a race from chunk `first` on is counted, and what divides it there."""
    found: dict[int, int] = {}
    for part, divisor in RACE:
        last = first + -(-(chunks - first) // part)
        found[last] = found.get(last, 1) * divisor
    return found | {chunks: 1}


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
        band.keep(band.send(strangers(workload, guests), 0, genes, is_race=False))
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
    workload, number = band.workload, practice.runners if practice.is_racing else practice.scouts
    wild = wildness(number)
    judge = Judge(params, workload.arena.known)
    for _ in range(generations):
        if not go_on():
            return
        parents, start = drawn(band.best, number, rng), drawn_start(workload, rng)
        genes = children_of(workload, judge, practice, rng, parents, start, wild)
        band.keep(band.send(parents, start, genes, practice.is_racing))


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
    band.keep(band.send(crowd, 0, genes, is_race=False))
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
        found = band.send(crowd, 0, genes, is_race=False)
        band.keep([one for one in found if avoided.is_far(one.action)])
        # Only what may be needed: games know all their states.
        near = fittest([*near, *found], workload.replay.num_best)
    if not band.best:
        band.keep(near)
    return band.outcome(params)
