"""Two games of one program: differences that add up to what the simulator says."""

from __future__ import annotations

import random

import pytest

from engine.debugging.ab import SAME, Duel, duel, judged
from engine.debugging.agent_games import workload_of
from engine.errors import UsageError
from engine.game.moves import ACTION_NAMES, DROP, Rules
from engine.game.reference.game import ReferenceGame
from engine.plan.simulate import simulate
from engine.program.library import load_sample
from engine.program.model import Program
from engine.solvers.baselines import play_greedily
from tests.agent.small import CONFIG
from tests.strategies import random_program


def random_game(program: Program, seed: int) -> ReferenceGame:
    chance, game = random.Random(seed), ReferenceGame(program)
    while not game.is_over:
        game.step(chance.choice(game.legal_actions()))
    return game


PROGRAMS = [*(random_program(seed, 40) for seed in range(4)), load_sample("alexnet-v4-b24")]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@pytest.mark.parametrize("seed", range(2))
def test_the_kinds_add_up_to_the_difference_of_two_full_replays(
    program: Program, seed: int
) -> None:
    first, second = random_game(program, seed), random_game(program, seed + 10)
    bout = judged(program, first, second)
    for plan, latency_s in ((bout.first, bout.first_s), (bout.second, bout.second_s)):
        assert simulate(program, plan).latency_s == latency_s
    total_us = sum(kind.change_us for kind in bout.kinds)
    assert total_us == pytest.approx(bout.change_us, abs=1e-9 * bout.first_s * 1e6)
    assert bout.fork == next(
        m for m, (a, b) in enumerate(zip(first.actions, second.actions, strict=True)) if a != b
    )
    names = {f"{a} → {b}" for a in ACTION_NAMES for b in ACTION_NAMES if a != b} | {SAME}
    assert {kind.change for kind in bout.kinds} <= names


def test_a_game_against_itself_differs_in_nothing() -> None:
    program = PROGRAMS[-1]
    bout = judged(program, random_game(program, 0), random_game(program, 0))
    assert (bout.change_us, bout.fork, bout.num_different, bout.kinds) == (0.0, None, 0, ())


def test_dropping_everything_is_worse_on_the_tensors_that_are_dropped() -> None:
    program = PROGRAMS[-1]
    dropped = ReferenceGame(program)
    while not dropped.is_over:
        dropped.step(DROP)
    bout = judged(program, play_greedily(program, Rules()), dropped)
    assert bout.change_us > 0
    worst = bout.kinds[0]
    assert worst.change.endswith(f"→ {ACTION_NAMES[DROP]}")
    assert worst.change_us > 0
    both = Duel("first", "second", (bout, bout))
    assert both.kinds[0].change_us == pytest.approx(2 * worst.change_us)
    assert both.kinds[0].tensors == 2 * worst.tensors


@pytest.mark.parametrize("rules", [Rules(look_back=3), Rules(place="best_fit", max_blocks=2)])
def test_the_agent_plays_under_the_rules_that_it_is_given(rules: Rules) -> None:
    assert workload_of(load_sample("teach-prefetch"), CONFIG, rules).rules == rules


def test_nobody_plays_without_programs() -> None:
    with pytest.raises(UsageError, match="at least one program"):
        duel([], None, None)  # type: ignore[arg-type]
