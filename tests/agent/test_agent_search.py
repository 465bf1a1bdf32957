"""The search: legal, deterministic without noise, and right where the rules can tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine.agent.config import CLASSIC, LEARNED, POLICY_ONLY, SIMULATOR, SearchConfig
from engine.agent.network import Params, init_params
from engine.agent.search import search
from engine.agent.self_play import (
    FREE,
    Moves,
    first_positions,
    noise_levels,
    play_games,
    temperatures,
)
from engine.agent.trace import trace_game
from engine.agent.trace_io import load_trace, save_trace
from engine.agent.workload import Workload, split
from engine.errors import CheckpointError
from engine.game.reference.game import ReferenceGame
from tests.agent.small import CONFIG, REAL_RULES, common_shape, small_trainer, small_workload

PARAMS = init_params(jax.random.key(1), CONFIG.network)
CLASSIC_MUZERO = SearchConfig(LEARNED, algorithm=CLASSIC, num_simulations=4)
GAMES = CONFIG.self_play.games
SILENT = jax.tree.map(jnp.zeros_like, PARAMS)
"""Networks with an even prior and values of zero."""


@pytest.fixture(scope="module")
def workload() -> Workload:
    return small_workload()


def played(
    workload: Workload, params: Params, config: SearchConfig, temperature: float, key: int = 0
) -> Moves:
    """Games in step, as many as in the rounds of play: nothing is compiled for them alone."""
    found = play_games(
        params,
        workload.arena,
        first_positions(workload.arena, GAMES),
        jax.random.key(key),
        np.full((GAMES, 1), temperature, np.float32),
        np.full((workload.num_moves, GAMES), FREE, np.int32),
        config,
    )
    assert found is not None
    return found.moves


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(CONFIG.search, id="learned"),
        pytest.param(REAL_RULES, id="simulator", marks=pytest.mark.nightly),
        pytest.param(SearchConfig(POLICY_ONLY), id="policy", marks=pytest.mark.nightly),
        pytest.param(CLASSIC_MUZERO, id="learned-muzero", marks=pytest.mark.nightly),
    ],
)
def test_only_legal_actions_are_chosen(config: SearchConfig) -> None:
    # That of the real rules is compiled once for all files.
    workload = small_workload(shape=common_shape() if config is REAL_RULES else None)
    script = np.full((workload.num_moves, 8), FREE, np.int32)
    start = first_positions(workload.arena, 8)
    noise = temperatures(noise_levels(8), 3.0)
    found = play_games(PARAMS, workload.arena, start, jax.random.key(0), noise, script, config)
    assert found is not None
    for game in split(found):
        assert (game.policy.sum() > 0) == (config.model != POLICY_ONLY)
        reference = ReferenceGame(workload.program, workload.rules)
        for move, action in enumerate(game.action.tolist()):
            assert reference.legal() == tuple(game.legal[move].tolist())
            reference.step(action)
            assert game.policy[move][~game.legal[move]].sum() < 1e-6
        saved_s = reference.total_reward * workload.program.all_slow_s
        assert workload.saved_s(game.score) == pytest.approx(
            saved_s, abs=1e-5 * workload.program.all_slow_s
        )


def test_without_noise_the_key_does_not_matter(workload: Workload) -> None:
    first, second = (played(workload, PARAMS, CONFIG.search, 0.0, key) for key in (1, 2))
    assert np.array_equal(first.action, second.action)
    assert np.allclose(first.policy, second.policy)


@pytest.mark.nightly
def test_the_real_rules_find_the_best_single_move(workload: Workload) -> None:
    """With values of zero, one step of the real rules must prefer the larger reward."""
    reference = ReferenceGame(workload.program, workload.rules)
    legal = np.flatnonzero(reference.legal())
    points = [
        reference.clone().step(int(action)) * workload.program.all_slow_s / workload.point_s
        for action in legal
    ]
    config = SearchConfig(model=SIMULATOR, num_simulations=len(legal), value_scale=10.0)
    decision, tree = search(
        SILENT, workload.arena, first_positions(workload.arena, 1), jax.random.key(0), config
    )
    assert len(legal) > 1
    assert sorted(np.asarray(tree.action[0, 1:]).tolist()) == legal.tolist()
    for node in range(1, len(legal) + 1):
        relative = dict(zip(legal.tolist(), points, strict=True))[int(tree.action[0, node])]
        relative -= float(workload.arena.baseline[0] - workload.arena.baseline[1])
        assert float(tree.reward[0, node]) == pytest.approx(relative, abs=1e-3)
    # Both ends may earn the same.
    best = legal[np.isclose(points, max(points))]
    assert decision.action[0] in best
    assert decision.policy[0, best].sum() > 0.99


@pytest.mark.parametrize(
    "config",
    [
        CONFIG.search,
        pytest.param(CLASSIC_MUZERO, marks=pytest.mark.nightly),
        pytest.param(SearchConfig(SIMULATOR, value_scale=1e-9), marks=pytest.mark.nightly),
        SearchConfig(POLICY_ONLY),
    ],
    ids=["learned", "learned-muzero", "simulator", "policy"],
)
def test_noise_chooses_but_is_no_opinion(workload: Workload, config: SearchConfig) -> None:
    """From networks that know nothing nothing is learned, however noisy their games are."""
    moves = played(workload, SILENT, config, temperature=3.0)
    assert len(set(moves.action[0].tolist())) > 1
    evenly = moves.legal / moves.legal.sum(axis=2, keepdims=True)
    taught = np.zeros_like(evenly) if config.model == POLICY_ONLY else evenly
    assert moves.policy == pytest.approx(taught, abs=1e-4)


@pytest.mark.nightly
def test_a_trace_tells_the_same_game(workload: Workload) -> None:
    trainer = small_trainer()
    trainer.play_round()
    best = trainer.workloads[0].replay.best[0]
    trace = trace_game(trainer.params, workload, best.action.tolist(), CONFIG.search)
    assert trace.num_moves == workload.num_moves
    assert np.allclose(trace.reward, best.reward, atol=1e-4)
    assert np.array_equal(trace.legal, best.legal)
    nodes = CONFIG.search.num_simulations + 1
    assert trace.tree_visits.shape == (workload.num_moves, nodes)
    assert (trace.tree_visits[:, 0] == nodes).all()
    assert (trace.root_visits().sum(axis=1) == nodes - 1).all()
    assert (trace.root_visits()[~trace.legal] == 0).all()


def test_imagination_starts_from_what_the_networks_say(workload: Workload) -> None:
    actions = workload.demonstrations[0]
    trace = trace_game(PARAMS, workload, actions, CONFIG.search)
    assert np.allclose(trace.imagined_value[:, 0], trace.raw_value, atol=1e-4)
    assert (trace.imagined_reward[-1, 1:] == 0).all()
    assert (trace.imagined_value[-1, 1:] == 0).all()


def test_traces_survive_a_file(workload: Workload, tmp_path: Path) -> None:
    path = tmp_path / "game.trace.npz"
    trace = trace_game(PARAMS, workload, workload.demonstrations[0], CONFIG.search)
    save_trace(trace, path)
    back = load_trace(path)
    assert back.program_hash == trace.program_hash
    assert np.array_equal(back.tree_value, trace.tree_value)
    assert replace(back, par=trace.par).point_s == trace.point_s
    path.write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="not a readable search trace"):
        load_trace(path)
