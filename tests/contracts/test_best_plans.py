"""The best plans known that ship with the samples: valid, as fast as the index says, replayable."""

from __future__ import annotations

import pytest

from engine.game.move_list import moves
from engine.game.notes import noted_actions, noted_rules, plan_from_actions
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.io import load_plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.solvers import Budget, solve
from engine.solvers.registry import Solver
from tests.chosen import chosen

KNOWN = (*library.index(), *library.held_out(), *library.real())
ENTRIES = {e.name: e for e in (*KNOWN, *library.large()) if e.best_plan}
CAPTURED = {e.name: e for e in KNOWN if e.xla_latency_s}
LARGE = {e.name: e for e in library.large()}
PLAYERS = ("muzero", "evolution")
"""Solvers whose plans are games; the others place whole stays."""


def test_some_samples_ship_with_their_best_plan() -> None:
    assert ENTRIES


@pytest.mark.parametrize("name", chosen(ENTRIES))
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


@pytest.mark.parametrize("name", chosen(CAPTURED))
def test_the_index_says_what_plans_and_bounds_say(name: str) -> None:
    entry, program = CAPTURED[name], library.load_sample(name)
    assert entry.best_s is not None
    assert entry.bound_s is not None
    for solver in ("xla_compiled", "xla_like"):
        latency_s = simulate(program, solve(solver, program)).latency_s
        assert entry.best_s <= latency_s * (1 + 1e-9)
    relaxed_s = lower_bound(program).bound_s
    assert relaxed_s * (1 - 1e-6) <= entry.bound_s <= entry.best_s * (1 + 1e-9)
    if not (entry.bound_method or "").startswith(("mip", "observed")):
        assert entry.bound_s == pytest.approx(relaxed_s, rel=1e-6)


@pytest.mark.parametrize("name", chosen(LARGE))
def test_the_index_of_large_programs_keeps_the_order_of_what_it_says(name: str) -> None:
    entry, program = LARGE[name], library.load_sample(name)
    xla_s = simulate(program, solve("xla_compiled", program)).latency_s
    assert entry.xla_latency_s == pytest.approx(xla_s, rel=1e-12)
    assert entry.best_s is not None
    assert entry.bound_s is not None
    assert program.all_fast_s <= entry.bound_s <= entry.best_s * (1 + 1e-9)
    assert entry.best_s <= xla_s * (1 + 1e-9)


def test_a_plan_that_was_played_notes_the_game_it_came_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those that ship, if some are games, and one that is made now."""
    monkeypatch.setattr(Solver, "may_fall_back", lambda *_: False)
    made = [
        ("lstm-v5e-b128", solve("evolution", library.load_sample("lstm-v5e-b128"), Budget(1.0)))
    ]
    paths = [(e.name, e.best_plan_path) for e in ENTRIES.values() if e.best_solver in PLAYERS]
    shipped = [(name, load_plan(path)) for name, path in paths if path is not None]
    for name, plan in made + shipped:
        program = library.load_sample(name)
        actions = noted_actions(plan, len(moves(program)))
        assert actions is not None
        assert plan_from_actions(program, actions, plan.solver, noted_rules(plan)) == plan
