"""Work beside the page: results, errors, stopping, sharing between visitors, bounds."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.plan.check import check
from tests.ui.builders import first_fit_plan
from tests.ui.network import residual_network
from tests.ui.waiting import are_over, eventually
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


Worker = Callable[[str], None]


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """A function that has the processes of runs execute a script instead of the real work."""

    def use(script: str) -> None:
        file = tmp_path / "worker.py"
        file.write_text(script)
        monkeypatch.setattr("ui.jobs.run._COMMAND", (sys.executable, "-IS", str(file)))

    return use


class Gate:
    """Runs whose processes only wait until the gate is opened, or they are let in one by one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def set(self) -> None:
        (self._folder / "open").touch()

    def let_in(self, seed: int) -> None:
        """Let the run of that seed end."""
        (self._folder / str(seed)).touch()


@pytest.fixture
def gate(tmp_path: Path, worker: Worker) -> Gate:
    worker(
        "import json, pathlib, sys, time\n"
        f"here = pathlib.Path({str(tmp_path)!r})\n"
        "order = json.loads((pathlib.Path(sys.argv[1]) / 'order.json').read_text())\n"
        "own = here / str(order['seed'])\n"
        "while not (own.exists() or (here / 'open').exists()):\n    time.sleep(0.02)\n"
    )
    return Gate(tmp_path)


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


def test_equal_orders_share_one_run(gate: Gate) -> None:
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


def test_a_stopped_run_begins_anew(gate: Gate) -> None:
    shop = Workshop()
    first = shop.start(residual_network(), "greedy", 5)
    first.stop()
    assert first.run.state == STOPPED
    second = shop.start(residual_network(), "greedy", 5)
    assert second.run is not first.run
    gate.set()
    assert are_over([second])


def test_only_so_many_run_and_wait(gate: Gate) -> None:
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


def test_one_visitor_does_not_fill_the_queue(gate: Gate) -> None:
    shop = Workshop(at_once=1, most_waiting=9, most_of_one=2)
    jobs = [shop.start(residual_network(), "greedy", 5, seed, "many") for seed in range(3)]
    assert eventually(lambda: jobs[0].state == RUNNING)
    refused = shop.start(residual_network(), "greedy", 5, 9, "many")
    assert refused.state == FAILED
    assert "2 of your runs" in refused.error
    assert not shop.start(residual_network(), "greedy", 5, 9, "another").error
    gate.set()
    assert are_over(jobs)


def test_visitors_take_turns_however_many_runs_one_has_ordered(gate: Gate) -> None:
    shop, program = Workshop(at_once=1), residual_network()
    many = [shop.start(program, "greedy", 5, seed, "many") for seed in range(3)]
    assert eventually(lambda: many[0].state == RUNNING)
    two = [shop.start(program, "greedy", 5, seed, "two") for seed in (10, 11)]
    late = shop.start(program, "greedy", 5, 20, "late")
    waiting = [two[0], late, many[1], two[1], many[2]]
    assert [job.run.ahead for job in waiting] == list(range(5))
    assert [job.words.partition(" · ")[2] for job in waiting[:3]] == [
        "",
        "1 before it",
        "2 before it",
    ]
    gate.let_in(0)
    for job in waiting:
        assert eventually(lambda: job.state == RUNNING)  # noqa: B023
        assert [other.state for other in waiting].count(RUNNING) == 1
        gate.let_in(job.order.seed)
    assert are_over([*many, *two, late])


def test_who_orders_long_runs_waits_longer(gate: Gate) -> None:
    shop, program = Workshop(at_once=1), residual_network()
    long = [shop.start(program, "greedy", 60, seed, "long") for seed in range(3)]
    assert eventually(lambda: long[0].state == RUNNING)
    short = [shop.start(program, "greedy", 5, seed, "short") for seed in range(10, 14)]
    assert [job.run.ahead for job in short] == [0, 1, 2, 3]
    short[3].stop()
    another = shop.start(program, "greedy", 5, 14, "short")
    assert another.run.ahead == 3, "what was stopped while it waited costs nothing"
    gate.set()
    assert are_over([*long, *short, another])


def test_fifty_visitors_are_queued(gate: Gate) -> None:
    shop, program = Workshop(), residual_network()
    jobs = [shop.start(program, "greedy", 5, seed, f"visitor {seed}") for seed in range(50)]
    assert not any(job.error for job in jobs)
    assert max(job.run.ahead for job in jobs) == 47
    for job in jobs:
        job.stop()
    gate.set()


