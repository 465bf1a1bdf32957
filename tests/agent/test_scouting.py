"""Bands of scouts: games that go on from games that nobody looked at."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

from engine.agent.breeding import children_of, drawn, drawn_start
from engine.agent.judge import Judge
from engine.agent.network import init_params
from engine.agent.scout import Scout, play_legs, scout_of, strangers
from engine.agent.scouting import Band, send_scouts, shake
from engine.agent.self_play import CHUNK, wildness
from engine.agent.trainer import Trainer
from engine.agent.workload import follow, make_workload
from engine.game.encode import encode
from engine.game.moves import Rules
from engine.game.scripts import EARN
from engine.game.state import packed
from engine.solvers.greedy import play_greedily
from tests.agent.small import CONFIG, small_workload
from tests.strategies import random_program

BATCH, GENERATIONS = 6, 10
PARAMS = init_params(jax.random.key(0), CONFIG.network)
MANY = replace(CONFIG, practice=replace(CONFIG.practice, kept_best=12, generations=4))


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    """Of a program of more than one chunk, with some good games."""
    trainer = Trainer([small_workload(MANY, "alexnet-v4-b24")], MANY, 0)
    trainer.play_round()
    assert len(trainer.workloads[0].replay.best) > 3
    return trainer


@pytest.fixture(scope="module")
def band(trainer: Trainer) -> Band:
    """After some generations."""
    workload, rng = trainer.workloads[0], np.random.default_rng(1)
    band = Band(workload, [scout_of(game) for game in workload.replay.best])
    for _ in range(GENERATIONS):
        parents, start = drawn(band.best, BATCH, rng), drawn_start(workload, rng)
        judge = Judge(trainer.params, workload.arena.known)
        genes = children_of(workload, judge, MANY.practice, rng, parents, start, wildness(BATCH))
        band.keep(band.send(parents, start, genes))
    return band


def grandchildren(band: Band) -> list[Scout]:
    return [one for one in band.best if one.sees_up_to < len(one.action)]


def test_a_scout_knows_its_states_and_what_it_earned(trainer: Trainer, band: Band) -> None:
    found = grandchildren(band)
    assert len(found) > 3
    games = follow(trainer.workloads[0], trainer.params, [one.action for one in found])
    for one, game in zip(found, games, strict=True):
        assert one.score == pytest.approx(game.score, abs=1e-3)
        earned = np.append(np.append(0.0, np.cumsum(game.reward))[:-1:CHUNK], game.score)
        np.testing.assert_allclose(one.earned, earned, atol=1e-3)
        assert game.trail is not None
        assert len(one.trail) > 1
        np.testing.assert_array_equal(one.trail, packed(game.trail.state))


def test_a_scout_has_seen_what_its_ancestor_saw_up_to_where_they_part(
    trainer: Trainer, band: Band
) -> None:
    found = grandchildren(band)
    games = follow(trainer.workloads[0], trainer.params, [one.action for one in found])
    parted = 0
    for one, game in zip(found, games, strict=True):
        same = slice(one.sees_up_to + 1)
        np.testing.assert_allclose(one.seen.view[same], game.view[same], atol=2e-3, rtol=2e-3)
        assert np.array_equal(one.seen.legal[same], game.legal[same])
        parted += not np.array_equal(one.seen.greedy, game.greedy)
    assert parted


def test_moves_need_not_be_padded_to_whole_chunks() -> None:
    """48 rows are a chunk and a half."""
    program = random_program(0, 14)
    shown = [tuple(play_greedily(program, Rules()).actions)]
    plain = encode(program, Rules()).shape
    shape = replace(plain, num_moves=48)
    workload = make_workload(program, shown, CONFIG, shape=shape)
    assert CHUNK < workload.num_moves < 48
    (adam,) = strangers(workload, [follow(workload, PARAMS, shown)[0]])
    words = np.full((1, workload.num_moves), EARN, np.int8)
    parent = adam
    for first in (0, 1):
        legs = play_legs(workload, [parent], words, first)
        (game,) = follow(workload, PARAMS, list(legs.actions))
        assert legs.earned[-1, 0] == pytest.approx(game.score, abs=1e-3)
        parent = legs.scout(0)


def test_only_choices_that_were_seen_are_compared(band: Band) -> None:
    known = {
        game.view[move].tobytes()
        for game in band.workload.replay.best
        for move in range(len(game.action))
    }
    pairs = [view for part in band.pairs for view in part["view"]]
    assert len(pairs) > 10
    assert {view.tobytes() for view in pairs} <= known


def test_guests_are_no_parents_to_be_compared_with(trainer: Trainer) -> None:
    workload, practice = trainer.workloads[0], replace(MANY.practice, generations=1)
    guests = [workload.replay.best[0]] * practice.scouts
    rng = np.random.default_rng(0)
    found = send_scouts(workload, trainer.params, practice, rng, guests, lambda: True)
    assert len(found.scores) == practice.scouts
    assert len(found.pairs["move"]) == 0
    assert found.scores[0] == pytest.approx(guests[0].score, abs=1e-3)


def test_the_more_families_come_back_the_harder_they_are_shaken(trainer: Trainer) -> None:
    workload = small_workload(MANY, "alexnet-v4-b24")
    (champion, *_), rng = trainer.workloads[0].replay.best, np.random.default_rng(0)
    differ = []
    for number in (1, 9):
        actions = [np.roll(champion.action, k) for k in range(number)]
        workload.replay.champions = tuple(replace(champion, action=each) for each in actions)
        found = [
            shake(workload, trainer.params, MANY.practice, rng, lambda: True) for _ in range(4)
        ]
        assert not any(len(some.pairs["move"]) for some in found)
        games = [game for some in found for game in some.games]
        assert games
        differ.append(float(np.mean([game.genes != champion.genes for game in games])))
    assert differ[0] < differ[1]
