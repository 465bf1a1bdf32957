"""The jobs under way, on every page: a bar for each with a button that stops it, and news."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps

import streamlit as st
from htpy import b, div, i, span

from ui.components.units import time_text
from ui.jobs.protocol import BOUND, FAILED, MUZERO, SOLVE
from ui.jobs.run import Job
from ui.session import caching
from ui.session.opening import PageEnds
from ui.session.state import OpenProgram, Session, current_session, news_html

_POLL_SECONDS = 0.7
_TITLES = {BOUND: "Lower bound", MUZERO: "The agent practises"}


def with_jobs(render: Callable[[], None]) -> Callable[[], None]:
    """The page `render` with the bars of the jobs under way, and news of those that have ended."""

    @wraps(render)
    def page() -> None:
        session = current_session()
        _look_elsewhere(session)
        _announce(session)
        before = _busy(session)
        with suppress(PageEnds):
            render()
        _look_elsewhere(session)
        busy = _busy(session)
        session.address = st.query_params.get("program", "")
        session.awaited_jobs = list(dict.fromkeys([*before, *busy]))
        with st.container(key="floating_jobs"):
            st.fragment(_bars, run_every=_POLL_SECONDS if busy else None)()

    return page


def _bars() -> None:
    """The news and the bars, drawn again and again; a job that has ended makes the page run."""
    session = current_session()
    if any(job.is_over for job in session.awaited_jobs) or any(j.has_news for j in _jobs(session)):
        st.rerun()
    st.html(news_html(session.news.items()))
    busy = _busy(session)
    if busy and session.are_jobs_small:
        _small_bar(session, busy)
        return
    for number, job in enumerate(busy):
        _bar(session, _program_of(session, job), job, is_first=number == 0)


def _look_elsewhere(session: Session) -> None:
    """Take up the visitor's runs that no open program holds; those that one holds by now go."""
    held = {job.run for _, job in session.jobs()}
    known = [j for j in session.elsewhere if j.run not in held and (j.has_news or not j.is_over)]
    held |= {job.run for job in known}
    found = caching.workshop().unfinished(session.identity)
    session.elsewhere = [*known, *(job for job in found if job.run not in held)]


def _jobs(session: Session) -> list[Job]:
    return [*(job for _, job in session.jobs()), *session.elsewhere]


def _busy(session: Session) -> list[Job]:
    return [job for job in _jobs(session) if not job.is_over]


def _program_of(session: Session, job: Job) -> str:
    """The name of a job's program, by which the visitor knows it if it is open."""
    names = (opened.name for opened, other in session.jobs() if other is job)
    return next(names, job.run.program)


def _small_bar(session: Session, jobs: Sequence[Job]) -> None:
    """One line for all jobs, which covers next to nothing of the page."""
    known = [job.progress for job in jobs if job.progress is not None]
    share = sum(known) / len(jobs) if len(known) == len(jobs) else None
    title = title_of(jobs[0]) if len(jobs) == 1 else f"{len(jobs)} jobs"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(bar_html(title, "", share), width="stretch")
        _size_button(session, is_small=False)


def _bar(session: Session, program: str, job: Job, *, is_first: bool) -> None:
    where = "" if program == session.program_name else f" on {program}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(bar_html(f"{title_of(job)}{where}", job.words, job.progress), width="stretch")
        # Called before anything is drawn: when another job has just ended, no bar is.
        st.button("Stop", key=f"stop_{id(job)}", on_click=job.stop)
        if is_first:
            _size_button(session, is_small=True)


def _size_button(session: Session, *, is_small: bool) -> None:
    """Show the button that makes the jobs small, or large again."""

    def change() -> None:
        session.are_jobs_small = is_small

    st.button(
        "",
        key="jobs_small" if is_small else "jobs_large",
        icon=":material/expand_more:" if is_small else ":material/expand_less:",
        help="Make this small" if is_small else "Show all jobs",
        on_click=change,
    )


def bar_html(title: str, words: str, share: float | None) -> str:
    """A bar as far as `share`; None: one that only shows that something happens."""
    percent = None if share is None else 100 * min(1.0, share)
    bar = div(
        class_="bar unknown" if percent is None else "bar",
        role="progressbar",
        aria_label=title,
        aria_valuenow=None if percent is None else f"{percent:.0f}",
    )[i(style=None if percent is None else f"width:{percent:.1f}%")]
    return str(div(".job")[b[title], " ", span[words], bar])


def title_of(job: Job) -> str:
    """The title of a job: the solver, or what the job is about."""
    return _TITLES.get(job.solver, job.solver)


def _announce(session: Session) -> None:
    """Add to the news, once for each job, that it has ended, and how."""
    ended: list[tuple[OpenProgram | None, Job]] = [*session.jobs()]
    ended += [(None, job) for job in session.elsewhere]
    for opened, job in ended:
        if not job.has_news:
            continue
        job.announce()
        name = f"{title_of(job)} on {opened.name if opened else job.run.program}"
        if job.state == FAILED:
            session.news.tell(name, f"failed: {job.error}", is_error=True)
        elif opened is None:
            session.news.tell(name, "is done; its program has it when it is opened or loaded anew")
        else:
            session.news.tell(name, f"is done{_outcome(opened, job)}")


def _outcome(opened: OpenProgram, job: Job) -> str:
    if job.bound_s is not None:
        return f": {time_text(job.bound_s)}"
    if job.order.kind != SOLVE or job.plan is None:
        return ""
    identity = opened.identity_of(job.plan)
    row = caching.row_of(identity, opened.program, job.plan, job.solver)
    return f": {time_text(row.latency_s)}" + (f", {row.remark}" if row.remark else "")
