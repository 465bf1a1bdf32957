"""Compare: run solvers beside the page, and see their plans against the bound and each other."""

from __future__ import annotations

import streamlit as st

from ui import caching, opening
from ui.jobs import FAILED, RUNNING, Job
from ui.session import OpenProgram, Session, session
from ui.viewmodel.charts import losses
from ui.viewmodel.ranking import Row, ranked, table
from ui.viewmodel.units import share_text, time_text
from ui.views.parts import program_picker
from ui.worker import BOUND

_SECONDS = (5, 10, 30, 60, 120, 300, 600)
_BOUND_SECONDS = 120.0
_POLL_SECONDS = 0.7


def render() -> None:
    """The page."""
    here = session()
    opening.ensure_open(here)
    picker, *figures = st.columns([2.4, 1.2, 1.2, 1.2, 1.2], vertical_alignment="bottom")
    with picker:
        program_picker(here)
    opened = here.open
    if not opened.plans:
        opening.first_plan(here)
    if opened.bound_s is None and not any(job.solver == BOUND for job in opened.jobs):
        _start(opened, BOUND, _BOUND_SECONDS)
    rows = _rows(opened)
    _figures(opened, rows, figures)
    _controls(opened)
    if opened.jobs:
        _progress()
    if rows:
        figure = losses(opened.program, rows, opened.bound_s)
        st.plotly_chart(figure, key="losses", config={"displayModeBar": False})
        _results(here, rows)


def _rows(opened: OpenProgram) -> list[Row]:
    opened.collect()
    plans = opened.plans.values()
    return [caching.row_of(p.identity, opened.program, p.plan, p.name) for p in plans]


def _figures(
    opened: OpenProgram, rows: list[Row], places: list[st.delta_generator.DeltaGenerator]
) -> None:
    program, best = opened.program, ranked(rows)[0] if rows else None
    bound = time_text(opened.bound_s) if opened.bound_s is not None else "…"
    places[0].metric("All slow", time_text(program.all_slow_s), help="Nothing in fast memory")
    places[1].metric(
        "Best plan", time_text(best.latency_s) if best else "–", help=best.solver if best else None
    )
    places[2].metric("Lower bound", bound, help="No valid plan can be faster than this")
    gap = "–"
    if best and opened.bound_s:
        gap = share_text(best.latency_s / opened.bound_s - 1)
    places[3].metric("Best over bound", gap, help="The most that any plan could still gain")


def _controls(opened: OpenProgram) -> None:
    names = caching.solver_names(opened.identity, opened.program)
    chooser, seconds, start = st.columns([4, 1.6, 1], vertical_alignment="bottom")
    chosen = chooser.pills(
        "Solvers",
        list(names),
        selection_mode="multi",
        default=[n for n in ("xla_like", "greedy") if n in names],
        help="\n".join(f"- **{name}**: {text}" for name, text in names.items()),
    )
    budget = seconds.select_slider("Seconds each", _SECONDS, value=10)
    if start.button(
        "Run",
        type="primary",
        icon=":material/play_arrow:",
        key="run",
        width="stretch",
        disabled=not chosen,
    ):
        for name in chosen:
            _start(opened, name, float(budget))
        st.rerun()


def _start(opened: OpenProgram, solver: str, seconds: float) -> None:
    opened.jobs = [j for j in opened.jobs if j.solver != solver or not j.is_over]
    opened.jobs.append(caching.workshop().start(opened.program, solver, seconds))


def _progress() -> None:
    """The runs; polls as long as one is under way, then lets the page take in the results."""
    every = _POLL_SECONDS if session().open.is_busy else None

    @st.fragment(run_every=every)
    def runs() -> None:
        opened = session().open
        if opened.collect() or (every is not None and not opened.is_busy):
            st.rerun()
        for job in opened.jobs:
            if not job.is_over:
                _running(job)
            elif job.state == FAILED:
                st.error(f"**{job.solver}**: {job.error}", icon=":material/error:")

    runs()


def _running(job: Job) -> None:
    bar, button = st.columns([9, 1], vertical_alignment="center")
    name = "lower bound" if job.solver == BOUND else job.solver
    text = (
        f"**{name}** · {job.message or job.state}" if job.state == RUNNING else f"**{name}** waits"
    )
    bar.progress(job.progress, text=text)
    if button.button("Stop", key=f"stop_{id(job)}", width="stretch"):
        job.stop()
        st.rerun()


def _results(here: Session, rows: list[Row]) -> None:
    program, bound_s = here.open.program, here.open.bound_s
    columns = table(program, rows, bound_s)
    chosen = st.dataframe(
        columns,
        key="results",
        hide_index=True,
        on_select="rerun",
        selection_mode="single-cell",
        column_config={
            "solver": st.column_config.TextColumn("Plan"),
            "runtime": st.column_config.NumberColumn("Runtime, µs", format="%.1f"),
            "saved": st.column_config.ProgressColumn(
                "Saved of what is possible", format="%.1f %%", min_value=0, max_value=100
            ),
            "over": st.column_config.NumberColumn("Over bound", format="%.2f %%"),
            "stalls": st.column_config.NumberColumn("Stalls, µs", format="%.1f"),
            "checker": st.column_config.TextColumn("Checker"),
            "stays": st.column_config.NumberColumn("Stays"),
            "copies": st.column_config.NumberColumn("Copies"),
            "seconds": st.column_config.TextColumn("Solved in"),
        },
    )
    picked = chosen.selection.cells
    name = columns["solver"][picked[0][0]] if picked else None
    if st.button(
        f"Open {name} on the map" if name else "Choose a row above to open its plan on the map",
        key="open_plan",
        disabled=name is None,
        icon=":material/memory:",
    ):
        here.show_plan(str(name))
        st.switch_page(here.pages["play"])
