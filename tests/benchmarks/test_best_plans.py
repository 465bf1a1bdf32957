"""The section `best-plans` looks for better plans of every captured program."""

from __future__ import annotations

import pytest

from benchmarks import best_plans
from benchmarks.settings import Settings
from engine.program import library


def test_every_captured_program_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[str] = []
    monkeypatch.setattr(best_plans, "noted_rows", list)
    monkeypatch.setattr(best_plans.library, "load_sample", lambda name: name)
    monkeypatch.setattr(best_plans, "solve", lambda solver, program, budget: solved.append(program))
    monkeypatch.setattr(best_plans, "_keep", lambda name, plan: None)
    best_plans.run("best-plans", Settings(solvers=("local",)))
    sets = (library.index(), library.held_out(), library.large(), library.real())
    assert set(solved) == {e.name for entries in sets for e in entries if e.xla_latency_s}
