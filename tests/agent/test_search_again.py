"""Searching one position again: as the trace of the game does it, and as deep as one likes."""

from __future__ import annotations

from dataclasses import asdict, replace

import jax
import numpy as np
import pytest

from engine.agent.config import (
    CLASSIC,
    GUMBEL,
    LEARNED,
    MOST_SIMULATIONS,
    POLICY_ONLY,
    SIMULATOR,
    SearchConfig,
)
from engine.agent.network import init_params
from engine.agent.search_again import trace_move
from engine.agent.trace import trace_game
from engine.agent.workload import Workload
from engine.errors import ConfigError, EngineError
from tests.agent.small import CONFIG, small_workload
from tests.ui.search_traces import grow

PARAMS = init_params(jax.random.key(1), CONFIG.network)
# Values far apart, so that trees are not grown by ties.
PARAMS["value_out"]["w"] = PARAMS["value_out"]["w"] * 100
SETTINGS = SearchConfig(num_simulations=24)


@pytest.fixture(scope="module")
def workload() -> Workload:
    return small_workload()


@pytest.mark.parametrize("model", [LEARNED, pytest.param(SIMULATOR, marks=pytest.mark.nightly)])
def test_one_move_is_searched_as_in_the_trace_of_the_game(workload: Workload, model: str) -> None:
    config, actions = replace(CONFIG.search, model=model), workload.demonstrations[0]
    whole = trace_game(PARAMS, workload, actions, config)
    for move in (0, workload.num_moves // 2, workload.num_moves - 1):
        one = trace_move(PARAMS, workload, actions, move, config)
        assert one.action.tolist() == [actions[move]]
        assert one.reward[0] == pytest.approx(whole.reward[move], abs=1e-4)
        assert one.par.tolist() == pytest.approx(whole.par[move : move + 2].tolist())
        assert one.legal.tolist() == [whole.legal[move].tolist()]
        # What lies deeper may hang on the last bit of a sum, which is another one in a batch.
        for name in ("prior", "raw_value"):
            mine, theirs = getattr(one, name)[0], getattr(whole, name)[move]
            assert mine == pytest.approx(theirs, rel=1e-3, abs=1e-3), name
        assert one.tree_reward[0, 1] == pytest.approx(whole.tree_reward[move, 1], abs=1e-2)


@pytest.mark.parametrize(
    ("model", "algorithm"),
    [(LEARNED, CLASSIC), pytest.param(SIMULATOR, GUMBEL, marks=pytest.mark.nightly)],
)
def test_the_tree_can_be_grown_again(workload: Workload, model: str, algorithm: str) -> None:
    """The explorer rebuilds the tree at every budget; at the full one it must be the search's."""
    config = replace(SETTINGS, model=model, algorithm=algorithm)
    actions = workload.demonstrations[0]
    for move in (0, workload.num_moves - 3):
        found = trace_move(PARAMS, workload, actions, move, config)
        parent, reward = found.tree_parent[0], found.tree_reward[0]
        left = workload.num_moves - move
        visits, value = grow(parent, found.tree_raw_value[0], reward, left, 24)
        assert visits.tolist() == found.tree_visits[0].tolist()
        assert value == pytest.approx(found.tree_value[0], rel=1e-4, abs=1e-3)


def test_settings_travel_with_the_trace(workload: Workload) -> None:
    found = trace_move(PARAMS, workload, workload.demonstrations[0], 0, CONFIG.search)
    assert dict(found.settings) == asdict(CONFIG.search)
    assert found.imagined_reward.shape == (1, 0)
    assert np.count_nonzero(found.tree_visits) == CONFIG.search.num_simulations + 1


@pytest.mark.parametrize("number", [0, MOST_SIMULATIONS + 1])
def test_a_search_has_neither_too_few_nor_too_many_simulations(number: int) -> None:
    with pytest.raises(ConfigError, match="choose 1 to"):
        replace(SETTINGS, num_simulations=number)


@pytest.mark.parametrize(
    ("move", "config", "told"),
    [
        (-1, SETTINGS, "the game has the moves"),
        (10**6, SETTINGS, "the game has the moves"),
        (0, replace(SETTINGS, model=POLICY_ONLY), "does not search"),
    ],
)
def test_what_cannot_be_searched_is_told(
    workload: Workload, move: int, config: SearchConfig, told: str
) -> None:
    with pytest.raises(EngineError, match=told):
        trace_move(PARAMS, workload, workload.demonstrations[0], move, config)
