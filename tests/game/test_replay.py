"""Plans as moves: the end that a plan needs is found, and repairs help."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from engine.game.moves import COPY_OTHER, DROP, NO_COPY_OTHER, Rules
from engine.game.notes import noted_rules, notes_of, plan_from_actions
from engine.game.reference.game import ReferenceGame
from engine.game.replay import Desired, Relaxation, replay
from engine.plan.check import check
from engine.plan.io import load_plan
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
from engine.solvers import solve
from engine.solvers.baselines import play_randomly
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
    for seed in range(4):
        program = random_program(seed, 60)
        plan = solve("density", program)
        plain, repaired = (replay(program, plan, Rules(), tries) for tries in (0, 40))
        assert check(program, repaired.plan("repaired")) is None
        assert repaired.total_reward >= plain.total_reward
        gains.append(repaired.total_reward - plain.total_reward)
    assert max(gains) > 1e-6


def _best(name: str) -> tuple[Program, Plan]:
    entry = library.find_sample(name)
    assert entry.best_plan_path is not None
    return library.load_entry(entry), load_plan(entry.best_plan_path)


@cache
def _repaired(name: str) -> ReferenceGame:
    """The best plan known, replayed with repairs."""
    return replay(*_best(name), repairs=120)


@pytest.mark.parametrize("name", ["llamadecode-v5e-b8", "llamadecode-v6e-b8"])
def test_places_may_be_looked_up_in_the_plan(name: str) -> None:
    """A weight of 48 MiB fits into the middle of a loop only where everything is at its place.

    On v5e a tensor that was in its way is worth less than the weight, and so is what was waited
    for during its copy: neither alone is worth leaving out.
    """
    program, plan = _best(name)
    saved_s = program.all_slow_s - simulate(program, plan).latency_s
    game = _repaired(name)
    assert game.rules.planned
    assert game.total_reward * program.all_slow_s > 0.98 * saved_s
    noted = game.plan("replay", notes_of(game))
    assert noted_rules(noted) == game.rules
    again = plan_from_actions(program, game.actions, "replay", noted_rules(noted))
    assert again.stays == noted.stays


def test_a_plan_that_notes_no_places_has_no_rules_of_its_own() -> None:
    _, plan = _best("llamadecode-v5e-b8")
    notes = notes_of(_repaired("llamadecode-v5e-b8"))
    for planned in (None, 7, [], [[1, 2]], [[1, 2, "3"]], [[1, 2, True]]):
        assert noted_rules(replace(plan, notes=notes | {"planned": planned})) is None


def test_what_bars_a_stay_of_the_plan_is_moved() -> None:
    """A stall of a small tensor's write-back bars the copies of two weights of 48 MiB."""
    program, plan = _best("llamadecode-v5e-b8")
    plain, repaired = (replay(program, plan, Rules(), tries) for tries in (0, 40))
    assert repaired.total_reward > 1.05 * plain.total_reward


def test_relaxed_stays() -> None:
    program = library.load_sample("teach-evict-and-return")
    plan = solve("greedy", program)
    desired, moves = Desired(program, plan), ReferenceGame(program).moves
    wanted = [desired.action(move, None) for move in moves]
    move = moves[next(n for n, action in enumerate(wanted) if action != DROP)]
    without = desired.relaxed([(desired.key(move.group, move.time), Relaxation.DROPPED)])
    assert without.action(move, None) == DROP
    again = without.relaxed([(desired.key(move.group, move.time), None)])
    assert [again.action(m, None) for m in moves] == wanted


def test_random_games_of_both_ends_replay_with_them() -> None:
    used = set()
    for seed in range(12):
        program = random_program(seed, 40)
        plan = play_randomly(program, random.Random(seed)).plan("random")
        used |= set(replay(program, plan, Rules()).actions)
    assert {COPY_OTHER, NO_COPY_OTHER} <= used
