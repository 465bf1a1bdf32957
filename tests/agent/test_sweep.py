"""Sweeps: deviations are played as they are told, and are worth what the reference game says."""

from __future__ import annotations

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine.agent import sweep as sweeps
from engine.agent.config import SelfPlayConfig
from engine.agent.network import init_params, is_drafts_own
from engine.agent.replay_buffer import ReplayBuffer
from engine.agent.self_play import (
    CHUNK,
    FREE,
    first_positions,
    noise_levels,
    play_games,
    temperatures,
)
from engine.agent.sweep import LEAST, Sweep, play_deviations, play_prefixes, steepest
from engine.agent.trainer import Trainer
from engine.agent.types import Game
from engine.agent.workload import Workload, make_workload, points_of, seen
from engine.errors import ConfigError
from engine.game.move_list import moves as moves_of
from engine.game.moves import DROP, NO_COPY, Rules
from engine.game.reference.game import ReferenceGame
from engine.hardware.what_if import WhatIf, derive
from engine.plan.bounds import lower_bound
from engine.solvers.demonstrations import demonstrate, drafted
from engine.solvers.draft import drafts_of
from engine.solvers.practice import practising
from tests.agent.small import CONFIG, follower, small_workload

SWEEPING = replace(
    CONFIG,
    self_play=replace(CONFIG.self_play, sweeps=True, search_share=0.0),
    # A prior that learns plays other games after the sweep.
    learner=replace(CONFIG.learner, steps_per_round=0),
)
TWO_CHUNKS = "alexnet-v4-b24"


