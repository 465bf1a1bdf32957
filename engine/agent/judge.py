"""Which variations of a game are worth playing: what the prior holds of all that they would change.

The prior is taught by comparisons of games (`engine.agent.comparison`), so the odds that it gives
to an action against the one that was played say whether the change is likely to win. Letters as in
`engine.agent.selfplay`; `K` variations, `W` words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from engine.agent.leaning import meant
from engine.agent.network import Params, predict, represent
from engine.agent.replay import Game, Parent
from engine.agent.selfplay import CHUNK
from engine.game.features import Features
from engine.game.genome import Rng
from engine.game.scripts import NUM_WORDS

CHANCE = 0.5
"""Noise in the choice of a variation; at 1 each is drawn with the odds that the prior gives it."""
LATE = 1e3
"""What counts against a variation that parts late: more than any odds."""


@dataclass(frozen=True)
class Verdicts:
    """What is thought of variations `[K]`, as far as that can be said without playing.

    `fork`: the first move at which they would act otherwise than their parent; -1: none. `odds`:
    the mean, over all moves at which they would, of how many logits the prior gives to the new
    action above the old one; 0 where there are none.
    """

    fork: NDArray[np.intp]
    odds: NDArray[np.float64]


@dataclass(frozen=True)
class _Sight:
    """Of a game that was looked at: the prior's `logits` `[L, A]`, what words would be there
    (`actions` `[W, L]`), and the logits of that (`told` `[W, L]`)."""

    game: Game
    logits: NDArray[np.float32]
    actions: NDArray[np.int32]
    told: NDArray[np.float32]


class Judge:
    """Judges variations with the weights `params`; looks at every game once.

    Positions of a parent that nobody saw are taken for those that its ancestor saw.
    """

    def __init__(self, params: Params, known: Features) -> None:
        self._params, self._known = params, known
        self._sights: dict[int, _Sight] = {}

    def verdicts(self, parent: Parent, genes: NDArray[np.int8], start: int) -> Verdicts:
        """Of games that follow the genomes `[K, L]` from move `start` on."""
        sight = self._sight_of(parent.seen)
        which, move = np.nonzero(genes[:, start:] != parent.genes[start:])
        move += start
        word = np.maximum(genes[which, move], 0)
        is_fork = sight.actions[word, move] != parent.action[move]
        which, move, word = which[is_fork], move[is_fork], word[is_fork]
        gain = sight.told[word, move] - sight.logits[move, parent.action[move]]
        number = np.bincount(which, minlength=len(genes))
        fork = np.full(len(genes), genes.shape[1])
        np.minimum.at(fork, which, move)
        total = np.bincount(which, gain, minlength=len(genes))
        return Verdicts(np.where(number, fork, -1), total / np.maximum(1, number))

    def _sight_of(self, game: Game) -> _Sight:
        found = self._sights.get(id(game))
        if found is None:
            moves = np.arange(len(game.action))
            view = game.view.astype(np.float32)
            logits = np.asarray(prior_logits(self._params, self._known, moves, view))
            words = np.repeat(np.arange(NUM_WORDS, dtype=np.int8)[:, None], len(moves), axis=1)
            actions = meant(words, game)
            # The game is kept, so that no other one takes its identity.
            found = _Sight(game, logits, actions, logits[moves, actions])
            self._sights[id(game)] = found
        return found


@jax.jit
def prior_logits(params: Params, known: Features, move: Array, view: Array) -> Array:
    """The prior in positions before the moves `[N]` that look like `view`, `[N, A]`."""
    return predict(params, represent(params, known.outlook[move], view)).policy


def chosen(
    rng: Rng, judge: Judge, parents: Sequence[Parent], variations: NDArray[np.int8], start: int
) -> NDArray[np.int8]:
    """One of the variations `[B, K, L]` of each game, `[B, L]`.

    The better the odds that the judge gives to what a variation would change, the likelier it is
    drawn. One that parts more than a chunk of moves after the start is drawn only where all do, for
    what comes before is played for nothing, and one that would do the same as its parent only where
    all would.
    """
    found = [judge.verdicts(*pair, start) for pair in zip(parents, variations, strict=True)]
    fork = np.stack([one.fork for one in found])
    odds = np.stack([one.odds for one in found])
    noisy = odds + CHANCE * rng.gumbel(size=odds.shape) - LATE * (fork >= start + CHUNK)
    drawn = np.where(fork < 0, -np.inf, noisy).argmax(axis=1)
    best: NDArray[np.int8] = variations[np.arange(len(parents)), drawn]
    return best
