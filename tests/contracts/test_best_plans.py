"""The best plans known that ship with the samples: valid, as fast as the index says, replayable."""

from __future__ import annotations

import pytest

from engine.game.env import plan_from_actions
from engine.game.moves import moves
from engine.game.notes import noted_actions, noted_rules
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.io import load_plan
from engine.plan.simulate import simulate
from engine.program import library

ENTRIES = {e.name: e for e in library.index() if e.best_plan}


def test_some_samples_ship_with_their_best_plan() -> None:
    assert ENTRIES


@pytest.mark.parametrize("name", ENTRIES)
def test_a_best_plan_is_what_the_index_says(name: str) -> None:
    entry, program = ENTRIES[name], library.load_sample(name)
    assert entry.best_plan_path is not None
    plan = load_plan(entry.best_plan_path)
    assert check(program, plan) is None
    latency = simulate(program, plan).latency_s
    assert latency == pytest.approx(entry.best_s, rel=1e-12)
    assert plan.solver == entry.best_solver
    assert entry.xla_latency_s is not None
    assert latency < entry.xla_latency_s
    assert latency >= lower_bound(program).bound_s * (1 - 1e-9)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_best_plan_notes_the_game_it_came_from(name: str) -> None:
    entry, program = ENTRIES[name], library.load_sample(name)
    assert entry.best_plan_path is not None
    plan = load_plan(entry.best_plan_path)
    actions = noted_actions(plan, len(moves(program)))
    assert actions is not None
    assert plan_from_actions(program, actions, plan.solver, noted_rules(plan)) == plan
