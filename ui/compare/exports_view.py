"""What can be taken away: plans, tables, pictures, and a bundle that reproduces them."""

from __future__ import annotations

import json
from functools import partial

import pandas as pd
import streamlit as st

from engine.analysis.attribution import Breakdown
from engine.analysis.bundle import bundle, file_name
from engine.analysis.chrome_trace import chrome_trace
from engine.plan.io import plan_to_json
from engine.program.provenance import uncounted_by_slot
from ui.components.map_svg import picture
from ui.components.markdown import plain
from ui.model.compare.differences import cost_table
from ui.model.compare.ranking import VALID, Row, table
from ui.model.compare.timing import kinds_table, time_table
from ui.session import caching
from ui.session.state import OpenPlan, Session


def export_button(session: Session, rows: list[Row]) -> None:
    """A small window with everything that can be saved of this comparison."""
    with st.popover("Export", icon=":material/download:", width="stretch"):
        _bundle(session)
        names = list(session.open.plans)
        state = session.open.comparison
        chosen = st.selectbox(
            "One plan",
            names,
            names.index(state.plans[0]) if state.plans else 0,
            key=f"export_plan_{session.program_name}",
        )
        _plan(session, session.open.plans[chosen])
        st.caption("Tables of what is compared")
        _tables(session, rows)


def _bundle(session: Session) -> None:
    opened = session.open
    plans = {name: plan.plan for name, plan in opened.plans.items()}
    _save(
        "Reproducible bundle (zip)",
        partial(bundle, opened.program, plans, st.context.url or ""),
        f"{file_name(opened.name)}-bundle.zip",
        "application/zip",
        "Program, all plans, expected figures, versions, and the commands that check them without"
        " the explorer",
    )


def _plan(session: Session, plan: OpenPlan) -> None:
    stem = f"{file_name(session.open.name)}-{file_name(plan.name)}"
    simulation = caching.simulation_of(plan.identity, session.open.program, plan.plan)
    json_place, svg_place = st.columns(2)
    with json_place:
        _save(
            "Plan (JSON)",
            lambda: json.dumps(plan_to_json(plan.plan), separators=(",", ":")),
            f"{stem}.plan.json",
            "application/json",
            "For `python -m engine check` and `simulate`",
        )
    with svg_place:
        _save(
            "Map (SVG)",
            lambda: picture(session.open.program, plan.plan, plan.name, simulation.latency_s),
            f"{stem}.svg",
            "image/svg+xml",
            "The memory map as a vector picture; the layouts have a button for PNG",
        )
    if caching.row_of(plan.identity, session.open.program, plan.plan, plan.name).verdict == VALID:
        _save(
            "Timeline (Chrome trace)",
            lambda: json.dumps(chrome_trace(session.open.program, plan.plan)),
            f"{stem}.trace.json",
            "application/json",
            "Compute, copies, stalls and memory, for Perfetto; as `python -m engine timeline`",
        )


def _tables(session: Session, rows: list[Row]) -> None:
    opened, state = session.open, session.open.comparison
    stem = file_name(opened.name)
    _save(
        "Runtimes (CSV)",
        lambda: table(opened.program, rows, opened.bound_s).to_csv(index=False),
        f"{stem}-runtimes.csv",
        "text/csv",
    )
    plans = [opened.plans[name] for name in state.plans]

    # Computed when somebody saves them: a large program takes long.
    def parts() -> list[Breakdown]:
        return [caching.breakdown_of(p.identity, opened.program, p.plan) for p in plans]

    _save(
        "Compute, slow accesses and stalls (CSV)",
        lambda: kinds_table([p.name for p in plans], parts()).to_csv(index=False),
        f"{stem}-kinds.csv",
        "text/csv",
    )
    if len(plans) < 2:
        return
    first, second = plans[:2]

    def costs() -> pd.DataFrame:
        differences, costs = caching.differences_of(
            (first.identity, second.identity), opened.program, first.plan, second.plan
        )
        return cost_table(opened.program, costs, differences)

    def times() -> pd.DataFrame:
        before, after = first.plan.is_fast, second.plan.is_fast
        uncounted = uncounted_by_slot(opened.program, after, before)
        old, new = parts()[:2]
        return time_table(opened.program, old, new, uncounted)

    less = f"{plain(second.name)} − {plain(first.name)}"
    pair = f"{stem}-{file_name(first.name)}-{file_name(second.name)}"
    _save(
        f"Tensors, {less} (CSV)",
        lambda: costs().to_csv(index=False),
        f"{pair}-tensors.csv",
        "text/csv",
    )
    _save(
        f"Instructions, {less} (CSV)",
        lambda: times().to_csv(index=False),
        f"{pair}-instructions.csv",
        "text/csv",
    )


def _save(label: str, data: object, name: str, mime: str, explanation: str | None = None) -> None:
    st.download_button(
        label,
        data=data,  # type: ignore[arg-type]
        file_name=name,
        mime=mime,
        help=explanation,
        on_click="ignore",
        key=f"save_{name}",
        width="stretch",
    )
