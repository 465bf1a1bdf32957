"""Compare, peak: who shares the fast memory at its fullest, and the cheapest way to make room."""

from __future__ import annotations

import streamlit as st

from engine.analysis.peak import fullest_slot, largest_hole, residents
from ui.compare.jumps_view import jump_buttons
from ui.components.markdown import plain
from ui.components.table_view import NOT_OBSERVED, chosen_row
from ui.jobs.protocol import DONE, FAILED, RELIEF
from ui.jobs.run import Job
from ui.model.compare.pressure import moment_text, occupancy, relief_text, resident_table
from ui.session import caching, opening
from ui.session.late_charts_view import late_chart
from ui.session.state import OpenPlan, Session, current_session

_MIB = 2**20


def show(session: Session) -> None:
    """Show who shares the fast memory at a slot of a plan, and the peak advisor."""
    state, names = session.open.comparison, list(session.open.plans)
    chooser, slider, button = st.columns([1.2, 3, 0.8], vertical_alignment="bottom")
    name = chooser.selectbox(
        "Plan", names, names.index(state.peak_plan), key=f"peak_plan_{session.program_name}"
    )
    if name != state.peak_plan:
        state.peak_plan, state.peak_slot = name, -1
        state.edition += 1
    plan = session.open.plans[name]
    fullest = fullest_slot(session.open.program, plan.plan)
    slot = min(state.peak_slot, session.open.program.num_slots - 1)
    slot = fullest if slot < 0 else slot
    chosen = slider.slider(
        "Slot",
        0,
        max(1, session.open.program.num_slots - 1),
        slot,
        key=f"peak_slot_{plan.identity}_{state.edition}",
    )
    if chosen != slot:
        state.peak_slot = slot = min(chosen, session.open.program.num_slots - 1)
    if button.button("Fullest", key="fullest", width="stretch", disabled=slot == fullest):
        state.peak_slot, state.edition = -1, state.edition + 1
        st.rerun()
    _moment(session, plan, slot)


def _moment(session: Session, plan: OpenPlan, slot: int) -> None:
    program = session.open.program
    late_chart(session, occupancy(program, plan.plan, slot), "occupancy")
    left, right = st.columns([1.7, 1], gap="medium")
    with left:
        st.markdown(moment_text(program, plan.plan, slot, largest_hole(program, plan.plan, slot)))
        _residents(session, plan, slot)
    with right:
        _advisor(session, plan, slot)


def _residents(session: Session, plan: OpenPlan, slot: int) -> None:
    rows = resident_table(session.open.program, residents(session.open.program, plan.plan, slot))
    if rows.empty:
        st.caption("No tensor is in fast memory then.")
        return
    key = f"residents_{plan.identity}_{slot}"
    picked = chosen_row(rows, _RESIDENTS, key, 340)
    if picked is not None:
        jump_buttons(session, [plan.name], slot, int(rows.iloc[picked]["group"]), "resident")


_RESIDENTS = {
    "address": st.column_config.TextColumn("Address", width="small"),
    "tensor": st.column_config.TextColumn("Tensor", width=150),
    "size": st.column_config.NumberColumn("MiB", width="small"),
    "slots": st.column_config.TextColumn("Stands in", width=130),
    "next": st.column_config.TextColumn("Next use", width=150),
    "saving": st.column_config.NumberColumn(
        "At stake, µs",
        width="small",
        help="Lost if slow memory serves the uses that it is there for: the next one, or all in the"
        " loop or branch that it must stay for",
    ),
    "uncounted": NOT_OBSERVED,
}


def _advisor(session: Session, plan: OpenPlan, slot: int) -> None:
    state, program = session.open.comparison, session.open.program
    with st.container(border=True):
        st.markdown("**Make room**")
        st.caption(
            "Finds the cheapest tensors to drop around this slot, then plays the game again without"
            " them to see what that really frees and costs."
        )
        most = program.hardware.fast_bytes / _MIB
        least = program.hardware.alignment / _MIB
        size, start = st.columns([1.4, 1], vertical_alignment="bottom")
        state.wanted_mib = size.number_input(
            "Free, MiB",
            least,
            most,
            min(max(least, state.wanted_mib), most),
            step=max(least, most / 128),
            format="%.6g",
            key=f"wanted_{session.program_name}",
        )
        if start.button("Find", type="primary", key="relieve", width="stretch"):
            _order(session, plan, slot)
        _answer(session, plan, slot)


def _order(session: Session, plan: OpenPlan, slot: int) -> None:
    opened = session.open
    for job in opened.jobs:
        if job.order.kind == RELIEF:
            job.stop()
    opened.jobs = [job for job in opened.jobs if job.order.kind != RELIEF]
    opened.jobs.append(
        caching.workshop().relieve(
            opened.program, plan.plan, plan.identity, slot, _wanted(session), session.identity
        )
    )


def _wanted(session: Session) -> int:
    return round(session.open.comparison.wanted_mib * _MIB)


def _question(job: Job) -> tuple[str, int, int]:
    """What a job of the advisor was asked: the plan's identity, the slot, the bytes wanted."""
    details = dict(job.order.details)
    return job.order.basis, int(details["slot"]), int(details["wanted"])


def _answer(session: Session, plan: OpenPlan, slot: int) -> None:
    job = next((j for j in session.open.jobs if j.order.kind == RELIEF), None)
    if job is None or _question(job) != (plan.identity, slot, _wanted(session)):
        return
    if not job.is_over:
        st.caption("The advisor plays the game again.")
    elif job.state == FAILED:
        st.error(plain(job.error), icon=":material/error:")
    elif job.state == DONE:
        _relief(session, plan, job)


def _relief(session: Session, plan: OpenPlan, job: Job) -> None:
    st.markdown(relief_text(session.open.program, job.result))
    if st.button("Keep it as a plan and compare", key="keep_relief", width="stretch"):
        _keep(plan, job)
        st.rerun()


def _keep(plan: OpenPlan, job: Job) -> None:
    session = current_session()
    assert job.plan is not None
    name = opening.keep_plan(session, f"{plan.name} with room", job.plan)
    state = session.open.comparison
    state.hold(plan.name, name)
    state.is_diff = True
    state.select(-1, int(dict(job.order.details)["slot"]))
