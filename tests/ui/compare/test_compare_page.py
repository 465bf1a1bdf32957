"""The Compare view: runs, layouts, differences, times, the peak, links (AppTest, no browser)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Dataframe, Selectbox

from engine.plan.check import check
from engine.plan.io import plan_to_json
from engine.plan.model import Plan
from engine.program import library
from engine.solvers import solve
from tests.solvers.broken_plugin import plugins_of
from tests.strategies import all_slow_plan
from tests.ui.apps import SECONDS, open_view
from ui.compare import exports_view
from ui.components.markdown import plain
from ui.components.units import gain_text
from ui.jobs.protocol import BOUND, DONE
from ui.jobs.queue import Workshop
from ui.session import caching, opening

TEACHING = "teach-fragmentation"
REAL = "alexnet-v4-b24"
BEATEN = min((e for e in library.index() if e.best_plan), key=lambda e: e.touches)
"""A sample with a better plan than XLA's."""


def _compare() -> None:
    from ui.compare import page as compare

    compare.render()


def opened(program: str = TEACHING, **query: str) -> AppTest:
    return open_view(_compare, program=program, **query)


def run_until(at: AppTest, holds: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not holds() and time.monotonic() < until:
        time.sleep(0.2)
        at.run()
        assert not at.exception
    assert holds()


def compared(mode: str, **query: str) -> AppTest:
    """The real program with XLA's plan and the greedy one, once both are there."""
    at = opened(REAL, mode=mode, plans="xla_compiled,greedy", **query)
    plans = at.session_state["explorer"].open.plans
    run_until(at, lambda: "greedy" in plans and not at.session_state["explorer"].open.is_busy)
    at.run()
    return at


def texts(at: AppTest) -> str:
    return " ".join([e.value for e in at.markdown] + [e.value for e in at.caption])


def test_a_solver_runs_beside_the_page() -> None:
    at = opened()
    at.button_group[0].set_value(["all_slow"]).run()
    at.button(key="run").click().run()
    session = at.session_state["explorer"]
    run_until(at, lambda: not session.open.is_busy)
    at.run()
    assert not at.error
    rows = at.dataframe[0].value
    assert list(rows["solver"]) == ["greedy", "all_slow"]
    assert set(rows["checker"]) == {"valid"}
    assert rows["saved"][1] == pytest.approx(0)


def test_a_solver_of_another_package_runs_like_others_and_a_broken_one_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solvers = {name: f"tests.solvers.broken_plugin:{name}" for name in ("fine", "leaves")}
    caching.solver_names.clear()
    with plugins_of(tmp_path, monkeypatch, **solvers):
        at = opened()
        at.button_group[0].set_value(["fine", "leaves"]).run()
        at.button(key="run").click().run()
        session = at.session_state["explorer"]
        run_until(at, lambda: not session.open.is_busy)
        at.run()
    caching.solver_names.clear()
    (error,) = at.error
    assert "leaves of broken-plugin failed (SystemExit: goodbye)" in error.value
    assert set(at.dataframe[0].value["solver"]) == {"greedy", "fine"}


def test_a_plan_in_place_of_a_solvers_own_is_what_its_link_waits_for(
    idle_workshop: Workshop,
) -> None:
    at = opened(plans="evolution,greedy")
    session = at.session_state["explorer"]
    (job,) = [job for job in session.open.jobs if job.solver == "evolution"]
    greedy = session.open.plans["greedy"].plan
    notes = {**greedy.notes, "asked": "evolution", "own_latency_s": 1.0}
    job.run.plan, job.run.state = replace(greedy, notes=notes), DONE
    at.run()
    at.run()
    assert not at.exception and not at.warning
    name = "evolution (greedy's plan)"
    assert session.open.comparison.plans == [name, "greedy"]
    assert dict(zip(*results_of(at).value[["solver", "remark"]].T.values, strict=True)) == {
        name: "greedy's; evolution's takes 1.00\xa0s", "greedy": ""
    }  # fmt: skip


def results_of(at: AppTest) -> Dataframe:
    return next(t for t in at.dataframe if "checker" in t.value)


def test_a_row_that_was_chosen_is_of_its_own_program() -> None:
    at = opened(BEATEN.name)
    key = results_of(at).proto.id.split("-", 2)[2]
    at.session_state[key] = {"selection": {"rows": [], "columns": [], "cells": [(1, "solver")]}}
    at.run()
    assert at.button(key="open_plan").label == f"Open {plain('xla_compiled')} on the map"
    opening.open_named(at.session_state["explorer"], TEACHING)
    at.run()
    assert not at.exception
    assert len(results_of(at).value) == 1
    assert at.button(key="open_plan").disabled


def test_a_bound_that_was_stopped_is_said_and_can_be_asked_for_again(
    idle_workshop: Workshop,
) -> None:
    at = opened()
    session = at.session_state["explorer"]
    session.open.bound_s = None
    at.run()
    shown = lambda: next(m.value for m in at.metric if m.label == "Lower bound")  # noqa: E731
    assert shown() == "…" and "bound_again" not in {b.key for b in at.button}
    (job,) = [job for job in session.open.jobs if job.solver == BOUND]
    job.stop()
    at.run()
    assert shown() == "–"
    at.button(key="bound_again").click().run()
    assert not at.exception
    assert shown() == "…" and "bound_again" not in {b.key for b in at.button}
    (again,) = [job for job in session.open.jobs if job.solver == BOUND]
    assert again is not job and not again.is_over


def test_a_sample_opens_with_the_best_plan_known() -> None:
    pair = ["xla_compiled", opening.BEST_KNOWN]
    at = opened(BEATEN.name, mode="layouts", plans=",".join(pair))
    here = at.session_state["explorer"]
    assert here.open.comparison.plans == pair
    title = opening.title_of(here.open.plans[opening.BEST_KNOWN])
    assert title == f"best known ({BEATEN.best_solver})"
    at = opened(BEATEN.name)
    rows = at.dataframe[0].value
    assert list(rows["solver"]) == pair[::-1]
    assert set(rows["checker"]) == {"valid"}


def test_a_best_plan_that_cannot_be_read_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = replace(BEATEN, folder=tmp_path)
    monkeypatch.setattr(library, "find_sample", lambda name: damaged)
    assert caching.best_plan("missing") is None
    (tmp_path / "plans").mkdir()
    assert damaged.best_plan_path is not None
    damaged.best_plan_path.write_text("{}")
    assert caching.best_plan("damaged") is None


def test_a_link_makes_the_plans_that_it_names() -> None:
    at = compared("layouts", diff="1", slot="3")
    state = at.session_state["explorer"].open.comparison
    assert state.plans == ["xla_compiled", "greedy"]
    assert (state.mode, state.is_diff, state.slot) == ("layouts", True, 3)
    query = {k: v[0] if isinstance(v, list) else v for k, v in at.query_params.items()}
    assert query["plans"] == "xla_compiled,greedy"
    assert query["mode"] == "layouts"


def test_plans_of_a_link_that_nobody_can_make_are_dropped() -> None:
    at = opened(plans="you,greedy")
    state = at.session_state["explorer"].open.comparison
    run_until(at, lambda: state.expected == [])
    assert state.plans[0] == "greedy"
    assert "you" not in state.plans
    assert any("“you”" in warning.value for warning in at.warning)


def test_a_link_to_one_plan_waits_for_it() -> None:
    at = opened(plan="xla_like")
    session = at.session_state["explorer"]
    run_until(at, lambda: "xla_like" in session.open.plans)
    assert session.plan_name == "xla_like"
    lost = opened(plan="no such plan")
    assert lost.session_state["explorer"].plan_name == ""
    assert "“no such plan”" in lost.warning[0].value


def test_waiting_for_a_linked_plan_can_be_stopped() -> None:
    at = opened("teach-loop-carry", plan="random")
    next(b for b in at.button if (b.key or "").startswith("stop_")).click().run()
    assert not at.exception
    session = at.session_state["explorer"]
    assert session.plan_name == ""
    assert list(session.open.plans) == ["greedy"]


def test_layouts_tell_what_the_difference_costs() -> None:
    at = compared("layouts")
    told = texts(at)
    assert "First divergence" in told
    assert "faster" in told or "slower" in told
    session = at.session_state["explorer"]
    rows = at.dataframe[0].value
    latencies = {m.label: m.value for m in at.metric}
    assert latencies["Best plan"]
    assert rows["total"].abs().is_monotonic_decreasing
    assert gain_text(1e-6 * rows["total"].sum()) in told
    buttons = [b.label for b in at.button if (b.key or "").startswith("divergence_")]
    assert len(buttons) == 2
    box(at, "Baseline").set_value("greedy").run()
    assert not at.exception
    assert session.open.comparison.plans == ["greedy", "xla_compiled"]


def test_a_pick_on_the_maps_is_taken_over() -> None:
    at = compared("layouts")
    state = at.session_state["explorer"].open.comparison
    from ui.compare.layouts_view import _panels
    from ui.model.compare.sheet import identity_of

    identity = identity_of(_panels(at.session_state["explorer"]))
    told = {"plans": identity, "plan": 0, "group": 2, "slot": 5, "nonce": state.nonce}
    at.session_state["sheet"] = {"picked": told}
    at.run()
    assert not at.exception
    assert (state.group, state.slot) == (2, 5)
    assert any((b.key or "").startswith("picked_") for b in at.button)
    at.session_state["sheet"] = {"picked": {**told, "group": 3, "nonce": state.nonce - 1}}
    at.run()
    assert state.group == 2


def test_times_of_one_plan_and_of_two() -> None:
    at = compared("time")
    kinds, rows = at.dataframe[0].value, at.dataframe[1].value
    assert list(kinds["plan"]) == ["xla_compiled", "greedy"]
    change = kinds["total"][1] - kinds["total"][0]
    assert rows["total"].sum() == pytest.approx(change)
    box(at, "Compared with").set_value("nothing").run()
    assert not at.exception
    assert at.dataframe[1].value["total"].sum() == pytest.approx(kinds["total"][1])


def test_the_peak_advisor_makes_room_and_its_plan_can_be_kept() -> None:
    at = compared("peak", free="4")
    session = at.session_state["explorer"]
    assert "largest gap" in texts(at)
    at.button(key="relieve").click().run()
    run_until(at, lambda: any(b.key == "keep_relief" for b in at.button))
    told = texts(at)
    assert "Played again with this change" in told
    (wish,) = [n for n in at.number_input if n.label == "Free, MiB"]
    wish.set_value(5.0).run()
    assert "Played again with this change" not in texts(at), "it is no answer to this wish"
    wish.set_value(4.0).run()
    assert "Played again with this change" in texts(at)
    at.button(key="keep_relief").click().run()
    assert not at.exception
    (name,) = [n for n in session.open.plans if n.endswith("with room")]
    assert check(session.open.program, session.open.plans[name].plan) is None
    assert session.open.comparison.mode == "layouts"
    assert session.open.comparison.plans[1] == name


def test_the_fullest_slot_can_be_had_back_as_soon_as_it_was_left() -> None:
    at = opened(REAL, mode="peak")
    slot = lambda: next(s for s in at.slider if s.label == "Slot")  # noqa: E731
    fullest = slot().value
    assert at.button(key="fullest").disabled
    slot().set_value(2).run()
    assert not at.button(key="fullest").disabled
    at.button(key="fullest").click().run()
    assert not at.exception
    assert slot().value == fullest and at.button(key="fullest").disabled


def box(at: AppTest, label: str) -> Selectbox:
    return next(one for one in at.selectbox if one.label == label)


@pytest.mark.parametrize(
    ("mode", "label"),
    [
        ("layouts", "Baseline"),
        ("layouts", "Against"),
        ("gap", "Against"),
        ("time", "Compared with"),
    ],
)
def test_what_is_chosen_for_a_program_stays_with_it(mode: str, label: str) -> None:
    at = opened(TEACHING, mode=mode)
    session = at.session_state["explorer"]
    chosen = {TEACHING: "all_slow", "teach-prefetch": "xla_like"}
    for name in chosen:
        opening.open_named(session, name)
        session.open.comparison.mode = mode
        for solver in ("greedy", "density", "all_slow", "xla_like"):
            session.open.add_plan(solver, solve(solver, session.open.program))
        session.open.comparison.plans = ["greedy", "density"]
    for name, plan in chosen.items():
        box(at.run(), "Program").set_value(name).run()
        box(at, label).set_value(plan).run()
        assert not at.exception
        if mode == "layouts":
            at.toggle[0].set_value(name == TEACHING).run()
    for name, plan in chosen.items():
        box(at, "Program").set_value(name).run()
        assert session.program_name == name
        assert box(at, label).value == plan
        assert plan in session.open.comparison.plans[:2]
        if mode == "layouts":
            assert at.toggle[0].value == session.open.comparison.is_diff == (name == TEACHING)


def test_where_the_time_goes_begins_with_the_plan_that_was_chosen() -> None:
    at = opened(BEATEN.name, mode="time", plans="best known,xla_compiled")
    opened_now = at.session_state["explorer"].open
    opened_now.add_plan("slow", all_slow_plan(opened_now.program))
    at.run()
    kinds = lambda: next(t.value for t in at.dataframe if "plan" in t.value)  # noqa: E731
    assert list(kinds()["plan"]) == ["best known", "xla_compiled"]
    box(at, "Plan").set_value("slow").run()
    box(at, "Compared with").set_value("nothing").run()
    assert not at.exception
    assert next(iter(kinds()["plan"])) == "slow"
    box(at, "Compared with").set_value("xla_compiled").run()
    assert list(kinds()["plan"])[:2] == ["xla_compiled", "slow"]


def bring_plan(at: AppTest, name: str, plan: Plan) -> None:
    data = json.dumps(plan_to_json(plan)).encode()
    at.get("file_uploader")[0].set_value((name, data, "application/json")).run()
    at.button(key="open_plan_file").click().run()
    assert not at.exception


def test_a_plan_that_was_saved_can_be_opened() -> None:
    at = opened()
    session = at.session_state["explorer"]
    slow = all_slow_plan(session.open.program)
    for name in ("all_slow", "all_slow", "another"):
        bring_plan(at, f"{TEACHING}-{name}.plan.json", slow)
        assert not at.error
        assert list(session.open.plans) == ["greedy", "all_slow (file)"], "it is listed once"
    assert session.open.plans["all_slow (file)"].plan == slow
    bring_plan(at, f"{TEACHING}-all_slow.plan.json", solve("density", session.open.program))
    assert "all_slow (file) 2" in session.open.plans
    assert "all_slow (file)" in list(results_of(at).value["solver"])
    before = list(session.open.plans)
    bring_plan(at, "theirs.json", replace(slow, program_hash="0" * 16))
    (error,) = at.error
    assert "theirs.json" in error.value and "another program" in error.value
    assert list(session.open.plans) == before


def test_everything_can_be_taken_away() -> None:
    at = compared("runtimes")
    labels = [b.proto.label for b in at.get("download_button")]
    plan = {"Plan (JSON)", "Map (SVG)", "Timeline (Chrome trace)"}
    assert {"Reproducible bundle (zip)", "Runtimes (CSV)", *plan} <= set(labels)
    assert sum(f"greedy − {plain('xla_compiled')}" in label for label in labels) == 2


def test_a_click_on_the_chosen_tab_keeps_it() -> None:
    at = compared("layouts")
    (tabs,) = [g for g in at.get("button_group") if g.proto.id.count("mode_")]
    assert tabs.proto.required


def test_the_gap_of_two_plans_is_ranked_by_slots_with_its_causes() -> None:
    at = opened("llamadecode-v5e-b8", mode="gap", plans="best known,xla_compiled")
    assert not at.warning
    assert any("regains" in text.value for text in at.caption)
    table = next(t for t in at.dataframe if "share" in t.value).value
    assert list(table["cost"]) == sorted(table["cost"], reverse=True)
    assert str(table["tensor"].iloc[0]) in next(
        str(e.proto.body) for e in at.get("html") if "chain" in str(e.proto.body)
    )
    assert [b.label for b in at.button if b.label.startswith("Play “")] != []


def test_a_baseline_at_the_bound_is_called_optimal_and_nothing_regained_is_not_told() -> None:
    at = opened("t5-v5e-b24", mode="gap", plans="best known,xla_compiled")
    assert any("is optimal" in text.value for text in at.markdown)
    assert not any("regains" in text.value for text in at.caption)


def test_the_first_chart_comes_when_the_rest_is_drawn() -> None:
    at = opened(REAL, mode="runtimes")
    assert not at.get("plotly_chart")
    assert any("height:" in e.proto.body for e in at.get("html")), "its room is kept"
    at.session_state["losses_painted"] = {"painted": True}
    at.run()
    assert len(at.get("plotly_chart")) == 1
    at.session_state["losses_painted"] = {}
    at.run()
    assert len(at.get("plotly_chart")) == 1, "from then on it is there at once"


@pytest.mark.parametrize("mode", ["gap", "time", "layers", "roofline", "peak"])
def test_the_first_chart_waits_in_every_mode(mode: str) -> None:
    at = opened(BEATEN.name, mode=mode, plans="xla_compiled,best known")
    assert not at.exception and not at.get("plotly_chart")
    assert any("height:" in e.proto.body for e in at.get("html")), "its room is kept"
    at.session_state["explorer"].has_charts = True
    at.run()
    assert len(at.get("plotly_chart")) == 1


def test_every_export_is_made_when_it_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    saved: dict[str, object] = {}
    monkeypatch.setattr(
        exports_view, "_save", lambda label, data, name, *_: saved.update({name: data})
    )
    at = opened("llamadecode-v5e-b8", mode="layouts", plans="best known,xla_compiled")
    assert not at.exception
    endings = ("bundle.zip", "runtimes.csv", "kinds.csv", "tensors.csv", "instructions.csv")
    for ending in endings:
        made = next(data for name, data in saved.items() if name.endswith(ending))
        assert callable(made), "nothing is computed before"
        assert len(made()) > 100