@functools.cache
def crowded() -> Workload:
    """Of two chunks, with so little memory that the choice is hard."""
    whole = small_workload(SWEEPING, TWO_CHUNKS)
    program = whole.program
    wish = WhatIf(fast_bytes=program.hardware.fast_bytes // 4)
    program = derive(program, wish, "crowded")
    shown = demonstrate(program, [Rules()])[0].actions
    bound = lower_bound(program)
    return make_workload(program, shown, SWEEPING, bound=bound, shape=whole.arena.encoded.shape)


def begun(name: str) -> Trainer:
    """After the first round, which has the prior's own game."""
    workload = small_workload(SWEEPING, name) if name != TWO_CHUNKS else crowded()
    workload = replace(workload, replay=ReplayBuffer(SWEEPING.replay))
    trainer = Trainer([workload], SWEEPING, 0)
    trainer.play_round()
    return trainer


@functools.cache
def draft_to_follow() -> Workload:
    """The crowded program in the places of its draft."""
    workload = crowded()
    program = workload.program
    shown = drafted(program, next(drafts_of(program)))
    return make_workload(
        program,
        shown.actions,
        SWEEPING,
        rules=shown.rules,
        bound=lower_bound(program),
        shape=workload.arena.encoded.shape,
        wishes=shown.wishes,
    )


def score(workload: Workload, game: Game) -> float:
    """Points above the baseline, by the game in plain Python."""
    actions = game.action.tolist()
    points = points_of(workload.program, workload.rules, actions, workload.point_s)
    return sum(points) - workload.baseline


def held_after(workload: Workload, actions: list[int]) -> set[int]:
    """Groups whose content is in fast memory after these moves, by the game in plain Python."""
    game = ReferenceGame(workload.program, workload.rules)
    for action in actions:
        game.step(action)
    return set(game.state.live)


def swept(trainer: Trainer) -> Sweep:
    """The sweep of the only workload, when it is over."""
    sweep = trainer.sweeps[0]
    while sweep is None or not sweep.is_over:
        trainer.play_round()
        sweep = trainer.sweeps[0]
    return sweep


def test_a_deviation_is_worth_what_the_reference_game_says() -> None:
    trainer = begun(TWO_CHUNKS)
    workload, sweep = trainer.workloads[0], trainer.sweeps[0]
    assert sweep is not None
    base, num_better = sweep.game, 0
    while tried := sweep.upcoming(CONFIG.self_play.games - 1):
        played = play_deviations(trainer.params, workload, sweep, tried, SWEEPING)
        assert played is not None
        games = [played.game(number) for number in range(1 + len(tried))]
        assert games[0].action.tolist() == base.action.tolist()
        for (move, action), game in zip(tried, games[1:], strict=True):
            assert game.action[:move].tolist() == base.action[:move].tolist()
            assert game.action[move] == action != base.action[move]
            exact = score(workload, game) - score(workload, base)
            assert game.score - base.score == pytest.approx(exact, abs=1e-3)
            num_better += game.score > base.score + LEAST
        assert played.scores == pytest.approx([game.score for game in games], abs=1e-4)
        # Nothing better is taken, so that all are deviations of one game.
        sweep.take(tried, replace(played, scores=np.minimum(played.scores, played.scores[0])))
        assert not played.lost.any(), "all were played to the end"
    assert num_better
    legal = base.legal.copy()
    legal[np.arange(len(legal)), base.action] = False
    assert np.array_equal(~np.isnan(sweep.advantages), legal)


@pytest.mark.parametrize("name", ["teach-keep-or-drop", TWO_CHUNKS])
def test_a_sweep_ends_where_no_deviation_improves(name: str) -> None:
    trainer = begun(name)
    first = trainer.sweeps[0]
    assert first is not None
    before, workload = first.game.score, trainer.workloads[0]
    sweep = swept(trainer)
    assert sweep.game.score > before
    assert workload.replay.top_score == sweep.game.score
    again = Sweep(sweep.game)
    again.taken = sweep.taken
    while tried := again.upcoming(CONFIG.self_play.games - 1):
        played = play_deviations(trainer.params, workload, again, tried, SWEEPING)
        assert played is not None
        assert (played.scores <= sweep.game.score + LEAST).all()
        again.take(tried, played)


def test_what_follows_an_improvement_is_played_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the program were much longer than what is looked ahead."""
    monkeypatch.setattr(sweeps, "AHEAD", (0,))
    trainer = begun(TWO_CHUNKS)
    workload, sweep = trainer.workloads[0], trainer.sweeps[0]
    assert sweep is not None
    before, lengths = sweep.game.score, set[int]()
    while not sweep.is_over:
        tried = sweep.upcoming(CONFIG.self_play.games - 1)
        played = play_deviations(trainer.params, workload, sweep, tried, SWEEPING)
        assert played is not None
        lengths.add(played.length)
        sweep.take(tried, played)
        length = len(sweep.game.action)
        actions = sweep.game.action.tolist()
        points = points_of(workload.program, workload.rules, actions, workload.point_s)
        relative = np.asarray(workload.arena.baseline)
        exact = sum(points) - float(relative[0] - relative[length])
        assert sweep.game.score == pytest.approx(exact, abs=1e-3)
    assert len(lengths) > 1
    assert sweep.is_whole
    assert sweep.before > before


def test_a_sweep_ends_once_it_has_looked_as_far_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "AHEAD", (0, 1))
    trainer = begun(TWO_CHUNKS)
    first = trainer.sweeps[0]
    assert first is not None
    assert first.stage == 0
    sweep, stages = swept(trainer), len(sweeps.AHEAD)
    assert sweep.stage == stages - 1
    assert not sweep.look_further()
    # With a chunk ahead a game of two chunks is played to its end.
    again = Sweep(sweep.game)
    again.stage, again.taken = sweep.stage, sweep.taken
    while tried := again.upcoming(CONFIG.self_play.games - 1):
        played = play_deviations(trainer.params, trainer.workloads[0], again, tried, SWEEPING)
        assert played is not None
        assert played.length == trainer.workloads[0].num_moves
        assert (played.scores <= sweep.game.score + LEAST).all()
        again.take(tried, played)


def test_what_a_deviation_no_longer_holds_counts_against_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweeps, "AHEAD", (0,))
    trainer = begun(TWO_CHUNKS)
    workload, sweep = trainer.workloads[0], trainer.sweeps[0]
    assert sweep is not None
    tried = [some for some in sweep.upcoming(1000) if some[0] < CHUNK][-7:]
    played = play_deviations(trainer.params, workload, sweep, tried, SWEEPING)
    assert played is not None
    moves = moves_of(workload.program)[CHUNK:]
    lost_points = set[float]()
    for number, points in enumerate(played.lost, 1):
        held = [held_after(workload, played.game(n).action[:CHUNK].tolist()) for n in (0, number)]
        worth = 0.0
        for group in held[0] - held[1]:
            worth += next((m.saving_s for m in moves if m.group == group), 0.0) / workload.point_s
        assert points == pytest.approx(worth, abs=1e-4)
        lost_points.add(round(worth, 3))
    assert len(lost_points) > 1


def test_a_rank_past_the_table_is_worth_what_its_last_entry_is() -> None:
    """Of two positions the first holds a group of such a rank, and the other does not."""
    workload = small_workload(SWEEPING)
    density = np.array([1.0, 3.0], np.float32)
    known = replace(workload.arena.known, density=jnp.asarray(density))
    workload = replace(workload, arena=replace(workload.arena, known=known))
    end = first_positions(workload.arena, 2)
    table = jax.tree.map(np.copy, end.state.table)
    table.group_and_level[0, 0], table.rank[0, 0], table.size[0, 0] = 0, 7, 2
    end = replace(end, state=replace(end.state, table=table))
    assert sweeps._missing(workload, end).tolist() == [0.0, 6.0]


def test_prefixes_reach_from_the_first_game_to_all_that_was_taken() -> None:
    trainer = begun(TWO_CHUNKS)
    workload, first = trainer.workloads[0], trainer.sweeps[0]
    assert first is not None
    base, sweep = first.game, swept(trainer)
    assert (sweep.taken != FREE).sum() > 1
    played = play_prefixes(trainer.params, workload, sweep, SWEEPING)
    assert played is not None
    games = [game.action.tolist() for game, _ in played]
    assert games[0] == base.action.tolist()
    assert games[-1] == sweep.game.action.tolist()
    counts = [int((taken != FREE).sum()) for _, taken in played]
    assert counts == sorted(counts)
    assert len(set(counts)) > 2


def test_a_long_sweep_begins_where_most_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    workload, drafty = crowded(), draft_to_follow()
    program = workload.program
    game = begun(TWO_CHUNKS).workloads[0].replay.best[0]
    kept = np.asarray([move.saving_s for move in moves_of(program)]) / drafty.point_s
    base = np.asarray(drafty.arena.baseline)
    full = (kept - (base[: len(kept)] - base[1 : len(kept) + 1])).astype(np.float32)
    for lost_at in (CHUNK + 3, 3):
        reward = full.copy()
        reward[lost_at] -= 5.0
        wish = np.asarray(drafty.arena.known.wish)
        wanted = np.where(np.arange(len(wish)) == lost_at, NO_COPY, wish)
        known = replace(drafty.arena.known, wish=jnp.asarray(wanted))
        here = replace(drafty, arena=replace(drafty.arena, known=known))
        assert steepest(here, replace(game, reward=reward)) == lost_at // CHUNK * CHUNK
    assert steepest(workload, game) == 0


def test_a_sweep_that_begins_in_the_middle_looks_at_all() -> None:
    trainer = begun("teach-keep-or-drop")
    sweep = swept(trainer)
    again = Sweep(sweep.game)
    again.taken, again.next = sweep.taken, sweep.advantages.shape[1] * 2
    judged = set[tuple[int, int]]()
    while tried := again.upcoming(CONFIG.self_play.games - 1):
        played = play_deviations(trainer.params, trainer.workloads[0], again, tried, SWEEPING)
        assert played is not None
        judged |= set(tried)
        again.take(tried, played)
    assert len(judged) == sweep.game.legal.sum() - len(sweep.game.action)


def test_what_turns_out_worse_in_the_end_is_not_gone_on_from() -> None:
    trainer = begun(TWO_CHUNKS)
    sweep = swept(trainer)
    best, before = sweep.game.score, sweep.before
    # As if the last of what was taken had seemed a gain.
    worse = min(trainer.workloads[0].replay.best, key=lambda game: game.score)
    assert worse.score < best
    sweep.game, sweep.taken, sweep.before = worse, worse.action, before + 1e6
    assert trainer._try_prefixes(0, lambda: True) is not None
    assert sweep.is_over
    assert sweep.game.score < before + 1e6


def test_a_game_that_is_under_way_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "AHEAD", (0,))
    trainer = begun(TWO_CHUNKS)
    sweep = trainer.sweeps[0]
    assert sweep is not None
    while sweep.is_whole:
        trainer.play_round()
    assert trainer.unfinished == 1
    replay = trainer.workloads[0].replay
    best = list(replay.best)
    trainer.finish_sweeps()
    assert trainer.unfinished == 0
    assert any(not any(game is other for other in best) for game in replay.best)


def test_the_policy_of_a_sweep_wants_what_costs_nothing() -> None:
    trainer = begun("teach-keep-or-drop")
    sweep = swept(trainer)
    policy = sweep.policy()
    assert np.allclose(policy.sum(axis=1), 1.0)
    assert (policy[~sweep.game.legal] == 0).all()
    moves = np.arange(len(policy))
    assert (policy[moves, sweep.game.action] == policy.max(axis=1)).all()
    costly = np.nan_to_num(sweep.advantages) < -1.0
    assert costly.any()
    assert (policy[costly] < 1e-6).all()
    # What is learned of the best game is what the sweep says of it.
    trainer.play_round()
    learned = trainer.workloads[0].replay.best
    assert any(np.array_equal(game.policy, policy) for game in learned)


def test_a_sweep_needs_a_game_to_compare_with() -> None:
    with pytest.raises(ConfigError, match="a sweep needs at least 2"):
        SelfPlayConfig(games=1, sweeps=True)
    alone = replace(CONFIG, self_play=replace(CONFIG.self_play, games=1))
    assert not practising(alone).self_play.sweeps


def test_an_early_end_leaves_the_sweep_where_it_was() -> None:
    trainer = begun(TWO_CHUNKS)
    sweep = trainer.sweeps[0]
    assert sweep is not None
    before = (sweep.next, sweep.judged, trainer.rounds)
    assert trainer.play_round(lambda: False) is None
    assert (sweep.next, sweep.judged, trainer.rounds) == before


@pytest.mark.parametrize("name", [TWO_CHUNKS, "a draft"])
def test_who_does_not_look_plays_as_the_draft_wants(name: str) -> None:
    workload = draft_to_follow() if name == "a draft" else crowded()
    params = follower()
    assert is_drafts_own(params)
    assert not is_drafts_own(init_params(jax.random.key(0), SWEEPING.network))
    together, noise = SWEEPING.self_play.games, temperatures(noise_levels(8), 8.0)
    script = np.full((workload.num_moves, together), FREE, np.int32)
    script[3] = DROP
    blind, seeing = (
        play_games(
            params,
            workload.arena,
            first_positions(workload.arena, together),
            jax.random.key(3),
            noise,
            script,
            SWEEPING.search,
            grows=False,
            looks=looks,
        )
        for looks in (False, True)
    )
    assert blind is not None and seeing is not None
    for column in ("action", "legal", "reward", "policy"):
        assert np.array_equal(getattr(blind.moves, column), getattr(seeing.moves, column))
    assert len({tuple(actions) for actions in blind.moves.action.T}) > 2, "noise has a say"
    assert blind.moves.view.shape[2] == 0 < seeing.moves.view.shape[2]
    assert jax.tree.all(jax.tree.map(np.array_equal, blind.trail, seeing.trail))


def test_what_nobody_saw_is_looked_at_before_it_is_learned_from() -> None:
    config = replace(SWEEPING, learner=replace(SWEEPING.learner, steps_per_round=1))
    workload = replace(draft_to_follow(), replay=ReplayBuffer(config.replay))
    trainer = Trainer([workload], config, 0, follower())
    trainer.play_round()
    assert not any(game.is_seen for game in workload.replay.best)
    assert not workload.replay.count("own"), "there is nothing to learn from yet"
    while not trainer.is_swept:
        trainer.play_round()
    trainer.show_demonstrations()
    trainer.compile_learning()
    trainer.play_round()
    assert workload.replay.count("own")
    assert all(game.is_seen for game in workload.replay.best)
    unseen = replace(workload.replay.best[0], view=np.zeros((workload.num_moves, 0), np.float16))
    first, other = seen(workload, follower(), [unseen, workload.replay.best[1]], config)
    assert np.array_equal(first.view, workload.replay.best[0].view)
    assert other is workload.replay.best[1]


def test_what_is_added_after_a_sweep_has_its_turn_before_noisy_games() -> None:
    trainer = begun("teach-keep-or-drop")
    while not trainer.is_swept:
        trainer.play_round()
        assert not trainer.last_games, "a round of a sweep leaves none"
    trainer.add(small_workload(SWEEPING))
    assert not trainer.is_swept
    report = trainer.play_round()
    assert report is not None and report.workload == 1
    assert trainer.sweeps[0] is not None and trainer.sweeps[0].is_over


def test_nothing_is_learned_before_there_is_a_learner() -> None:
    """The game with which a sweep ends goes on from games that nobody saw."""
    config = replace(
        SWEEPING,
        self_play=replace(SWEEPING.self_play, restart_share=1.0),
        learner=replace(SWEEPING.learner, steps_per_round=1),
    )
    workload = replace(draft_to_follow(), replay=ReplayBuffer(config.replay))
    trainer = Trainer([workload], config, 0, follower())
    trainer.may_learn = False
    while not trainer.is_swept:
        trainer.play_round()
    last = trainer.play_round()
    assert trainer.last_games and last is not None and not last.losses
    trainer.show_demonstrations()
    trainer.compile_learning()
    later = trainer.play_round()
    assert later is not None and later.losses
