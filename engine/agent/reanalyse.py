"""Reanalyse (MuZero, arXiv 1911.08265, appendix H): the best games are searched again.

With the weights of now, along the actions that were played. Letters: `B` games, `L` moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import jax
import numpy as np
from numpy.typing import NDArray

from engine.agent.config import SearchConfig
from engine.agent.network import Params
from engine.agent.self_play import first_positions, play_games
from engine.agent.types import Game
from engine.agent.workload import Workload, split


def reanalysed(
    params: Params,
    workload: Workload,
    games: Sequence[Game],
    batch: int,
    key: jax.Array,
    config: SearchConfig,
    go_on: Callable[[], bool] = lambda: True,
) -> list[Game] | None:
    """The games, the first `batch` of them with fresh values and policies of a new search.

    Each new policy is the mean of the searched one and of the action played. The other games stay
    as they were: so many are searched in step as in self-play, and nothing is compiled for it.
    `key` is consumed. None if `go_on` said no.
    """
    script = np.stack([games[i % len(games)].action for i in range(batch)], axis=1)
    played = play_games(
        params,
        workload.arena,
        first_positions(workload.arena, batch),
        key,
        np.zeros((batch, 1), np.float32),
        script,
        config,
        go_on=go_on,
    )
    if played is None:
        return None
    fresh = [
        replace(old, policy=_mixed(new.policy, old.played), value=new.value)
        for old, new in zip(games, split(played), strict=False)
    ]
    return [*fresh, *games[batch:]]


def _mixed(searched: NDArray[np.float32], played: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of two policies `[L, A]`; where nothing was searched, the one played."""
    is_searched = searched.any(axis=-1, keepdims=True)
    return np.where(is_searched, np.float32(0.5) * (searched + played), played)
