"""Compiler without a browser (AppTest): options, what is known, a verdict, no compiler."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict
from importlib.machinery import ModuleSpec

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.compiler.steering.export import exports
from engine.compiler.steering.instruction_cycles import instruction_cycles, kept_compiles
from engine.compiler.steering.verify import AimResult, Verdict
from engine.compiler.toolchain import libtpu
from tests.ui.apps import open_view, session_of
from ui.compiler.options_view import compiler
from ui.jobs.protocol import DONE, TUNE, VERIFY, Order
from ui.jobs.run import Job, Run

pytestmark = pytest.mark.usefixtures("idle_workshop")

PROGRAM = "t5-v5e-b24"
PRICED = 3_000_000.0
"""Cycles that are no estimate of the compiler's."""


def _compiler() -> None:
    from ui.compiler import page

    page.render()


def texts(at: AppTest) -> list[str]:
    """What stands there to be copied."""
    found = [e.proto for e in at.get("bidi_component")]
    return [json.loads(p.json)["text"] for p in found if p.component_name.endswith("copyable")]


def test_a_plan_stands_as_options_in_three_ways() -> None:
    at = open_view(_compiler, program=PROGRAM)
    session = session_of(at)
    assert session.plan is not None
    first = exports(session.open.program, session.plan.plan)[0]
    shown = texts(at)[:3]
    assert all(next(iter(first.options)) in text for text in shown)
    assert "compiler_options=options" in shown[0]
    assert shown[1].startswith("export LIBTPU_INIT_ARGS=")
    at.selectbox(key=f"variant_{session.plan.identity}").select(1).run()
    assert texts(at)[0] != shown[0]


def test_kept_compiles_are_listed_fastest_first() -> None:
    at = open_view(_compiler, program=PROGRAM)
    table = at.dataframe[0].value
    kept = kept_compiles(session_of(at).open.program)
    assert len(table) == len(kept) - 1
    assert list(table["cycles"]) == sorted(table["cycles"])
    best = 1 - table["cycles"].iloc[0] / kept[0].cycles
    labels = {metric.label: metric.value for metric in at.metric}
    assert labels["Best gain, cycles alone"].startswith(f"{100 * best:.1f}")
    assert labels["Best gain"] == "–", "of these compiles nothing but the cycles is known"


def test_compile_and_tune_are_ordered() -> None:
    at = open_view(_compiler, program=PROGRAM)
    at.button(key="compile").click().run()
    next(button for button in at.button if button.label == "Tune").click().run()
    assert not at.exception
    session = session_of(at)
    orders = {job.order.kind: job.order for job in session.open.jobs}
    assert session.plan is not None
    assert orders[VERIFY].basis == session.plan.identity
    assert orders[TUNE].seconds == 1200
    details = dict(orders[TUNE].details)
    assert details.pop("compiles") == 12
    # Another version of the compiler, or other flags, are another order.
    assert details == dict(orders[VERIFY].details) == dict(compiler())
    assert list(details) == ["versions", "flags"]


def test_without_the_compiler_one_line_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = importlib.util.find_spec

    def without(name: str) -> ModuleSpec | None:
        return None if name == "libtpu" else found(name)

    monkeypatch.setattr(libtpu, "find_spec", without)
    at = open_view(_compiler, program=PROGRAM)
    assert at.button(key="compile").disabled
    (line,) = [info.value for info in at.info]
    assert "pip install" in line
    assert "\n" not in line
    # What needs no compiler is there all the same.
    assert texts(at)
    assert len(at.dataframe) == 1


def test_a_program_without_stablehlo_says_so() -> None:
    at = open_view(_compiler, program="teach-prefetch")
    assert at.button(key="compile").disabled
    assert any("StableHLO" in info.value for info in at.info)


def test_a_verdict_becomes_a_plan_figures_and_placements() -> None:
    at = open_view(_compiler, program=PROGRAM)
    session = session_of(at)
    opened, asked = session.open, session.plan
    assert asked is not None
    default, other, *_ = kept_compiles(opened.program)
    names = [value.name for value in opened.program.values[:2]]
    verdict = Verdict(
        title="by saving",
        default_cycles=default.cycles,
        default_stall_cycles=0.0,
        ours_cycles=other.cycles,
        ours_stall_cycles=0.0,
        default_priced_cycles=PRICED,
        ours_priced_cycles=PRICED,
        predicted_default_cycles=default.predicted,
        predicted_cycles=other.predicted,
        realised=0.25,
        placements=(
            AimResult((names[0],), (), 1e-6, 1.0, ""),
            AimResult((names[1],), (), 3e-6, 0.0, "out of memory"),
        ),
        unknown_instructions=(),
        compiler_options=other.options,
    )
    run = Run(Order(VERIFY, "compiled it", 1.0, basis=asked.identity), "", state=DONE)
    run.plan = asked.plan
    rows = instruction_cycles(opened.program, default.seen, other.seen)
    run.result = {
        "verdict": verdict.to_json(),
        "instructions": [asdict(row) for row in rows],
        "asked": asked.identity,
    }
    opened.jobs.append(Job(run))
    at.run()
    assert not at.exception
    assert "compiled it" in opened.plans
    labels = {metric.label: metric.value for metric in at.metric}
    gain = 100 * (1 - (other.cycles + PRICED) / (default.cycles + PRICED))
    assert labels["Gain, compiled"].startswith(f"{gain:.1f}")
    assert labels["Best gain"] == labels["Gain, compiled"]
    alone = max(1 - one.cycles / default.cycles for one in kept_compiles(opened.program))
    assert labels["Best gain, cycles alone"].startswith(f"{100 * alone:.1f}")
    opened.comparison.expected = ["evolution"]
    session.pages = {"compare": None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st, "switch_page", lambda page: None)
        at.button(key="compare_compiled").click().run()
    opened.comparison.settle([asked.name, "compiled it"])
    assert opened.comparison.plans == [asked.name, "compiled it"]
    assert not opened.comparison.expected, "what an earlier link named is not waited for"
    assert labels["Compiled so, total"] == f"{other.cycles + PRICED:,.0f}"
    assert labels["Placed as planned"].startswith("25.0")
    placements = next(f.value for f in at.dataframe if "reason" in f.value.columns)
    assert list(placements["reason"]) == ["out of memory", ""]
    drawn = " ".join(element.proto.body for element in at.get("html"))
    refused = [s for s in asked.plan.stays if s.group == opened.program.values[1].group]
    assert drawn.count('class="refused" style') == len(refused)
