"""Search: letting the agent practise, searching again, traces as files."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from engine.errors import EngineError
from ui.components.markdown import plain
from ui.jobs.protocol import (
    FAILED,
    MUZERO,
    RESEARCH,
    SOLVE,
    STOPPED,
    TRACE,
    Order,
)
from ui.jobs.run import Job
from ui.jobs.weights import FRESH, PRACTISED, shipped, words
from ui.model.search.orders import findings_order
from ui.model.search.state import Thought, brought
from ui.session import caching
from ui.session.best_plan import best_beside, files_of
from ui.session.jobs_view import title_of
from ui.session.state import Session

FIRST_SECONDS = 30
_SECONDS = (10, 30, 60, 120, 300, 600, 1800)
_SIMULATIONS = (8, 16, 32, 64, 128)
_AGAIN = (1, 8, 32, 100, 300, 1000, 3000, 10_000)
_MOST_REAL = 1000
"""Simulations with the real rules: each copies all positions so far, so ten times as many take a
hundred times as long."""
_AGAIN_SECONDS = 60.0
"""Expected time of another search, for the job's bar; much of it is getting ready."""
_MODELS = {"learned": "what the agent learned", "simulator": "the real rules"}
_ALGORITHMS = {"gumbel": "Gumbel MuZero", "muzero": "classic MuZero"}
_WHAT = (
    "At every move the agent asks its networks how good each action looks, and *searches*: it"
    " imagines many possible continuations and spends most of them on the actions that turn out"
    " well. Here its best game is searched move by move: the tree it grew, how its opinion changed"
    " with every simulation, and what it expects the memory to look like. Let it practise on this"
    " program first; its best game then also appears among the plans in Play and Compare."
)
_IN_PRACTICE = (
    "First every other action along the best game is tried, without search. After that the agent"
    " searches in every fifth round; in the others its networks play alone."
)


def introduce(session: Session) -> None:
    """Say what a search is, and offer the practice that makes one to look at."""
    with st.container(border=True):
        st.subheader("Watch the agent think", anchor=False)
        st.markdown(_WHAT)
        job = _practice(session)
        if job is not None and not job.is_over:
            st.caption("The agent practises. You can go to another page meanwhile.")
            return
        failures(session)
        button, note = st.columns([1.4, 3], vertical_alignment="center")
        if button.button(
            f"Let the agent practise for {FIRST_SECONDS} s",
            type="primary",
            icon=":material/fitness_center:",
            key="practise_first",
            width="stretch",
        ):
            _order_practice(session, FIRST_SECONDS, 0, ())
            st.rerun()
        note.caption(f"It begins with {words(_begin())}. Getting ready takes a while longer.")
    more, file = st.columns(2)
    with more.expander("Practise otherwise", icon=":material/tune:"):
        practice_form(session)
    with file.expander("Open a trace file", icon=":material/upload_file:"):
        upload(session)


def _begin() -> str:
    return next(iter(shipped()), FRESH)


def practice_form(session: Session) -> None:
    """A form with all settings of a practice."""
    with st.form(f"practice_{session.program_name}", border=False):
        seconds = st.select_slider("Seconds", _SECONDS, value=FIRST_SECONDS)
        count = st.select_slider(
            "Simulations a move", _SIMULATIONS, value=_SIMULATIONS[0], help=_IN_PRACTICE
        )
        model = st.selectbox("Imagines with", list(_MODELS), format_func=_MODELS.__getitem__)
        weights = st.selectbox("Begins with", [*shipped(), FRESH], format_func=words)
        seed = st.number_input("Seed", 0, 10**6, value=0)
        if not shipped():
            st.caption("No trained checkpoint came with this copy, so it begins untrained.")
        is_sent = st.form_submit_button("Practise", type="primary", width="stretch")
    if is_sent:
        details = (("checkpoint", weights), ("model", model), ("simulations", int(count)))
        _order_practice(session, float(seconds), int(seed), details)
        st.rerun()


def _order_practice(
    session: Session, seconds: float, seed: int, details: tuple[tuple[str, int | str], ...]
) -> None:
    order = Order(SOLVE, MUZERO, seconds, seed, details=details)
    opened = session.open
    opened.jobs = [j for j in opened.jobs if j.solver != MUZERO or not j.is_over]
    opened.jobs.append(caching.workshop().order(opened.program, order, session.identity))


