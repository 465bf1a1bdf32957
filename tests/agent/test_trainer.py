"""Rounds of play and learning: deterministic, honest scores, going on after a kill."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from engine.agent import self_play
from engine.agent.arrays import pack, unpack
from engine.agent.config import POLICY_ONLY, SearchConfig
from engine.agent.network import Params
from engine.agent.replay_buffer import ReplayBuffer
from engine.agent.run import CURVE, ROUNDS, STATE, resume, save_round
from engine.agent.self_play import CHUNK
from engine.agent.trainer import Trainer
from engine.agent.types import Batch
from engine.agent.workload import Workload, follow, make_workload
from engine.errors import CheckpointError, SolverError
from engine.game.moves import MANY_BLOCKS, Rules
from engine.game.notes import plan_from_actions
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.solvers.baselines import play_greedily
from engine.solvers.demonstrations import demonstrate
from tests.agent.small import CONFIG, PROGRAM, follower, small_trainer, small_workload
from tests.game.tiny_programs import Buffer, program_of
from tests.strategies import random_program


def weights(trainer: Trainer) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves((trainer.params, trainer.state))]


def same(first: Trainer, second: Trainer) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(weights(first), weights(second), strict=True))


def test_the_seed_decides_everything() -> None:
    trainers = [small_trainer(seed=seed) for seed in (1, 1, 2)]
    for trainer in trainers:
        trainer.warm_up()
        for _ in range(3):
            trainer.play_round()
    assert same(trainers[0], trainers[1])
    assert not same(trainers[0], trainers[2])


def test_demonstrations_and_own_games_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes longer than a short solve: all are of one kind, with a tree or without."""
    play, kinds, grown = self_play.play_chunk, set[tuple[object, ...]](), set[bool]()

    def heard(*given: Any) -> Any:
        leaves, structure = jax.tree.flatten(given)
        kinds.add(
            (
                structure,
                *(x if isinstance(x, SearchConfig | bool) else jax.typeof(x) for x in leaves),
            )
        )
        grown.update(bool(x) for x in given if isinstance(x, np.bool_))
        return play(*given)

    monkeypatch.setattr(self_play, "play_chunk", heard)
    config = replace(CONFIG, self_play=replace(CONFIG.self_play, search_share=0.5))
    trainer = Trainer([small_workload(config)], config, 0)
    trainer.show_demonstrations()
    for _ in range(6):
        trainer.play_round()
    assert grown == {True, False}
    assert len(kinds) == 1


def test_a_score_is_what_the_simulator_says() -> None:
    trainer = small_trainer()
    trainer.play_round()
    workload = trainer.workloads[0]
    best = workload.replay.best[0]
    plan = plan_from_actions(workload.program, best.action.tolist(), "muzero", workload.rules)
    assert check(workload.program, plan) is None
    result = simulate(workload.program, plan)
    saved_s = result.all_slow_s - result.latency_s
    assert workload.saved_s(best.score) == pytest.approx(saved_s, rel=1e-4)


def test_a_program_without_moves_is_refused() -> None:
    useless = program_of([5], [Buffer(4, reads={0: 0}, is_input=True)])
    with pytest.raises(SolverError, match="nothing is decided"):
        make_workload(useless, [()], CONFIG)


def test_no_array_is_longer_than_the_rules_allow_or_than_any_use() -> None:
    rules = Rules(look_back=5, max_blocks=10**6)
    program = library.load_sample(PROGRAM)
    game = play_greedily(program, rules)
    shape = make_workload(program, [game.actions], CONFIG, rules=rules).arena.encoded.shape
    assert (shape.look_back, shape.num_blocks) == (5, MANY_BLOCKS)


def test_following_a_game_shows_what_it_saw() -> None:
    """In references of other games, in another compiled loop, and from the start."""
    trainer = Trainer([small_workload(name="alexnet-v4-b24")], CONFIG, 0)
    workload = trainer.workloads[0]
    for _ in range(6):
        trainer.play_round()
        for game in (*trainer.last_games[::3], *workload.replay.best):
            again = follow(workload, trainer.params, [game.action], CONFIG)[0]
            assert np.array_equal(game.legal, again.legal)
            np.testing.assert_allclose(game.view, again.view, atol=2e-3, rtol=2e-3)


def test_demonstrations_score_par_on_average() -> None:
    workload = small_workload()
    games = follow(workload, small_trainer().params, workload.demonstrations, CONFIG)
    assert np.mean([game.score for game in games]) == pytest.approx(0.0, abs=1e-3)


def test_rounds_inside_the_best_game_begin_like_it() -> None:
    config = replace(CONFIG, self_play=replace(CONFIG.self_play, restart_share=1.0))
    trainer = Trainer([small_workload(config, "alexnet-v4-b24")], config, 0)
    trainer.play_round()
    begun = {}
    for _ in range(8):
        best = [game.action.copy() for game in trainer.workloads[0].replay.best]
        report = trainer.play_round()
        assert report is not None
        begins = {tuple(action[: report.start]) for action in best}
        for game in trainer.last_games:
            assert tuple(game.action[: report.start]) in begins
            assert len(game.action) == trainer.workloads[0].num_moves
        begun[report.start] = report.greedy
    assert set(begun) == {0, 32}
    assert begun[32] is None


