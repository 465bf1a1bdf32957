"""Rankings and charts."""

from dataclasses import replace

import numpy as np
import pytest

from engine.plan.model import Plan
from engine.program.io import content_hash
from engine.program.model import Program
from engine.solvers import solve
from tests.ui.builders import first_fit_plan
from tests.ui.network import residual_network
from ui.model.compare.ranking import VALID, Row, losses, ranked, row, share_saved, table
from ui.model.programs.pressure_chart import demand, pressure


@pytest.fixture(scope="module")
def program() -> Program:
    return residual_network()


@pytest.fixture(scope="module")
def rows(program: Program) -> list[Row]:
    fitted = first_fit_plan(program)
    slow = Plan(content_hash(program), "slow", (False,) * len(program.accesses), (), ())
    broken = replace(fitted, stays=fitted.stays[1:])
    return [
        row(program, "slow", slow),
        row(program, "broken", broken),
        row(program, "fitted", fitted),
    ]


def test_broken_plans_rank_last(rows: list[Row]) -> None:
    assert [r.solver for r in ranked(rows)] == ["fitted", "slow", "broken"]
    assert ranked(rows)[-1].verdict == "liveness"


def test_parts_add_up(program: Program, rows: list[Row]) -> None:
    for found in rows:
        total = program.all_fast_s + found.slow_s + found.stall_s
        assert total == pytest.approx(found.latency_s)


def test_shares(program: Program) -> None:
    bound_s = (program.all_fast_s + program.all_slow_s) / 2
    assert share_saved(program, program.all_slow_s, bound_s) == 0
    assert share_saved(program, bound_s, bound_s) == pytest.approx(1)
    assert share_saved(program, bound_s, None) == pytest.approx(0.5)


def test_table_columns_have_one_length(program: Program, rows: list[Row]) -> None:
    columns = table(program, rows, None)
    assert len(columns) == len(rows)
    assert columns["checker"][0] == VALID
    assert columns["runtime"][0] == pytest.approx(1e6 * ranked(rows)[0].latency_s)


def test_nothing_is_over_a_bound_that_is_not_known(program: Program, rows: list[Row]) -> None:
    assert table(program, rows, None)["over"].isna().all()
    assert (table(program, rows, program.all_fast_s)["over"] > 0).all()


def test_losses_are_drawn_per_plan(program: Program, rows: list[Row]) -> None:
    figure = losses(program, rows, 0.9 * program.all_slow_s)
    bars = {trace.name: trace for trace in figure.data}
    assert list(bars) == ["slow memory", "stalls"]
    drawn = dict(zip(bars["slow memory"].y, bars["slow memory"].x, strict=True))
    assert drawn["slow"] == pytest.approx(1e6 * (program.all_slow_s - program.all_fast_s))
    assert "broken (breaks liveness)" in drawn
    texts = {a.text for a in figure.layout.annotations}
    assert {"lower bound", "all slow"} <= texts


def test_demand_is_what_is_alive(program: Program) -> None:
    wanted = demand(program)
    touched = {program.values[a.value].group for a in program.accesses if a.time == 0}
    assert wanted[0] == sum(program.groups[g].size_bytes for g in touched)
    assert len(wanted) == program.num_slots
    assert np.all(wanted >= 0)


def test_thinning_keeps_the_peak(program: Program) -> None:
    peak = demand(program).max() / 2**20
    assert max(pressure(program).data[0].y) == pytest.approx(peak)


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ({}, ""),
        ({"asked": "greedy", "own_latency_s": 1e-3}, ""),
        ({"asked": "evolution", "own_latency_s": 7.04e-4}, "greedy's; evolution's takes 704\xa0µs"),
        ({"asked": "evolution", "ended_early": "no time"}, "greedy's; evolution has none: no time"),
        ({"asked": "evolution", "own_latency_s": "much"}, "greedy's"),
        ({"asked": 5, "own_latency_s": []}, ""),
    ],
)
def test_the_table_says_whose_plan_came_in_place_of_a_solvers_own(
    program: Program, notes: dict[str, object], said: str
) -> None:
    plan = replace(solve("greedy", program), notes=notes)
    (line,) = table(program, [row(program, "x", plan)], None)["remark"]
    assert line == said
