"""Which variations of a game are worth playing: what the prior holds of all that they would change.

The prior is taught by comparisons of games (`engine.agent.comparison`), so the odds that it gives
to an action against the one that was played say whether the change is likely to win. Letters as in
`engine.agent.self_play`; `K` variations, `W` words.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from engine.agent.leaning import NONE, meant
from engine.agent.network import Params, predict, represent
from engine.agent.replay_buffer import Game, Parent
from engine.game.features import Features
from engine.game.scripts import NUM_WORDS


@dataclass(frozen=True)
class Changes:
    """New words for `number` variations, whatever game they are variations of.

    Each entry: `which` variation has which `word` at which `move`.
    """

    number: int
    which: NDArray[np.intp]
    move: NDArray[np.intp]
    word: NDArray[np.int8]

    @staticmethod
    def of(words: NDArray[np.int8]) -> Changes:
        """Of words `[K, L]`; where there is none nothing changes."""
        which, move = np.nonzero(words != NONE)
        return Changes(len(words), which, move, words[which, move])


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

    def verdicts(self, parent: Parent, changes: Changes) -> Verdicts:
        """Of games that follow the parent's genome but for the changes."""
        sight = self._sight_of(parent.seen)
        which, move, word = changes.which, changes.move, changes.word
        is_fork = (sight.actions[word, move] != parent.action[move]) & (word != parent.genes[move])
        which, move, word = which[is_fork], move[is_fork], word[is_fork]
        gain = sight.told[word, move] - sight.logits[move, parent.action[move]]
        number = np.bincount(which, minlength=changes.number)
        # Entries are in the order of the variations and of their moves.
        fork = np.full(changes.number, -1)
        fork[which[::-1]] = move[::-1]
        total = np.bincount(which, gain, minlength=changes.number)
        return Verdicts(fork, total / np.maximum(1, number))

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
