"""The search against the known optimum of teaching programs."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine.agent.config import LEARNED, SearchConfig
from engine.agent.network import Params, init_params
from engine.agent.self_play import FREE, first_positions, play_games
from engine.agent.trainer import Trainer
from engine.agent.workload import Workload
from engine.game.moves import DROP
from engine.program import library
from tests.agent.small import CONFIG, LARGEST, REAL_RULES, common_shape, small_workload

NAMES = [e.name for e in library.index() if e.best_solver == "exhaustive"]
SMALL_AND_LARGE = ("teach-keep-or-drop", LARGEST)
"""What each push asks of the search with the real rules; the night asks it of all."""
LEARNED_WELL = (
    "teach-keep-or-drop",
    pytest.param("teach-prefetch", marks=pytest.mark.nightly),
)
ROUNDS = 40
TOGETHER = CONFIG.self_play.games
NEAR = 1e-3
"""Points."""


def optimum(workload: Workload) -> float:
    """The score of the best of all games, in points above the baseline.

    It stands in the index; tests/contracts/test_teaching_optima.py plays all games.
    """
    best_s = library.find_sample(workload.program.name).best_s
    assert best_s is not None
    return (workload.program.all_slow_s - best_s) / workload.point_s - workload.baseline


def greedy_score(
    workload: Workload, params: Params, config: SearchConfig, grows: bool = True
) -> float:
    """The score of the game that is played without noise; `grows`: with a tree at each move."""
    played = play_games(
        params,
        workload.arena,
        first_positions(workload.arena, TOGETHER),
        jax.random.key(0),
        np.zeros((TOGETHER, 1), np.float32),
        np.full((workload.num_moves, TOGETHER), FREE, np.int32),
        config,
        grows=grows,
    )
    assert played is not None
    scores = played.moves.reward.sum(axis=0)
    assert np.ptp(scores) < NEAR
    return float(scores[0])


def misled() -> Params:
    """Networks whose prior is to drop everything, and whose values are zero."""
    params: Params = jax.tree.map(jnp.zeros_like, init_params(jax.random.key(1), CONFIG.network))
    params["policy_out"]["b"] = params["policy_out"]["b"].at[DROP].set(2.0)
    return params


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in SMALL_AND_LARGE else pytest.mark.nightly) for n in NAMES],
)
def test_with_the_real_rules_as_model_it_finds_it_against_a_bad_prior(name: str) -> None:
    workload = small_workload(name=name, shape=common_shape())
    best = optimum(workload)
    # The prior alone would leave everything slow.
    assert -workload.baseline < best - 1.0
    assert greedy_score(workload, misled(), REAL_RULES) == pytest.approx(best, abs=NEAR)


@pytest.mark.nightly
@pytest.mark.parametrize("name", LEARNED_WELL)
def test_with_the_model_that_it_has_learned_it_finds_it_too(name: str) -> None:
    """Without demonstrations: what it knows it has played itself."""
    config = replace(
        CONFIG,
        self_play=replace(CONFIG.self_play, top_temperature=1.0, sweeps=True),
        learner=replace(CONFIG.learner, steps_per_round=40),
    )
    workload = small_workload(config, name)
    best, fresh = optimum(workload), init_params(jax.random.key(0), config.network)
    assert config.search.model == LEARNED
    assert greedy_score(workload, fresh, config.search) < best - 1.0
    trainer = Trainer([workload], config, 0)
    for _ in range(ROUNDS):
        trainer.play_round()
    found = greedy_score(workload, trainer.params, config.search)
    assert found == pytest.approx(best, abs=NEAR)