def test_the_warm_up_and_every_round_learn_from_chances_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chances: list[int] = []

    def sample(memory: ReplayBuffer, rng: np.random.Generator, *given: Any) -> Batch:
        chances.append(rng.bit_generator.state["state"]["state"])
        return drawn(memory, rng, *given)

    drawn = ReplayBuffer.sample
    monkeypatch.setattr(ReplayBuffer, "sample", sample)
    trainer = small_trainer()
    trainer.warm_up()
    for _ in range(2):
        trainer.play_round()
    assert len(set(chances)) == len(chances) == 6


def test_an_early_end_leaves_no_half_played_games() -> None:
    trainer = Trainer([small_workload()], CONFIG, 0)
    assert trainer.play_round(lambda: False) is None
    assert trainer.rounds == 0
    assert trainer.workloads[0].replay.count("own") == 0


def test_every_game_of_a_round_was_searched() -> None:
    trainer = small_trainer()
    for _ in range(4):
        report = trainer.play_round()
        assert report is not None
        assert len(trainer.last_games) == CONFIG.self_play.games
        for game in trainer.last_games:
            assert game.policy[report.start :].sum(axis=1) == pytest.approx(1.0, abs=1e-4)


def test_rounds_without_a_tree_are_played_by_the_prior() -> None:
    """Their games teach no policy of their own; the share of the rounds that are searched holds."""
    config = replace(CONFIG, self_play=replace(CONFIG.self_play, search_share=0.5, restart_share=0))
    trainer = small_trainer(config)
    workload, searched = trainer.workloads[0], 0
    for _ in range(24):
        params = jax.tree.map(np.array, trainer.params)
        assert trainer.play_round() is not None
        sums = np.array([game.policy.sum(axis=1) for game in trainer.last_games])
        is_searched = bool(sums.any())
        assert sums == pytest.approx(np.full_like(sums, is_searched), abs=1e-4)
        searched += is_searched
        if not is_searched:
            assert trainer.last_games[0].action.tolist() == _by_prior(params, workload)
    assert 6 <= searched <= 18


def _by_prior(params: Params, workload: Workload) -> list[int]:
    """The game in which the prior's likeliest action is played at each move; in company, as others
    have it compiled.
    """
    games = CONFIG.self_play.games
    played = self_play.play_games(
        params,
        workload.arena,
        self_play.first_positions(workload.arena, games),
        jax.random.key(0),
        np.zeros((games, 1), np.float32),
        np.full((workload.num_moves, games), self_play.FREE, np.int32),
        SearchConfig(model=POLICY_ONLY),
    )
    assert played is not None
    return list(played.moves.action[:, 0].tolist())


def test_the_better_place_rule_gets_most_rounds() -> None:
    workloads = [small_workload(), small_workload()]
    trainer = Trainer(workloads, CONFIG, 0, focus=1.0)
    trainer.play_round()
    best = trainer.workloads.index(trainer.best_workload)
    reports = [trainer.play_round() for _ in range(3)]
    assert all(r is not None and r.workload == best for r in reports)


def test_demonstrations_fade_with_the_visits_of_their_own_workload(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = Trainer([small_workload(), small_workload()], CONFIG, 0, focus=1.0)
    shares: list[float] = []
    monkeypatch.setattr(trainer, "_learn", lambda steps, share, go_on: shares.append(share) or {})
    reports = [trainer.play_round() for _ in range(3)]
    whose = [report.workload for report in reports if report is not None]
    visits = [whose[:number].count(index) for number, index in enumerate(whose)]
    replay = CONFIG.replay
    faded = [replay.demonstration_share * replay.demonstration_decay**visit for visit in visits]
    assert shares == pytest.approx(faded)
    assert max(visits) > 3 // 2
    assert trainer.visits == [whose.count(0), whose.count(1)]


@pytest.mark.parametrize("sweeps", [False, True])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path: Path, sweeps: bool) -> None:
    config = replace(CONFIG, self_play=replace(CONFIG.self_play, sweeps=sweeps, search_share=0.0))
    whole = small_trainer(config)
    whole.warm_up()
    for _ in range(5):
        whole.play_round()
    first = small_trainer(config)
    first.warm_up()
    save_round(first, None, tmp_path)
    for _ in range(3):
        report = first.play_round()
        save_round(first, report, tmp_path)
    (tmp_path / ROUNDS / "000003.npz").write_bytes(b"half a file")
    with (tmp_path / CURVE).open("a") as curve:
        curve.write("half a line")
    second = small_trainer(config)
    assert resume(second, tmp_path)
    assert second.rounds == 3
    assert second.visits == [3]
    for _ in range(2):
        report = second.play_round()
        save_round(second, report, tmp_path)
    assert same(whole, second)
    assert whole.workloads[0].replay.top_score == second.workloads[0].replay.top_score
    assert [s and s.next for s in whole.sweeps] == [s and s.next for s in second.sweeps]
    lines = (tmp_path / CURVE).read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == [0, 1, 2, 3, 4]