def _practice(session: Session) -> Job | None:
    return next((j for j in session.open.jobs if j.solver == MUZERO), None)


def failures(session: Session) -> None:
    """Show the errors of the jobs of this page that have failed."""
    for job in _jobs(session):
        if job.state == FAILED:
            st.error(f"**{plain(title_of(job))}**: {plain(job.error)}", icon=":material/error:")


def _jobs(session: Session) -> list[Job]:
    practice = _practice(session)
    jobs = [practice] if practice is not None else []
    return [*jobs, *session.open.searches.jobs]


def again_form(session: Session, thought: Thought) -> None:
    """A form that orders another search of the position that is shown."""
    sizes, model, algorithm, weights, button = st.columns(
        [2.2, 1.5, 1.3, 1.7, 1], vertical_alignment="bottom"
    )
    count = sizes.select_slider("Simulations", _AGAIN, value=300, key="again_count")
    imagined = model.selectbox(
        "Imagines with", list(_MODELS), format_func=_MODELS.__getitem__, key="again_model"
    )
    method = algorithm.selectbox(
        "Algorithm", list(_ALGORITHMS), format_func=_ALGORITHMS.__getitem__, key="again_algorithm"
    )
    known = [PRACTISED] if thought.weights else []
    chosen = weights.selectbox(
        "Weights", [*known, *shipped(), FRESH], format_func=words, key="again_weights"
    )
    is_too_much = imagined == "simulator" and int(count) > _MOST_REAL
    if button.button("Search", type="primary", key="again", width="stretch", disabled=is_too_much):
        details = (
            ("move", session.open.searches.move),
            ("simulations", int(count)),
            ("model", imagined),
            ("algorithm", method),
            ("weights", chosen),
        )
        order = Order(
            RESEARCH,
            f"Search of move {session.open.searches.move + 1:,}",
            _AGAIN_SECONDS,
            basis=thought.identity,
            details=details,
        )
        start(session, thought, order, thought.weights if chosen == PRACTISED else {})
        st.rerun()
    st.caption(
        "The result is shown beside the search of the game as soon as it is there. The learned"
        " model forbids nothing below the root and may imagine wrongly; with the real rules it"
        f" cannot, but takes longer, so that it is limited to {_MOST_REAL:,} simulations."
    )


def order_findings(session: Session, thought: Thought, seconds: float) -> None:
    """Order the study that makes findings on the moves of the game."""
    best = best_beside(session.open, thought.plan)
    start(
        session, thought, findings_order(thought, seconds), {TRACE: thought.data, **files_of(best)}
    )


def start(session: Session, thought: Thought, order: Order, given: Mapping[str, bytes]) -> None:
    """Order work that starts from a game; what has failed leaves the list."""
    opened = session.open
    job = caching.workshop().order(opened.program, order, session.identity, thought.plan, given)
    gone = (FAILED, STOPPED)
    kept = [j for j in opened.searches.jobs if j.state not in gone and j.run is not job.run]
    opened.searches.jobs = [*kept, job]


def files(session: Session, thought: Thought) -> None:
    """A button that saves the trace as a file, and a field that opens one."""
    st.download_button(
        "Save this trace (npz)",
        data=thought.data,
        file_name=f"{session.program_name}-muzero.trace.npz".replace(" ", "-"),
        mime="application/octet-stream",
        help="All searches of the game; NumPy arrays, see `engine/agent/trace_io.py`",
        on_click="ignore",
        key="save_trace",
        width="stretch",
    )
    upload(session)


def upload(session: Session) -> None:
    """A field for a trace file, and the button that opens it."""
    file = st.file_uploader(
        "A trace of this program", type="npz", key="trace_file",
        help="As saved here, or by `python -m engine solve … --solver muzero --trace FILE`",
    )  # fmt: skip

    def open_file() -> None:
        assert file is not None
        try:
            session.open.searches.add(brought(session.open.program, file.getvalue(), file.name))
        except EngineError as error:
            why = str(error).removeprefix(f"{file.name}: ")
            session.news.tell(file.name, f"cannot be opened: {why}", is_error=True)

    st.button("Open", key="open_trace", disabled=file is None, on_click=open_file, width="stretch")
