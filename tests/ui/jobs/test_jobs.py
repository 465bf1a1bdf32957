"""Work beside the page: results, errors, stopping, sharing between visitors, bounds."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from engine.plan.check import check
from engine.plan.model import Plan
from engine.program.model import Program
from tests.ui.builders import first_fit_plan
from tests.ui.network import residual_network
from ui.jobs.protocol import BOUND, DONE, FAILED, SOLVE, STOPPED, WAITING, Order
from ui.jobs.queue import Workshop, wait_for
from ui.jobs.run import Job, Run
from ui.session.state import OpenProgram

SECONDS = 120


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    made = Workshop()
    yield made
    made.close()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Runs that only wait for the gate to open, in the order in which they were begun."""
    opened = threading.Event()

    def work(self: Run, program: Program, basis: Plan | None) -> None:
        self.state, self.began = "running", time.monotonic()
        opened.wait(SECONDS)
        self.state = self.state if self.is_over else DONE

    monkeypatch.setattr(Run, "work", work)
    return opened


def test_results_reach_the_open_program(workshop: Workshop) -> None:
    program = residual_network()
    opened = OpenProgram("residual", program, "hash")
    opened.jobs = [workshop.start(program, "greedy", 5), workshop.start(program, BOUND, 20)]
    assert wait_for(opened.jobs, SECONDS)
    assert [job.state for job in opened.jobs] == [DONE, DONE]
    assert opened.collect()
    assert not opened.collect()
    assert check(program, opened.plans["greedy"].plan) is None
    assert opened.bound_s is not None
    assert program.all_fast_s <= opened.bound_s <= program.all_slow_s


def test_an_unknown_solver_fails_with_one_line(workshop: Workshop) -> None:
    job = workshop.start(residual_network(), "no such solver", 5)
    assert wait_for([job], SECONDS)
    assert job.state == FAILED
    assert "no such solver" in job.error
    assert "\n" not in job.error
    assert job.progress == 1.0


def test_a_run_can_be_stopped(workshop: Workshop) -> None:
    jobs = [workshop.start(residual_network(), BOUND, 60 + i) for i in range(4)]
    for job in jobs:
        job.stop()
    assert all(job.state == job.run.state == STOPPED for job in jobs)
    assert all(job.bound_s is None and not job.error for job in jobs)


def test_the_advisor_works_from_a_plan(workshop: Workshop) -> None:
    program = residual_network()
    job = workshop.relieve(program, first_fit_plan(program), "first fit", 8, 2**20)
    assert wait_for([job], SECONDS)
    assert job.state == DONE, job.error
    assert job.result["is_enough"]
    assert job.result["dropped"]
    assert job.plan is not None
    assert check(program, job.plan) is None


def test_equal_orders_share_one_run(gate: threading.Event) -> None:
    shop = Workshop()
    mine = shop.start(residual_network(), "greedy", 5, owner="me")
    yours = shop.start(residual_network(), "greedy", 5, owner="you")
    other = shop.start(residual_network(), "greedy", 5, seed=1, owner="you")
    assert mine.run is yours.run
    assert other.run is not mine.run
    mine.stop()
    assert mine.state == STOPPED
    assert not yours.is_over
    gate.set()
    assert wait_for([yours, other], SECONDS)
    again = shop.start(residual_network(), "greedy", 5, owner="me")
    assert again.run is yours.run
    assert again.take()
    assert not again.take()
    assert not mine.take()


def test_a_stopped_run_begins_anew(gate: threading.Event) -> None:
    shop = Workshop()
    first = shop.start(residual_network(), "greedy", 5)
    first.stop()
    assert first.run.state == STOPPED
    second = shop.start(residual_network(), "greedy", 5)
    assert second.run is not first.run
    gate.set()
    assert wait_for([second], SECONDS)


def test_only_so_many_run_and_wait(gate: threading.Event) -> None:
    shop = Workshop(at_once=2, most_waiting=3)
    jobs = [shop.start(residual_network(), "greedy", 5, seed) for seed in range(5)]
    assert _eventually(lambda: [job.state for job in jobs].count("running") == 2)
    assert [job.state for job in jobs].count(WAITING) == 3
    refused = shop.start(residual_network(), "greedy", 5, seed=9)
    assert refused.state == FAILED
    assert "try again" in refused.error
    next(job for job in jobs if job.state == WAITING).stop()
    assert not shop.start(residual_network(), "greedy", 5, seed=9).error
    gate.set()
    assert wait_for(jobs, SECONDS)
    assert _eventually(lambda: not shop.start(residual_network(), "greedy", 5, seed=10).error)


def test_who_has_nothing_under_way_comes_first(gate: threading.Event) -> None:
    shop = Workshop(at_once=2)
    many = [shop.start(residual_network(), "greedy", 5, seed, "busy") for seed in range(4)]
    one = shop.start(residual_network(), "greedy", 5, 99, "patient")
    gate.set()
    assert wait_for([*many, one], SECONDS)
    assert one.run.began < max(job.run.began for job in many[2:])


def test_plans_of_one_name_do_not_hide_each_other() -> None:
    opened = OpenProgram("residual", residual_network(), "hash")
    assert opened.free_name("you") == "you"
    opened.plans["you"] = opened.plans["you 2"] = None  # type: ignore[assignment]
    assert opened.free_name("you") == "you 3"


def test_progress_never_goes_past_its_end() -> None:
    run = Run(Order(SOLVE, "greedy", 5.0), "me", state="running", began=time.monotonic() - 60)
    job = Job(run)
    assert job.progress == 0.99
    run.state = DONE
    assert job.progress == 1.0


def _eventually(holds, seconds: float = SECONDS) -> bool:  # type: ignore[no-untyped-def]
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def test_a_worker_gives_way() -> None:
    code = (
        "import os, ui.jobs.worker as worker; worker._give_way(); print(os.nice(0));"
        " print(worker._AUTOGROUP.read_text() if os.access(worker._AUTOGROUP, os.W_OK) else 19)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    words = done.stdout.split()
    assert (words[0], words[-1]) == ("19", "19")
