"""What is found out about solvers that break one rule each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import mallocmuzero
from engine.cli import main
from engine.plan.simulate import Simulation
from engine.workflows import solver_contract
from engine.workflows.solver_contract import (
    NOTHING_FITS,
    RULES,
    SEED,
    SOUND,
    Finding,
    all_is_slow_where_nothing_fits,
    budget_is_kept,
    cases,
    end_is_heeded,
    ends_after_steps,
    run_is_sound,
    seed_decides,
    tried,
)
from mallocmuzero import Budget, Plan, Program
from tests.solvers import broken_plugin
from tests.solvers.broken_plugin import CLOCK, plugins_of

PROGRAM = mallocmuzero.load("teach-fragmentation")


@pytest.fixture(autouse=True)
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kinds = vars(broken_plugin).items()
    solvers = {
        name: f"{broken_plugin.__name__}:{name}"
        for name, thing in kinds
        if "budget" in getattr(thing, "__annotations__", {})
    }
    with plugins_of(tmp_path, monkeypatch, **solvers):
        yield


def sound(name: str) -> str | None:
    return run_is_sound(name, mallocmuzero.load("teach-fragmentation"), Budget(1.0))


def same(name: str) -> str | None:
    return seed_decides(name, PROGRAM, [ends_after_steps(seed=3) for _ in range(2)])


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("raises", "failed (KeyError"),
        ("overlaps", "breaks the rule"),
        ("numpy_numbers", "malformed plan"),
        ("changes_the_program", "changed the program"),
        ("tells_percent", "told progress 50, 'percent'"),
    ],
)
def test_a_run_that_is_not_sound(name: str, broken: str) -> None:
    assert broken in (sound(name) or "")
    assert sound("fine") is None


def test_a_plan_that_no_plan_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = solver_contract.simulate

    def lenient(program: Program, plan: Plan) -> Simulation:
        return replace(judge(program, plan), latency_s=0.99 * program.all_fast_s)

    monkeypatch.setattr(solver_contract, "simulate", lenient)
    assert sound("fine") == "the plan is faster than with everything in fast memory"


def test_fast_memory_that_there_is_not() -> None:
    def slow(name: str) -> str | None:
        return all_is_slow_where_nothing_fits(name, PROGRAM, Budget(1.0))

    assert "breaks the rule capacity" in (slow("never_slow") or "")
    assert slow("fine") is None


def test_chance_without_the_seed() -> None:
    assert same("throws_dice") == "runs with the same seed made different plans"
    assert same("fine") is None
    assert same("random") is None


def test_more_seconds_than_the_budget_has() -> None:
    def kept(name: str) -> str | None:
        return budget_is_kept(name, PROGRAM, Budget(4.0), CLOCK)

    assert kept("overruns") == "took 13.0 s of 4 s"
    assert kept("fine") is None
    assert kept("compiles_last") is None


def test_an_end_that_is_not_heeded() -> None:
    assert end_is_heeded("hears_nothing", PROGRAM, CLOCK) == (
        "went on for 60.0 s after progress returned False"
    )
    assert end_is_heeded("fine", PROGRAM, CLOCK) is None


def test_a_crash_is_a_finding_and_ends_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [(SOUND, "teach-prefetch"), (SOUND, "teach-fragmentation")]
    monkeypatch.setattr(solver_contract, "cases", lambda name: few)
    crash = "its process died (signal SIGSEGV)"
    assert list(tried("dies_or_hangs")) == [Finding(SOUND, "teach-prefetch", crash)]


def test_a_run_without_end_is_a_finding_and_other_rules_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = [(SEED, "teach-fragmentation"), (SOUND, "teach-loop-carry")]
    monkeypatch.setattr(solver_contract, "cases", lambda name: few)
    monkeypatch.setattr(solver_contract, "FIRST_PATIENCE_S", 1.0)
    found = [Finding(rule, program, "did not end within 1 s") for rule, program in few]
    assert list(tried("dies_or_hangs")) == found


@pytest.mark.parametrize(
    ("code", "start_s", "why"),
    [
        ("raise SystemExit(3)", 60.0, "its process died (exit status 3)"),
        ("import time; time.sleep(60)", 1.0, "did not end within 1 s"),
    ],
)
def test_a_process_that_does_not_start_is_an_error_of_one_line(
    code: str,
    start_s: float,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(solver_contract, "cases", lambda name: [(SOUND, "teach-prefetch")])
    monkeypatch.setattr(solver_contract, "_COMMAND", (sys.executable, "-c", code))
    monkeypatch.setattr(solver_contract, "START_S", start_s)
    assert main(["check-solver", "fine"]) == 2
    assert capsys.readouterr().err == (
        f"error: fine: the process that tries it does not start: {why}\n"
    )


def test_cases_try_every_rule_on_programs_that_the_solver_can_run_on() -> None:
    assert {rule for rule, _ in cases("fine")} == set(RULES)
    assert len(cases("xla_compiled")) < len(cases("fine"))


def test_the_command_says_what_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = [(SOUND, "teach-prefetch"), (NOTHING_FITS, "teach-keep-or-drop")]
    monkeypatch.setattr(solver_contract, "cases", lambda name: few)
    assert main(["check-solver", "never_slow"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"broken  {NOTHING_FITS} (programs: 1)"
    assert lines[-1].startswith(f"{NOTHING_FITS}, teach-keep-or-drop: cramped: the plan of")
    assert main(["check-solver", "fine"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"kept    {SOUND} (programs: 1)"
    assert main(["check-solver", "nobody"]) == 2
