"""What is under way is seen on every page, and its end is said there."""

import time

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.program import library
from engine.solvers import solve
from tests.ui.waiting import SECONDS
from ui.jobs.protocol import DONE, FAILED, RUNNING, SOLVE, STOPPED, Order
from ui.jobs.queue import Workshop
from ui.jobs.run import Job, Run
from ui.session import jobs_view
from ui.session.jobs_view import bar_html
from ui.session.state import News, news_html

TEACHING = "teach-fragmentation"


PAGES = ("start", "learn", "challenges", "programs", "play", "search", "debug", "compare", "words")
PUSHED = ("learn", "play", "words")
"""At each push: one page with a program, one with lessons, one with neither."""


def _page(name: str) -> None:
    from importlib import import_module

    import_module(f"ui.{name}.page").render()


def shown(name: str) -> AppTest:
    """A page of a visitor who has a program open."""
    at = AppTest.from_function(_page, args=(name,), default_timeout=SECONDS).run()
    assert not at.exception
    at.session_state["explorer"].open_program(TEACHING, library.load_sample(TEACHING))
    return at


def told(at: AppTest) -> str:
    return " ".join(e.proto.body for e in at.get("html") if 'role="status"' in e.proto.body)


def bars(at: AppTest) -> str:
    return " ".join(e.proto.body for e in at.get("html") if "progressbar" in e.proto.body)


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=() if p in PUSHED else pytest.mark.nightly) for p in PAGES]
)
def test_a_job_is_seen_on_every_page_and_its_end_is_said(page: str) -> None:
    at = shown(page)
    session = at.session_state["explorer"]
    run = Run(Order(SOLVE, "evolution", 60.0), "me", state=RUNNING, message="40 games")
    run.began = time.monotonic()
    session.open.jobs.append(Job(run))
    at.run()
    assert "evolution" in bars(at) and "40 games" in bars(at)
    assert any((b.key or "").startswith("stop_") for b in at.button)
    run.state = FAILED
    run.error = "no luck"
    at.run()
    assert "evolution" not in bars(at)
    assert "evolution" in told(at) and "no luck" in told(at)
    assert told(at).count("no luck") == 1
    at.run()
    assert told(at).count("no luck") == 1, "once"


def test_the_jobs_can_be_made_small() -> None:
    at = shown("play")
    session = at.session_state["explorer"]
    for name in ("evolution", "local"):
        run = Run(Order(SOLVE, name, 60.0), "me", state=RUNNING, began=time.monotonic())
        session.open.jobs.append(Job(run))
    at.run()
    assert bars(at).count("progressbar") == 2
    at.button(key="jobs_small").click().run()
    assert bars(at).count("progressbar") == 1 and "2 jobs" in bars(at)
    at.button(key="jobs_large").click().run()
    assert bars(at).count("progressbar") == 2


def test_runs_from_before_a_reload_are_seen_and_stopped_without_their_program(
    idle_workshop: Workshop,
) -> None:
    at = shown("words")
    session = at.session_state["explorer"]
    session.programs.clear()
    session.program_name = ""
    sample = library.load_sample(TEACHING)
    for name in ("local", "random"):
        idle_workshop.start(sample, name, 10.0, owner=session.identity)
    idle_workshop.start(sample, "evolution", 10.0, owner="somebody else")
    at.run()
    assert all(f"{name} on {TEACHING}" in bars(at) for name in ("local", "random"))
    assert "evolution" not in bars(at)
    next(b for b in at.button if (b.key or "").startswith("stop_")).click().run()
    assert not at.exception and bars(at).count("progressbar") == 1
    (left,) = [job.run for job in idle_workshop.unfinished(session.identity)]
    left.plan, left.state = solve("random", sample), DONE
    at.run()
    assert not bars(at)
    assert f"random on {TEACHING}" in told(at) and told(at).count("is done") == 1
    at.run()
    assert told(at).count("is done") == 1, "once"


def _bars_alone() -> None:
    """The bars as they are drawn again and again; a page that runs anew awaits what is left."""
    import streamlit as st

    from ui.session import jobs_view
    from ui.session.state import current_session

    session = current_session()
    if st.session_state.get("is_anew"):
        session.awaited_jobs = [job for job in session.elsewhere if not job.is_over]
    st.session_state["is_anew"] = True
    jobs_view._bars()


def test_stop_is_heard_though_another_job_has_just_ended() -> None:
    at = AppTest.from_function(_bars_alone, default_timeout=SECONDS).run()
    session = at.session_state["explorer"]
    runs = [Run(Order(SOLVE, n, 9.0), "me", state=RUNNING, holders={"me"}) for n in ("a", "b")]
    session.elsewhere = session.awaited_jobs = [Job(run, "me") for run in runs]
    at.run()
    stop = [b for b in at.button if b.label == "Stop"][1]
    at.session_state["is_anew"], runs[0].state = False, STOPPED
    stop.click().run()
    assert not at.exception
    assert runs[1].state == STOPPED and not bars(at)


def test_a_run_is_listed_once_when_its_program_is_opened(idle_workshop: Workshop) -> None:
    at = shown("play")
    session = at.session_state["explorer"]
    sample = session.open.program
    idle_workshop.start(sample, "local", 10.0, owner=session.identity)
    at.run()
    assert bars(at).count("progressbar") == 1
    for job in idle_workshop.kept(sample, session.identity):
        session.open.adopt(job)
    at.run()
    assert bars(at).count("progressbar") == 1 and session.elsewhere == []


def test_a_page_runs_again_when_a_job_is_stopped_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in another tab of the same visitor: the run ends without any news."""
    at = shown("words")
    session = at.session_state["explorer"]
    run = Run(Order(SOLVE, "local", 10.0), "me", state=RUNNING, holders={"me"})
    session.open.jobs.append(Job(run, "me"))
    at.run()
    assert session.awaited_jobs == session.open.jobs
    Job(run, "me").stop()
    monkeypatch.setattr(jobs_view, "current_session", lambda: session)
    reruns: list[None] = []
    monkeypatch.setattr(st, "rerun", lambda: reruns.append(None))
    jobs_view._bars()
    assert len(reruns) == 1
    monkeypatch.undo()
    at.run()
    assert not at.exception and session.awaited_jobs == []


def test_a_finished_plan_is_listed_and_its_runtime_is_said() -> None:
    from engine.solvers import solve

    at = shown("play")
    session = at.session_state["explorer"]
    run = Run(Order(SOLVE, "random", 1.0), "me", state=DONE)
    run.plan = solve("random", session.open.program)
    session.open.jobs.append(Job(run))
    at.run()
    assert "is done: 120" in told(at)
    assert "random" in session.open.plans


def test_a_bar_without_a_known_share_says_so() -> None:
    assert "aria-valuenow" not in bar_html("x", "gets ready", None)
    assert 'aria-valuenow="25"' in bar_html("x", "", 0.25)
    assert "&lt;b&gt;" in bar_html("<b>", "", 0.5)


def test_news_fade_errors_later_and_are_text() -> None:
    now = [0.0]
    news = News(lambda: now[0])
    news.tell("greedy", "is done: <5 µs>")
    news.tell("local", "failed", is_error=True)
    assert "✓ <b>greedy</b> is done: &lt;5 µs&gt;" in news_html(news.items())
    now[0] = 10.0
    assert [item.subject for item in news.items()] == ["local"]
    now[0] = 30.0
    assert not news.items()
