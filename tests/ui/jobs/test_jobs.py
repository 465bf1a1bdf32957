"""Work beside the page: results, errors, stopping, sharing between visitors, bounds."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.plan.check import check
from engine.plan.model import Plan
from engine.program.model import Program
from tests.ui.builders import first_fit_plan
from tests.ui.network import residual_network
from tests.ui.waiting import SECONDS, are_over, eventually
from ui.jobs.protocol import BOUND, DONE, FAILED, PLAY, RUNNING, SOLVE, STOPPED, WAITING, Order
from ui.jobs.queue import Workshop
from ui.jobs.run import Job, Run
from ui.jobs.worker import MOST_FILE_BYTES, MOST_MEMORY_BYTES
from ui.session.state import OpenProgram, Session


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
    assert are_over(opened.jobs)
    assert [job.state for job in opened.jobs] == [DONE, DONE]
    assert opened.collect()
    assert not opened.collect()
    assert check(program, opened.plans["greedy"].plan) is None
    assert opened.bound_s is not None
    assert program.all_fast_s <= opened.bound_s <= program.all_slow_s


def test_an_unknown_solver_fails_with_one_line(workshop: Workshop) -> None:
    job = workshop.start(residual_network(), "no such solver", 5)
    assert are_over([job])
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
    assert are_over([job])
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
    assert are_over([yours, other])
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
    assert are_over([second])


def test_only_so_many_run_and_wait(gate: threading.Event) -> None:
    shop = Workshop(at_once=2, most_waiting=3)
    jobs = [shop.start(residual_network(), "greedy", 5, seed) for seed in range(5)]
    assert eventually(lambda: [job.state for job in jobs].count("running") == 2)
    assert [job.state for job in jobs].count(WAITING) == 3
    refused = shop.start(residual_network(), "greedy", 5, seed=9)
    assert refused.state == FAILED
    assert "try again" in refused.error
    next(job for job in jobs if job.state == WAITING).stop()
    assert not shop.start(residual_network(), "greedy", 5, seed=9).error
    gate.set()
    assert are_over(jobs)
    assert eventually(lambda: not shop.start(residual_network(), "greedy", 5, seed=10).error)


def test_one_visitor_does_not_fill_the_queue(gate: threading.Event) -> None:
    shop = Workshop(at_once=1, most_waiting=9, most_of_one=2)
    jobs = [shop.start(residual_network(), "greedy", 5, seed, "many") for seed in range(3)]
    assert eventually(lambda: jobs[0].state == RUNNING)
    refused = shop.start(residual_network(), "greedy", 5, 9, "many")
    assert refused.state == FAILED
    assert "2 of your runs" in refused.error
    assert not shop.start(residual_network(), "greedy", 5, 9, "another").error
    gate.set()
    assert are_over(jobs)


def test_who_has_nothing_under_way_comes_first(gate: threading.Event) -> None:
    shop = Workshop(at_once=2)
    many = [shop.start(residual_network(), "greedy", 5, seed, "busy") for seed in range(4)]
    one = shop.start(residual_network(), "greedy", 5, 99, "patient")
    gate.set()
    assert are_over([*many, one])
    assert one.run.began < max(job.run.began for job in many[2:])


def test_plans_of_one_name_do_not_hide_each_other() -> None:
    opened = OpenProgram("residual", residual_network(), "hash")
    assert opened.free_name("you") == "you"
    opened.plans["you"] = opened.plans["you 2"] = None  # type: ignore[assignment]
    assert opened.free_name("you") == "you 3"


def test_only_so_many_programs_stay_open() -> None:
    session, program = Session(), residual_network()
    for number in range(40):
        session.open_program(f"p{number}", program)
    assert 2 <= len(session.programs) <= 20
    assert session.program_name == "p39" in session.programs
    session.open_program("p0", program)
    busy = Job(Run(Order(SOLVE, "greedy", 5.0), "me", state=RUNNING))
    session.open.jobs.append(busy)
    for number in range(40):
        session.open_program(f"q{number}", program)
    assert "p0" in session.programs, "its run goes on"


def test_progress_is_what_the_work_says() -> None:
    began = time.monotonic() - 3
    job = Job(Run(Order(PLAY, "the agent", 0.0), "me", state=RUNNING, began=began))
    assert job.progress is None, "nobody knows how long it takes to get ready"
    job.run.share, job.run.message = 0.25, "move 12 of 48, 4 per second"
    assert job.progress == 0.25
    assert job.words == "move 12 of 48, 4 per second · 3 s"
    job.run.state = DONE
    assert job.progress == 1.0


def test_a_budget_is_counted_and_its_end_is_not_waited_at() -> None:
    job = Job(Run(Order(SOLVE, "greedy", 60.0), "me", state=RUNNING))
    job.run.began = time.monotonic() - 15
    assert job.progress == pytest.approx(0.25, abs=0.05)
    assert job.words == "gets ready · 15 of 60 s"
    job.run.began = time.monotonic() - 72
    assert job.progress is None, "how long finishing takes is not known"
    assert job.words == "finishes · 12 s past its 60 s"
    assert Job(Run(Order(SOLVE, "greedy", 60.0), "me")).words == "waits for a free worker"


def test_the_end_of_a_job_is_news_until_it_is_announced() -> None:
    done = Job(Run(Order(SOLVE, "greedy", 5.0), "me", state=RUNNING))
    assert not done.has_news
    done.run.state = DONE
    assert done.has_news
    done.announce()
    assert not done.has_news
    stopped = Job(Run(Order(SOLVE, "greedy", 5.0), "me", state=RUNNING))
    stopped.stop()
    assert not stopped.has_news, "the visitor knows"


def test_what_a_library_prints_in_a_worker_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(
        "print('a library says hello')\nprint('[1, 2]')\n"
        'print(\'{"share": 0.5, "message": "half"}\')\n'
    )
    run = Run(Order(SOLVE, "greedy", 5.0), "me")
    monkeypatch.setattr("ui.jobs.run._COMMAND", (sys.executable, str(worker)))
    run.work(residual_network(), None)
    assert (run.state, run.share, run.message) == (DONE, 0.5, "half")


def test_a_worker_gives_way_but_not_to_everybody_and_has_limits(tmp_path: Path) -> None:
    """A worker at the lowest priority gets next to nothing on a busy machine."""
    code = (
        "import os, sys\nfrom ui.jobs import worker\n"
        "try:\n    worker.main(sys.argv[1:])\nexcept FileNotFoundError:\n"
        "    limit = worker.resource.getrlimit\n"
        "    memory, file = worker.resource.RLIMIT_AS, worker.resource.RLIMIT_FSIZE\n"
        "    print(os.nice(0), limit(memory)[0], limit(file)[0])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "no folder")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    niceness, memory, file = map(int, done.stdout.split())
    assert 0 < niceness - os.nice(0) <= 5
    assert 0 < memory <= MOST_MEMORY_BYTES
    assert 0 < file <= MOST_FILE_BYTES
