"""The roofline: bytes and times of the plan, and what binds each instruction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from engine.analysis.attribution import breakdown
from engine.plan.io import plan_from_json
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
from engine.solvers import solve
from ui.model.compare.roofline import (
    BOUND_BY_COMPUTE,
    BOUND_BY_SLOW,
    drawn,
    roofline_chart,
    roofline_table,
    summary,
)

NAME = "bert-v5e-b32"


@pytest.fixture(scope="module")
def program() -> Program:
    return library.load_sample(NAME)


def table_of(program: Program, plan: Plan) -> pd.DataFrame:
    return roofline_table(program, plan, breakdown(program, simulate(program, plan)))


@pytest.fixture(scope="module")
def compiled(program: Program) -> Plan:
    return plan_from_json(program.provenance["xla_plan"], "provenance.xla_plan")


def test_times_and_bytes_are_the_plans(program: Program, compiled: Plan) -> None:
    table, simulation = table_of(program, compiled), simulate(program, compiled)
    assert len(table) == program.num_slots
    assert 1e-6 * table["now"].sum() == pytest.approx(simulation.timeline.duration_s.sum())
    assert 1e-6 * table["fast"].sum() == pytest.approx(sum(program.least_s))
    touched = sum(touch.slow_bytes for touch in program.touches)
    assert table["all_mib"].sum() * 2**20 == pytest.approx(touched)
    assert (table["slow_mib"] <= table["all_mib"] + 1e-9).all()
    assert 0 < table["slow_mib"].sum() < table["all_mib"].sum()


def test_fast_memory_lifts_and_slow_memory_binds(program: Program, compiled: Plan) -> None:
    slow = table_of(program, solve("all_slow", program)).set_index("slot")
    fast = table_of(program, compiled).set_index("slot")
    assert slow["slow_mib"].sum() == pytest.approx(slow["all_mib"].sum())
    assert (slow["bound"] == BOUND_BY_SLOW).sum() > (fast["bound"] == BOUND_BY_SLOW).sum()
    assert (slow["gain"] >= -1e-9).all()
    assert set(fast["bound"]) <= {BOUND_BY_SLOW, BOUND_BY_COMPUTE}


def test_the_chart_has_each_instruction_twice_below_the_peak(
    program: Program, compiled: Plan
) -> None:
    table = table_of(program, compiled)
    shown = drawn(table)
    figure = roofline_chart(program, table)
    by_name = {trace.name: trace for trace in figure.data}
    planned = [t for name, t in by_name.items() if (name or "").startswith("as planned")]
    assert sum(len(t.x) for t in planned) == len(by_name["all fast"].x) == len(shown)
    slots = np.concatenate([t.customdata for t in planned])
    assert sorted(slots.tolist()) == sorted(shown["slot"].tolist())
    roof = next(t for name, t in by_name.items() if (name or "").startswith("slow memory"))
    assert max(roof.y) == pytest.approx(197.0), "the peak of the chip"
    all_fast = by_name["all fast"]
    assert max(all_fast.y) <= max(roof.y)


def test_small_instructions_alone_are_drawn_too(program: Program, compiled: Plan) -> None:
    table = table_of(program, compiled)
    is_small = table["now"] < 2e-4 * table["now"].sum()
    small = table.assign(intensity=table["intensity"].where(is_small, 0.0))
    assert len(drawn(small)) > 0
    assert len(roofline_chart(program, small).data) > 0


def test_a_name_is_never_obeyed_as_markup(program: Program, compiled: Plan) -> None:
    table = table_of(program, compiled).assign(instruction="<b>x</b>", layer="<a href='y'>z</a>")
    texts = [
        text for trace in roofline_chart(program, table).data for text in trace.hovertext or ()
    ]
    assert texts and not any("<b>x" in text or "<a " in text for text in texts)


def test_without_counted_operations_the_table_stands_alone(
    program: Program, compiled: Plan
) -> None:
    bare = replace(program, instructions=tuple(replace(i, flops=0) for i in program.instructions))
    table = table_of(bare, compiled)
    assert drawn(table).empty and not roofline_chart(bare, table).data
    assert f"{program.num_slots} instructions without counted" in summary(table)
