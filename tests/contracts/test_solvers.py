"""Every registered solver on every kind of program: valid, judged, deterministic for its seed."""

from __future__ import annotations

import pytest

from engine.errors import SolverError, UnknownNameError
from engine.game.moves import moves
from engine.hardware.what_if import WhatIf, derive
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
from engine.solvers import SOLVERS, Budget, find, has_compiled_plan, solve
from engine.solvers.evolution import COMPILE_S
from tests.strategies import random_program

SEEDS = (1, 2, 3)
SAMPLES = [e.name for e in library.index() if e.instructions <= 40]


def programs() -> list[Program]:
    """Generated programs with loops and aliases, and the small sample programs."""
    return [random_program(s, 40) for s in SEEDS] + [library.load_sample(n) for n in SAMPLES]


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_plans_are_valid_and_no_slower_than_all_slow_with_stalls(name: str) -> None:
    for program in programs():
        if name == "xla_compiled" and not has_compiled_plan(program):
            continue
        plan = solve(name, program, Budget(seconds=0.2, seed=1))
        assert check(program, plan) is None
        assert plan.solver == name
        result = simulate(program, plan)
        assert result.all_fast_s <= result.latency_s * (1 + 1e-9)
        assert result.latency_s <= result.all_slow_s + result.stall_s + 1e-12


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_where_nothing_fits_everything_is_slow(name: str) -> None:
    program = library.load_sample("teach-keep-or-drop")
    cramped = derive(program, WhatIf(fast_bytes=program.hardware.alignment), "cramped")
    assert not moves(cramped)
    if name == "xla_compiled":
        with pytest.raises(SolverError, match="no compiler plan"):
            solve(name, cramped)
        return
    plan = solve(name, cramped, Budget(seconds=COMPILE_S, seed=1))
    assert check(cramped, plan) is None
    assert not any(plan.is_fast)
    assert not plan.stays


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_the_seed_decides(name: str) -> None:
    program = library.load_sample(SAMPLES[0])
    if name == "xla_compiled" and not has_compiled_plan(program):
        with pytest.raises(SolverError, match="no compiler plan"):
            solve(name, program)
        return
    budget = Budget(seconds=60.0 if not SOLVERS[name].uses_time else 0.0, seed=3)
    first, second = solve(name, program, budget), solve(name, program, budget)
    assert (first.is_fast, first.stays, first.copies) == (
        second.is_fast,
        second.stays,
        second.copies,
    )


def test_unknown_solvers_name_their_neighbours() -> None:
    with pytest.raises(UnknownNameError, match="greedy"):
        find("gredy")
