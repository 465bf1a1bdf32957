"""A solver in a process of its own can be ended at any time; a good plan is there all the same."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import CheckpointError, EndedEarlyError, ProgramFormatError, SolverError
from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program
from engine.solvers import Budget, registry, solve
from engine.solvers.apart import run, run_apart
from engine.solvers.registry import FIRST, NOT_COUNTED, Option, Solver
from tests.strategies import random_program

STRANGE = "tests.solvers.strange"


@pytest.fixture(scope="module")
def program() -> Program:
    return random_program(2, 40)


@pytest.fixture
def strange(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The solvers of `tests.solvers.strange`, registered."""
    options = (Option("start", (Plan,), "a plan"), Option("path", (Path,), "a path"))
    for name in ("never_begins", "never_ends", "falls_silent", "dies", "refuses", "fails", "works"):

        def apart(program: Program, budget: Budget, name: str = name) -> Plan:
            return run_apart(f"{STRANGE}:{name}", program, budget)

        solver = Solver(name, "", apart, uses_time=True, options=options, falls_back=True)
        monkeypatch.setitem(registry._SOLVERS, name, solver)
    yield


def quickest_s(program: Program) -> float:
    return min(simulate(program, solve(name, program)).latency_s for name in FIRST)


@pytest.mark.usefixtures("strange")
def test_a_start_up_that_never_ends_is_announced_and_can_be_ended(program: Program) -> None:
    told: list[str] = []

    def progress(share: float, message: str) -> bool:
        told.append(message)
        return not message.startswith("compiling")

    plan = solve("never_begins", program, Budget(3600.0, progress=progress))
    assert simulate(program, plan).latency_s <= quickest_s(program)
    assert plan.solver in FIRST and plan.notes["asked"] == "never_begins"
    assert "before its work began" in plan.notes["ended_early"]
    assert told[-1] == f"compiling … {NOT_COUNTED}"


@pytest.mark.usefixtures("strange")
def test_what_does_not_end_in_time_is_ended(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "KILL_S", 0.1)
    plan = solve("never_ends", program, Budget(0.0))
    assert simulate(program, plan).latency_s <= quickest_s(program)
    assert "its time was over" in plan.notes["ended_early"]


@pytest.mark.usefixtures("strange")
def test_what_does_not_heed_that_it_is_not_wanted_is_ended(program: Program) -> None:
    budget = Budget(3600.0, progress=lambda share, message: message != "at work")
    plan = solve("never_ends", program, budget)
    assert "before it had a plan" in plan.notes["ended_early"]


@pytest.mark.usefixtures("strange")
def test_a_stop_is_heard_while_a_solver_works_and_says_nothing(program: Program) -> None:
    begun: list[float] = []

    def progress(share: float, message: str) -> bool:
        begun.extend([time.monotonic()] if message == "at work" else [])
        return not (begun and time.monotonic() - begun[0] > 0.5)

    plan = solve("falls_silent", program, Budget(3600.0, progress=progress))
    assert time.monotonic() - begun[0] < 10.0
    assert "before it had a plan" in plan.notes["ended_early"]


def is_not_compiling(share: float, message: str) -> bool:
    return not message.startswith("compiling")


def test_what_has_worked_may_hand_its_plan_over_though_it_is_compiling(program: Program) -> None:
    plan = run_apart(f"{STRANGE}:pauses", program, Budget(3600.0, progress=is_not_compiling))
    assert check(program, plan) is None


def test_what_was_offered_counts_where_the_process_has_to_be_ended(program: Program) -> None:
    plan = run_apart(f"{STRANGE}:offers", program, Budget(3600.0, progress=is_not_compiling))
    assert check(program, plan) is None
    assert "before it had a plan" in plan.notes["ended_early"]


@pytest.mark.usefixtures("strange")
def test_a_process_that_dies_is_no_loss_and_is_told(program: Program) -> None:
    plan = solve("dies", program, Budget(3600.0))
    assert check(program, plan) is None
    assert "died" in plan.notes["ended_early"]
    with pytest.raises(EndedEarlyError, match="died"):
        run_apart(f"{STRANGE}:dies", program, Budget(3600.0))


@pytest.mark.usefixtures("strange")
@pytest.mark.parametrize("lacking", ["folder", "disk", "process", "thread"])
def test_a_process_that_cannot_be_started_is_no_loss_and_is_told(
    program: Program, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    def wanting(*given: object) -> None:
        raise {
            "disk": ProgramFormatError("program.json: cannot be written (No space left on device)"),
            "process": OSError(11, "Resource temporarily unavailable"),
            "thread": RuntimeError("can't start new thread"),
        }[lacking]

    if lacking == "folder":
        monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    else:
        monkeypatch.setattr(run, "save" if lacking == "disk" else "Worker", wanting)
    plan = solve("works", program, Budget(3600.0))
    assert simulate(program, plan).latency_s == quickest_s(program)
    assert plan.notes["ended_early"].startswith("its process could not be started (")
    with pytest.raises(EndedEarlyError, match="TMPDIR"):
        run_apart(f"{STRANGE}:works", program, Budget(3600.0), is_patient=True)


@pytest.mark.usefixtures("strange")
def test_errors_come_as_what_they_are(program: Program) -> None:
    with pytest.raises(CheckpointError, match="there is none"):
        solve("refuses", program, Budget(1.0))
    with pytest.raises(SolverError, match=r"fails failed \(ZeroDivisionError: odd thing\)"):
        solve("fails", program, Budget(1.0))


@pytest.mark.usefixtures("strange")
def test_every_report_is_heard_and_answered(program: Program, tmp_path: Path) -> None:
    told: list[str] = []

    def progress(share: float, message: str) -> bool:
        if message.startswith("step") and message not in told[-1:]:
            told.append(message)  # Where a step takes long, it is told again.
        return message != "step 7"

    start = min(
        (solve(name, program) for name in FIRST), key=lambda p: simulate(program, p).latency_s
    )
    options = {"start": start, "path": tmp_path}
    plan = solve("works", program, Budget(3600.0, 5, progress, options))
    assert told == [f"step {number}" for number in range(8)]
    assert (plan.notes["steps"], plan.notes["seed"]) == (7, 5)
    assert plan.notes["path"] == str(tmp_path)
    assert (plan.stays, plan.copies) == (start.stays, start.copies)
    assert plan.solver == "works" and "asked" not in plan.notes, (
        "as good as the floor is the solver's own"
    )


@pytest.mark.usefixtures("strange")
def test_the_floor_is_given_in_place_of_a_worse_plan_and_says_so(program: Program) -> None:
    slow_s = simulate(program, solve("all_slow", program)).latency_s
    plan = solve("works", program, Budget(0.0))
    assert simulate(program, plan).latency_s == quickest_s(program) < slow_s
    assert plan.solver in FIRST and plan.notes["asked"] == "works"
    assert plan.notes["own_latency_s"] == pytest.approx(slow_s)
