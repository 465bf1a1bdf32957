"""`rounded`: which runs of touches are wanted, and that the best of all roundings is the plan."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from engine.plan.bounds import linear
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program.library import load_sample
from engine.program.model import Program
from engine.solvers import Budget, clock, find, solve
from engine.solvers.local.arrays import encode
from engine.solvers.rounded import RULES, best_first, roundings, wanted_runs
from tests.strategies import random_program

CONTESTED = "llamadecode-v5e-b8"
"""Small, and not all of it fits."""


@pytest.fixture(scope="module")
def program() -> Program:
    return load_sample(CONTESTED)


def test_a_run_ends_where_a_touch_is_slow_its_content_leaves_or_the_group_ends() -> None:
    program = random_program(7, 60)
    facts = encode(program)
    rng = np.random.default_rng(0)
    served, stayed = rng.random((2, len(program.touches)))
    runs = wanted_runs(facts, served, stayed, 1 / 4)
    inside = {touch for first, last in runs for touch in range(first, last + 1)}
    wanted = served[facts.touch_index] >= 1 / 4
    assert inside == set(np.flatnonzero(wanted & facts.may_be_fast))
    beginnings = set(runs[:, 0])
    for touch in inside:
        goes_on = (
            touch - 1 in inside
            and facts.group[touch - 1] == facts.group[touch]
            and stayed[facts.touch_index[touch]] >= 1 / 4
        )
        assert (touch in beginnings) != goes_on
    assert len(runs) > len(set(facts.group[runs[:, 0]]))


def test_it_is_the_best_of_all_roundings(program: Program) -> None:
    plan = solve("rounded", program)
    plans = [run.plan({}) for run in roundings(program, 0, lambda: True)]
    assert len(plans) == 1 + len(RULES) == plan.notes["roundings"]
    latencies_s = [simulate(program, some).latency_s for some in plans]
    assert all(check(program, some) is None for some in plans)
    assert simulate(program, plan).latency_s == pytest.approx(min(latencies_s), rel=1e-3)
    assert min(latencies_s) < latencies_s[0] < program.all_slow_s


def test_the_plans_of_all_roundings_come_best_first_and_each_once(program: Program) -> None:
    plans = list(best_first(program, lambda share, word: True))
    assert plans[0].stays == solve("rounded", program).stays
    assert all(check(program, plan) is None for plan in plans)
    latencies_s = [simulate(program, plan).latency_s for plan in plans]
    assert len(latencies_s) > 1
    assert min(latencies_s) == latencies_s[0]
    for number, latency_s in enumerate(latencies_s):
        assert latency_s not in [pytest.approx(other, rel=1e-7) for other in latencies_s[:number]]


def test_who_ends_it_early_gets_the_best_so_far(program: Program) -> None:
    first = next(roundings(program, 0, lambda: True)).plan({})
    plan = solve("rounded", program, Budget(progress=lambda share, word: False))
    assert (plan.stays, plan.notes["roundings"]) == (first.stays, 1)
    asked = iter(range(6))
    few = solve("rounded", program, Budget(progress=lambda share, word: next(asked, 9) < 5))
    assert 1 <= few.notes["roundings"] < 1 + len(RULES)


def test_it_ends_when_its_time_is_over(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on a second at each look; the linear program looks at another one."""
    now = 0.0

    def look() -> float:
        nonlocal now
        now += 1.0
        return now

    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=look))
    monkeypatch.setattr(linear, "ASK_EVERY_S", math.inf)
    assert find("rounded").run(program, Budget(0.0)).notes["roundings"] == 1
    begun = now
    assert find("rounded").run(program, Budget(1e6)).notes["roundings"] == 1 + len(RULES)
    nearly_all = Budget(now - begun - 6.0)
    assert 1 < find("rounded").run(program, nearly_all).notes["roundings"] < 1 + len(RULES)