ODD_LINES = {
    "a share that is a list": '{"share": [1]}',
    "a share that is a word": '{"share": "half"}',
}


@pytest.mark.parametrize("line", ODD_LINES.values(), ids=ODD_LINES)
def test_whatever_a_worker_writes_its_run_ends(worker: Worker, line: str) -> None:
    worker(f"print({line!r}, flush=True)\nimport time\ntime.sleep(3600)")
    assert_it_fails_and_begins_anew()


def test_a_result_that_cannot_be_read_ends_the_run(worker: Worker) -> None:
    worker(
        "import pathlib, sys\n(pathlib.Path(sys.argv[1]) / 'result.json').write_text('[' * 10**5)\n"
    )
    assert_it_fails_and_begins_anew()


@pytest.mark.parametrize("error", [RuntimeError("odd"), MemoryError(), KeyError("x")])
def test_whatever_goes_wrong_beside_the_worker_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr("ui.jobs.run.save", broken)
    job = assert_it_fails_and_begins_anew()
    assert type(error).__name__ in job.error


def assert_it_fails_and_begins_anew() -> Job:
    shop, program = Workshop(at_once=1), residual_network()
    first = shop.start(program, "greedy", 5, owner="first")
    assert are_over([first])
    assert first.state == FAILED and first.error
    second = shop.start(program, "greedy", 5, owner="second")
    assert second.run is not first.run
    assert are_over([second])
    return first


def test_a_run_without_a_thread_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    shop = Workshop(at_once=1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none_left)
        job = shop.start(residual_network(), "greedy", 5)
    assert job.state == FAILED and "thread" in job.error
    again = shop.start(residual_network(), "greedy", 5)
    assert are_over([again])
    assert again.state == DONE


def test_who_orders_while_another_stops_has_a_run_of_their_own(gate: Gate) -> None:
    """The other's order comes at the worst moment: when nobody holds the run, but it still goes."""
    shop, program, got = Workshop(), residual_network(), []
    mine = shop.start(program, "greedy", 5, owner="me")
    other = threading.Thread(
        target=lambda: got.append(shop.start(program, "greedy", 5, owner="you"))
    )

    class Holders(set[str]):
        def __len__(self) -> int:
            number = super().__len__()
            if not number and not other.ident:
                other.start()
                other.join(0.3)
            return number

    mine.run.holders = Holders({"me"})
    mine.stop()
    other.join()
    gate.set()
    assert are_over(got)
    assert [job.state for job in got] == [DONE]


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


def test_a_budget_is_counted_from_where_the_solver_counts_it() -> None:
    job = Job(Run(Order(SOLVE, "local", 60.0), "me", state=RUNNING))
    job.run.began = time.monotonic() - 100
    assert job.progress is None, "nobody knows how long compiling takes"
    assert job.words == "gets ready · 100 s, then 60 s"
    job.run.hear({"share": 0.0, "message": "compiling the search, a minute or two"})
    assert job.words == "compiling the search, a minute or two · 100 s, then 60 s"
    job.run.hear({"share": 0.25, "message": "12 moves, 7946.53 us"})
    assert job.progress == pytest.approx(0.25, abs=0.05)
    assert job.words == "12 moves, 7.95 ms · 15 of 60 s"
    job.run.clock = time.monotonic() - 72
    assert job.progress is None, "how long finishing takes is not known"
    assert job.words == "finishes · 12 s past its 60 s"
    assert Job(Run(Order(SOLVE, "greedy", 60.0), "me")).words == "waits for a free worker"


def test_other_budgets_are_counted_from_the_beginning() -> None:
    job = Job(Run(Order(BOUND, BOUND, 60.0), "me", state=RUNNING))
    job.run.began = time.monotonic() - 15
    assert job.progress == pytest.approx(0.25, abs=0.05)
    assert job.words == "gets ready · 15 of 60 s"


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


def test_what_a_library_prints_in_a_worker_is_passed_over(worker: Worker) -> None:
    worker(
        "print('a library says hello')\nprint('[1, 2]')\n"
        'print(\'{"share": 0.5, "message": "half"}\')\n'
    )
    run = Run(Order(SOLVE, "greedy", 5.0), "me")
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
