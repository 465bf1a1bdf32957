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
from engine.solvers import Budget, clock, find, rounded, solve
from engine.solvers.local.arrays import encode
from engine.solvers.local.compiled import interpreted
from engine.solvers.local.machine import USEFUL_S
from engine.solvers.local.search import Run
from engine.solvers.rounded import MOST, RULES, Rounding, best_first, wanted_runs
from tests.strategies import random_program
from tests.synthetic import idle_touches

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


@pytest.fixture
def is_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all code were compiled."""
    monkeypatch.setattr(rounded, "code_for_many", lambda code, left_s: code)


@pytest.fixture
def is_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounded, "is_warm", lambda: False)


def made(program: Program) -> tuple[list[Run], list[Run]]:
    """Those by the rules, and those that are made again."""
    rounding = Rounding(program, 0)
    return list(rounding.by_rules()), list(rounding.made_again())


@pytest.mark.usefixtures("is_warm")
def test_it_is_the_best_of_all_roundings(program: Program) -> None:
    plan = solve("rounded", program)
    by_rules, again = made(program)
    plans = [run.plan({}) for run in [*by_rules, *again]]
    assert len(by_rules) == 1 + len(RULES)
    assert len(plans) == plan.notes["roundings"] <= MOST
    latencies_s = [simulate(program, some).latency_s for some in plans]
    assert all(check(program, some) is None for some in plans)
    assert simulate(program, plan).latency_s == pytest.approx(min(latencies_s), rel=1e-3)
    assert min(latencies_s) < latencies_s[0] < program.all_slow_s


@pytest.mark.usefixtures("is_cold")
def test_without_compiled_code_nothing_is_made_again(program: Program) -> None:
    assert solve("rounded", program).notes["roundings"] == 1 + len(RULES)


def test_compiled_code_is_not_loaded_where_there_is_no_time_for_it(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounded, "is_warm", lambda: True)
    best = next(best_first(program, lambda share, word: True, lambda: 0.5 * USEFUL_S))
    assert best.notes["roundings"] == 1 + len(RULES)


def test_with_prices_a_stay_does_not_hold_memory_that_others_would_pay_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Inner loops: a copy at each turn, or a stay around them all, which is cheaper by itself."""
    program = load_sample("llamadecode-v6e-b8")
    by_rules, again = made(program)
    assert min(run.best_s for run in again) < 0.985 * min(run.best_s for run in by_rules)
    monkeypatch.setattr(rounded, "PRICE", 0.0)
    _, unpriced = made(program)
    assert min(run.best_s for run in unpriced) > 0.99 * min(run.best_s for run in by_rules)


def test_a_stay_goes_on_over_touches_that_save_nothing_rather_than_be_written_back() -> None:
    program, least_s = idle_touches()
    search = Run(program, 0, facts=encode(program), code=interpreted)
    search.serve(np.array([[0, 0]]), np.zeros(program.num_slots))
    assert search.best_s == pytest.approx(least_s)


def test_what_was_slow_moves_up_until_it_is_served() -> None:
    _, again = made(load_sample("lstm-v5e-b64-train"))
    best_s = min(run.best_s for run in again)
    firsts_s = [run.best_s for run in again[:: rounded.ROUNDS]]
    assert len(again) == len(firsts_s) * rounded.ROUNDS
    assert best_s < 0.998 * min(firsts_s)


@pytest.mark.usefixtures("is_warm")
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
    first = next(Rounding(program, 0).by_rules()).plan({})
    plan = solve("rounded", program, Budget(progress=lambda share, word: False))
    assert (plan.stays, plan.notes["roundings"]) == (first.stays, 1)
    asked = iter(range(6))
    few = solve("rounded", program, Budget(progress=lambda share, word: next(asked, 9) < 5))
    assert 1 <= few.notes["roundings"] < 1 + len(RULES)


@pytest.mark.usefixtures("is_cold")
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
