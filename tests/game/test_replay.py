"""Plans as moves: in their own places, or at the end that they need."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from engine.game.moves import COPY_OTHER, NO_COPY_OTHER, Rules
from engine.game.notes import noted_game, noted_rules, notes_of, plan_from_actions
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action, replay
from engine.plan.io import load_plan
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
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


def _best(name: str) -> tuple[Program, Plan]:
    entry = library.find_sample(name)
    assert entry.best_plan_path is not None
    return library.load_entry(entry), load_plan(entry.best_plan_path)


@pytest.mark.parametrize("name", ["llamadecode-v5e-b8", "llamadecode-v6e-b8"])
def test_places_may_be_looked_up_in_the_plan(name: str) -> None:
    """A weight of 48 MiB fits into the middle of a loop only where everything is at its place."""
    program, plan = _best(name)
    saved_s = program.all_slow_s - simulate(program, plan).latency_s
    game = replay(program, plan)
    assert game.rules.planned
    assert game.total_reward * program.all_slow_s > 0.98 * saved_s
    noted = game.plan("replay", notes_of(game))
    assert noted_rules(noted) == game.rules
    again = plan_from_actions(program, game.actions, "replay", noted_rules(noted))
    assert again.stays == noted.stays


def test_a_plan_that_notes_no_places_has_no_rules_of_its_own() -> None:
    program, plan = _best("llamadecode-v5e-b8")
    notes = notes_of(replay(program, plan))
    for planned in (None, 7, [], [[1, 2]], [[1, 2, "3"]], [[1, 2, True]]):
        assert noted_rules(replace(plan, notes=notes | {"planned": planned})) is None


OPTIONS = [
    Rules(place="best_fit", max_blocks=4),
    Rules(look_back=3),
    Rules(max_blocks=5, look_back=0, planned=((0, 0, 1), (3, 2, 7))),
]


@pytest.mark.parametrize("rules", OPTIONS, ids=str)
def test_a_plan_notes_the_options_of_its_game(rules: Rules) -> None:
    for seed in range(3):
        program, chance = random_program(seed, 40), random.Random(seed)
        game = ReferenceGame(program, rules)
        while not game.is_over:
            game.step(chance.choice(game.legal_actions()))
        plan = game.plan("random", json.loads(json.dumps(notes_of(game))))
        assert noted_rules(plan) == rules
        again = noted_game(program, plan)
        assert again is not None and again.plan("random", plan.notes) == plan


def test_a_game_with_strict_sinks_is_noted_as_the_same_one_without() -> None:
    program = random_program(3, 40)
    game = ReferenceGame(program, Rules(strict=True))
    while not game.is_over:
        game.step(best_action(game))
    plan = game.plan("strict", notes_of(game))
    again = noted_game(program, plan)
    assert again is not None and not again.rules.strict
    assert again.plan("strict", plan.notes) == plan


@pytest.mark.parametrize(
    "noted",
    [
        *({"max_blocks": number} for number in (0, -1, True, 9.0, "9", None)),
        *({"look_back": number} for number in (-1, False, 9.0, "9", None)),
    ],
    ids=str,
)
def test_a_plan_that_notes_options_that_there_are_not_has_no_game(noted: dict[str, Any]) -> None:
    program = random_program(0, 40)
    game = play_randomly(program, random.Random(0))
    plan = game.plan("random", notes_of(game) | noted)
    assert noted_rules(plan) is None
    assert noted_game(program, plan) is None


def test_random_games_of_both_ends_replay_with_them() -> None:
    used = set()
    for seed in range(12):
        program = random_program(seed, 40)
        plan = play_randomly(program, random.Random(seed)).plan("random")
        used |= set(replay(program, plan, Rules()).actions)
    assert {COPY_OTHER, NO_COPY_OTHER} <= used
