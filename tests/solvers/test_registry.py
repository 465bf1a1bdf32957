"""The table of all solvers is read without their libraries; what is counted of a budget."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.plan.model import Plan
from engine.program.library import load_sample
from engine.program.model import Program
from engine.solvers import Budget, registry, rounded, solve
from engine.solvers.baselines import all_slow
from engine.solvers.registry import NOT_COUNTED, Solver, first_plan
from tests.strategies import random_program

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_is_read_without_the_solvers_libraries() -> None:
    """They take seconds to load; a page that lists the solvers must not wait for them."""
    code = "import engine.solvers, sys; print({'jax', 'numba', 'mctx'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


COMPILES, WORKS = (f"compiling {NOT_COUNTED}", 5.0), ("works", 2.0)


@pytest.mark.parametrize("phases", [(COMPILES, WORKS), (WORKS, COMPILES)])
def test_what_is_announced_as_not_counted_is_not_counted(
    phases: tuple[tuple[str, float], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to the next report, or to the end of the run."""
    clock = SimpleNamespace(perf_counter=lambda: now)
    now = 0.0

    def run(program: Program, budget: Budget) -> Plan:
        nonlocal now
        for message, seconds in phases:
            budget.progress(0.0, message)
            now += seconds
        return all_slow(program, budget)

    monkeypatch.setattr(registry, "time", clock)
    monkeypatch.setitem(registry._SOLVERS, "slow starter", Solver("slow starter", "", run))
    notes = solve("slow starter", random_program(0, 5), Budget(3.0)).notes
    assert (notes["seconds"], notes["counted_s"]) == (7.0, 2.0)


def test_the_first_plan_does_not_wait_for_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which would take the whole of a short budget."""

    def load() -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr(rounded, "is_loaded", lambda: False)
    monkeypatch.setattr(rounded, "is_warm", lambda: True)
    monkeypatch.setattr(rounded, "machine_code", load)
    monkeypatch.setattr(registry, "FIRST_S", 1.0)
    first_plan(load_sample("llamadecode-v5e-b8"), Budget(1.0))


def test_the_first_plan_takes_its_time_from_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    now, left_s = 0.0, []

    def first(program: Program, budget: Budget) -> Plan:
        nonlocal now
        now += 2.0
        return all_slow(program, budget)

    def run(program: Program, budget: Budget) -> Plan:
        left_s.append(budget.seconds)
        return all_slow(program, budget)

    monkeypatch.setattr(registry, "time", SimpleNamespace(perf_counter=lambda: now))
    monkeypatch.setattr(registry, "first_plan", first)
    solver = Solver("falling", "", run, falls_back=True)
    monkeypatch.setitem(registry._SOLVERS, "falling", solver)
    for seconds in (1.0, 5.0):
        solve("falling", random_program(0, 5), Budget(seconds))
    assert left_s == [0.0, 3.0]
