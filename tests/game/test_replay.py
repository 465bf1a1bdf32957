"""Plans as moves: the end that a plan needs is found, and looking ahead helps."""

from __future__ import annotations

import random

import pytest

from engine.game.moves import COPY_OTHER, NO_COPY_OTHER, Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import replay
from engine.program import library
from engine.solvers.random_play import play_randomly
from tests.strategies import random_program


def test_a_plan_that_needs_both_ends_is_played_at_both() -> None:
    """The optimum of this program leaves its middle in one piece, which one end alone cannot."""
    program = library.load_sample("teach-fragmentation")
    wanted = ReferenceGame(program)
    while not wanted.is_over:
        move = len(wanted.actions)
        wanted.step(NO_COPY_OTHER if move == 1 else 1)
    saved_s = wanted.total_reward * program.all_slow_s
    assert program.all_slow_s - saved_s == pytest.approx(library.find_sample(program.name).best_s)
    again = replay(program, wanted.plan("both ends"), Rules())
    assert again.total_reward == pytest.approx(wanted.total_reward)
    assert NO_COPY_OTHER in again.actions


def test_looking_ahead_never_ends_worse_and_now_and_then_better() -> None:
    gains = []
    for seed in range(12):
        program = random_program(seed, 40)
        plan = max(
            (play_randomly(program, random.Random(k)) for k in range(30)),
            key=lambda game: game.total_reward,
        ).plan("random")
        near, far = (replay(program, plan, Rules(), depth) for depth in (0, 20))
        assert far.total_reward >= near.total_reward
        gains.append(far.total_reward - near.total_reward)
    assert max(gains) > 1e-6


def test_random_games_of_both_ends_replay_with_them() -> None:
    used = set()
    for seed in range(12):
        program = random_program(seed, 40)
        plan = play_randomly(program, random.Random(seed)).plan("random")
        used |= set(replay(program, plan, Rules()).actions)
    assert {COPY_OTHER, NO_COPY_OTHER} <= used
