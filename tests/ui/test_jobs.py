"""Solver runs beside the page: results, errors, stopping."""

from __future__ import annotations

import time

import pytest

from engine.plan.check import check
from tests.ui.network import residual_network
from ui.jobs import DONE, FAILED, STOPPED, Workshop, wait_for
from ui.session import OpenProgram
from ui.worker import BOUND

SECONDS = 90


@pytest.fixture(scope="module")
def workshop() -> Workshop:
    return Workshop()


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
    job = workshop.start(residual_network(), BOUND, 60)
    waiting = [workshop.start(residual_network(), BOUND, 60) for _ in range(3)]
    for each in [job, *waiting]:
        each.stop()
    assert all(each.state == STOPPED for each in [job, *waiting])
    time.sleep(0.5)
    assert all(each.bound_s is None and not each.error for each in [job, *waiting])


def test_plans_of_one_name_do_not_hide_each_other() -> None:
    opened = OpenProgram("residual", residual_network(), "hash")
    assert opened.free_name("you") == "you"
    opened.plans["you"] = opened.plans["you 2"] = None  # type: ignore[assignment]
    assert opened.free_name("you") == "you 3"
