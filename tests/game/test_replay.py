"""Plans as moves: the end that a plan needs is found, and repairs help."""

from __future__ import annotations

import random

import pytest

from engine.game.moves import COPY_OTHER, DROP, NO_COPY_OTHER, Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import replay
from engine.game.wishes import Amendment, Wishes
from engine.plan.check import check
from engine.plan.io import load_plan
from engine.program import library
from engine.solvers import solve
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


def test_repairs_never_end_worse_and_now_and_then_better() -> None:
    gains = []
    for seed in range(6):
        program = random_program(seed, 40)
        plan = max(
            (play_randomly(program, random.Random(k)) for k in range(30)),
            key=lambda game: game.total_reward,
        ).plan("random")
        plain, repaired = (replay(program, plan, Rules(), tries) for tries in (0, 40))
        assert check(program, repaired.plan("repaired")) is None
        assert repaired.total_reward >= plain.total_reward
        gains.append(repaired.total_reward - plain.total_reward)
    assert max(gains) > 1e-6


def test_what_bars_a_stay_of_the_plan_is_moved() -> None:
    """A stall of a small tensor's write-back bars the copies of two weights of 48 MiB."""
    entry = library.find_sample("llamadecode-v5e-b8")
    assert entry.best_plan_path is not None
    program, plan = library.load_entry(entry), load_plan(entry.best_plan_path)
    plain, repaired = (replay(program, plan, Rules(), tries) for tries in (0, 40))
    assert repaired.total_reward > 1.1 * plain.total_reward


def test_amended_wishes() -> None:
    program = library.load_sample("teach-evict-and-return")
    plan = solve("greedy", program)
    wishes, moves = Wishes(program, plan), ReferenceGame(program).moves
    wanted = [wishes.action(move, None) for move in moves]
    move = moves[next(n for n, action in enumerate(wanted) if action != DROP)]
    without = wishes.amended(wishes.key(move.group, move.time), Amendment.GIVEN_UP)
    assert without.action(move, None) == DROP
    again = without.amended(wishes.key(move.group, move.time), None)
    assert [again.action(m, None) for m in moves] == wanted


def test_random_games_of_both_ends_replay_with_them() -> None:
    used = set()
    for seed in range(12):
        program = random_program(seed, 40)
        plan = play_randomly(program, random.Random(seed)).plan("random")
        used |= set(replay(program, plan, Rules()).actions)
    assert {COPY_OTHER, NO_COPY_OTHER} <= used