def memory(trainer: Trainer) -> list[object]:
    """All that is known of the own games and of the game that is swept, but not what was seen."""
    (workload,), (sweep,) = trainer.workloads, trainer.sweeps
    games = [*workload.replay.best, *([sweep.game] if sweep else [])]
    columns = ("action", "policy", "value", "reward")
    known = [getattr(game, name).tolist() for game in games for name in columns]
    return [workload.replay.count("own"), [game.is_seen for game in games], *known]


@pytest.mark.parametrize("looks", [True, False])
def test_what_is_known_of_swept_games_outlives_a_kill(tmp_path: Path, looks: bool) -> None:
    """A sweep plays on from a chunk of its game: what was thought before is part of the next.

    Nobody `looks` where the draft alone decides; such games are not learned from yet.
    """
    config = replace(CONFIG, self_play=replace(CONFIG.self_play, sweeps=True, search_share=0.0))
    program = random_program(49, 45, loops=False, flights=False)
    workloads = [
        make_workload(program, demonstrate(program, [Rules()])[0].actions, config) for _ in range(2)
    ]
    params = None if looks else follower()
    first, second = (Trainer([workload], config, 0, params) for workload in workloads)
    is_behind_a_chunk = False
    while not is_behind_a_chunk:
        report = first.play_round()
        save_round(first, report, tmp_path)
        (sweep,) = first.sweeps
        assert report is not None and sweep is not None
        is_behind_a_chunk = sweep.is_changed and not sweep.judged and report.start >= CHUNK
    assert sweep.game.is_seen == looks
    assert resume(second, tmp_path)
    assert memory(first) == memory(second)
    first.play_round()
    second.play_round()
    assert memory(first) == memory(second)


def test_a_run_of_an_earlier_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr("engine.agent.run._VERSION", 1)
        save_round(small_trainer(CONFIG), None, tmp_path)
    with pytest.raises(CheckpointError, match="another version"):
        resume(small_trainer(CONFIG), tmp_path)


def test_a_run_that_lacks_a_part_is_refused(tmp_path: Path) -> None:
    save_round(small_trainer(), None, tmp_path)
    state = unpack((tmp_path / STATE).read_bytes())
    del state["leaf_0"]
    (tmp_path / STATE).write_bytes(pack(state))
    with pytest.raises(CheckpointError, match=r"lacks .*leaf_0"):
        resume(small_trainer(), tmp_path)


def test_a_run_is_not_resumed_with_other_settings(tmp_path: Path) -> None:
    assert not resume(small_trainer(), tmp_path)
    save_round(small_trainer(), None, tmp_path)
    with pytest.raises(CheckpointError, match="another seed, other settings"):
        resume(small_trainer(seed=7), tmp_path)
    other = replace(CONFIG, learner=replace(CONFIG.learner, batch_size=8))
    with pytest.raises(CheckpointError, match="another seed, other settings"):
        resume(small_trainer(other), tmp_path)


def test_a_run_is_not_resumed_with_other_games_shown_or_under_other_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_round(small_trainer(), None, tmp_path)
    taught = small_trainer()
    first = taught.workloads[0]
    taught.workloads[0] = replace(first, taught=first.demonstrations[:1])
    with pytest.raises(CheckpointError, match="name another folder"):
        resume(taught, tmp_path)
    monkeypatch.setattr("engine.agent.run.RULES_VERSION", 1)
    with pytest.raises(CheckpointError, match="name another folder"):
        resume(small_trainer(), tmp_path)


@pytest.mark.parametrize(
    "change", [{"point_s": 1e-6}, {"baseline": 0.5}, {"rules": Rules(planned=((0, 0, 0),))}]
)
def test_a_run_is_not_resumed_where_points_are_others(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    """A bound that is found in limited time may be another one the next time."""
    save_round(small_trainer(), None, tmp_path)
    other = small_trainer()
    other.workloads = [replace(workload, **change) for workload in other.workloads]
    with pytest.raises(CheckpointError, match="other programs or bounds"):
        resume(other, tmp_path)


def test_what_is_as_good_as_the_best_takes_turns_in_the_focus() -> None:
    workloads = [small_workload() for _ in range(3)]
    trainer = Trainer(workloads, CONFIG, 0, focus=1.0)
    trainer.play_round()
    (best,) = (w for w in workloads if w.replay.best)
    assert trainer._leaders == [workloads.index(best)]
    other = (workloads.index(best) + 1) % 3
    workloads[other].replay.set_best(best.replay.best)
    assert trainer._leaders == sorted([workloads.index(best), other])
