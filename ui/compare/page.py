"""Compare: run solvers beside the page, and see their plans against the bound and each other."""

from __future__ import annotations

import streamlit as st

from ui.compare import (
    gap_view,
    layers_view,
    layouts_view,
    peak_view,
    roofline_view,
    runtimes_view,
    time_view,
)
from ui.compare.exports_view import export_button
from ui.components.glossary import about
from ui.components.markdown import plain
from ui.components.units import share_text, time_text
from ui.jobs.protocol import BOUND, FAILED, SOLVE, STOPPED
from ui.jobs.run import Job
from ui.model.compare.comparison import MODES
from ui.model.compare.ranking import Row, ranked
from ui.session import caching, links, opening
from ui.session.first_picture_view import first_picture
from ui.session.jobs_view import with_jobs
from ui.session.last_view import View
from ui.session.narrow_view import narrow_note
from ui.session.plan_file_view import plan_file_form
from ui.session.program_picker_view import program_picker
from ui.session.reading_view import warn_of_reading
from ui.session.state import OpenProgram, Session, current_session

_SHOWN = (SOLVE, BOUND)
"""Kinds of jobs that this page shows; others are shown where they were ordered."""
_SECONDS = (5, 10, 30, 60, 120, 300, 600)
_LINK_SECONDS = 10.0
_BOUND_SECONDS = 120.0


@with_jobs
def render() -> None:
    """The page."""
    session = current_session()
    narrow_note()
    with first_picture(session):
        opening.ensure_open(session)
        _rows(session)
    picker, *figures = st.columns([2.4, 1.2, 1.2, 1.2, 1.2], vertical_alignment="bottom")
    with picker:
        program_picker(session)
    opened = session.open
    if not opened.plans:
        opening.first_plan(session)
    if opened.bound_s is None and not _bound_jobs(opened):
        opening.order(session, BOUND, _BOUND_SECONDS)
    _order_expected(session)
    rows = _rows(session)
    opened.comparison.settle([row.solver for row in ranked(rows)])
    _figures(session, rows, figures)
    warn_of_reading(opened.program)
    _controls(session)
    _failures(opened)
    if rows:
        _mode_bar(session, rows)
        _body(session, rows)
    query = {**links.address(session), **opened.comparison.to_query()}
    st.query_params.from_dict(query)
    caching.last_views().put(session.identity, View("compare", query))


def _order_expected(session: Session) -> None:
    """Order the solvers that the link names and whose plans are not here yet."""
    opened, state = session.open, session.open.comparison
    known = caching.solver_names(opened.identity, opened.program)
    jobs = {job.solver: job for job in opened.jobs}
    for name in list(state.expected):
        if made := opened.plan_of(name):
            state.expected[state.expected.index(name)] = made
            continue
        if name not in known:
            state.expected.remove(name)
            lost = f"No plan or solver of this program is called “{name[:40]}”."
            session.notices.append(lost)
            st.warning(plain(lost), icon=":material/link_off:")
        elif name in jobs and jobs[name].state in (FAILED, STOPPED):
            state.expected.remove(name)
        elif name not in jobs:
            opening.order(session, name, _LINK_SECONDS)


def _rows(session: Session) -> list[Row]:
    session.collect()
    opened = session.open
    plans = opened.plans.values()
    return [caching.row_of(p.identity, opened.program, p.plan, p.name) for p in plans]


def _bound_jobs(opened: OpenProgram) -> list[Job]:
    return [job for job in opened.jobs if job.solver == BOUND]


def _figures(
    session: Session, rows: list[Row], places: list[st.delta_generator.DeltaGenerator]
) -> None:
    opened = session.open
    program, best = opened.program, ranked(rows)[0] if rows else None
    has_ended = all(job.state in (FAILED, STOPPED) for job in _bound_jobs(opened))
    is_lost = opened.bound_s is None and has_ended
    bound = "–" if is_lost else "…" if opened.bound_s is None else time_text(opened.bound_s)
    places[0].metric("All slow", time_text(program.all_slow_s), help=about("All slow"))
    whose = f" Here: {plain(best.solver)}." if best else ""
    fastest = time_text(best.latency_s) if best else "–"
    places[1].metric("Best plan", fastest, help=about("Best plan") + whose)
    places[2].metric("Lower bound", bound, help=about("Lower bound"))
    if is_lost and places[2].button("Compute it", key="bound_again", icon=":material/refresh:"):
        opening.order(session, BOUND, _BOUND_SECONDS)
        st.rerun()
    gap = "–"
    if best and opened.bound_s:
        gap = share_text(best.latency_s / opened.bound_s - 1)
    places[3].metric("Best over bound", gap, help=about("Best over bound"))


def _controls(session: Session) -> None:
    names = caching.solver_names(session.open.identity, session.open.program)
    chooser, seconds, seed, start = st.columns([4, 1.5, 0.8, 0.9], vertical_alignment="bottom")
    chosen = chooser.pills(
        "Solvers",
        list(names),
        selection_mode="multi",
        default=[n for n in ("xla_like", "greedy") if n in names],
        key="solvers",
        help="\n".join(f"- **{name}**: {text}" for name, text in names.items()),
    )
    budget = seconds.select_slider("Seconds each", _SECONDS, value=10, key="seconds")
    number = seed.number_input("Seed", 0, 10**6, value=0, key="seed")
    if start.button(
        "Run",
        type="primary",
        icon=":material/play_arrow:",
        key="run",
        width="stretch",
        disabled=not chosen,
    ):
        for name in chosen:
            opening.order(session, name, float(budget), int(number))
        st.rerun()


def _failures(opened: OpenProgram) -> None:
    for job in opened.jobs:
        if job.state == FAILED and job.order.kind in _SHOWN:
            st.error(f"**{plain(job.solver)}**: {plain(job.error)}", icon=":material/error:")


def _mode_bar(session: Session, rows: list[Row]) -> None:
    state = session.open.comparison
    switch, file, export = st.columns([5.2, 0.9, 0.9], vertical_alignment="center")
    chosen = switch.segmented_control(
        "View",
        list(MODES),
        format_func=MODES.__getitem__,
        default=state.mode,
        required=True,
        key=f"mode_{session.program_name}_{state.edition}",
        label_visibility="collapsed",
    )
    if chosen and chosen != state.mode:
        state.mode = chosen
    with file.popover("Open", icon=":material/upload_file:", width="stretch"):
        if plan_file_form(session):
            st.rerun()
    with export:
        export_button(session, rows)


def _body(session: Session, rows: list[Row]) -> None:
    mode = session.open.comparison.mode
    if mode == "layouts":
        layouts_view.show(session)
    elif mode == "gap":
        gap_view.show(session)
    elif mode == "time":
        time_view.show(session)
    elif mode == "layers":
        layers_view.show(session)
    elif mode == "roofline":
        roofline_view.show(session)
    elif mode == "peak":
        peak_view.show(session)
    else:
        runtimes_view.show(session, rows)
