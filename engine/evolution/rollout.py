"""Playing a generation: all its games in step, from the checkpoint where they leave their parents.

A generation changes its parents from one checkpoint on, so its games need not be played from the
start (`engine.game.jaxgame.batching`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.evolution.genome import Genes
from engine.evolution.population import Individual
from engine.game.jaxgame.batching import BatchGame


def rollout(
    game: BatchGame,
    parents: Sequence[Individual],
    genes: Sequence[Genes],
    rates: Sequence[float],
    first: int,
) -> list[Individual]:
    """An individual for each genome; before checkpoint `first` it is its parent's equal."""
    played = game.play(np.stack(genes), [p.trail for p in parents], first)
    begin = first * game.spacing
    return [
        Individual(
            genes[k],
            int(played.ticks[k]),
            played.trail(k).spliced(parent.trail, first),
            rates[k],
            np.concatenate([parent.actions[:begin], played.actions[begin : game.num_moves, k]]),
        )
        for k, parent in enumerate(parents)
    ]


def share_played(game: BatchGame, first: int) -> float:
    """Which share of a game is played from checkpoint `first` on."""
    return 1 - first * game.spacing / max(1, game.num_moves)
