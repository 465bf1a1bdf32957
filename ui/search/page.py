"""Search: watch the agent think, move by move."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.debugging.game_curves import curves
from ui.components.glossary import about
from ui.components.units import share_text, time_text
from ui.jobs.weights import words
from ui.model.compare.ranking import share_saved
from ui.model.search.state import Thought
from ui.search import board_view, drift_view, inbox_view, jobs_view, training_view, watch_view
from ui.session import caching, links, recordings
from ui.session.jobs_view import with_jobs
from ui.session.link_query import move_of
from ui.session.narrow_view import narrow_note
from ui.session.program_picker_view import program_picker
from ui.session.state import Session, current_session

KEY, STORE = "search", "search_store"
PANELS = {
    "inbox": "Surprising moves",
    "drift": "Imagined and real",
    "again": "Search this position again",
    "training": "Training",
}
_FOLLOWING = ("drift",)
"""Panels that show the current move."""


@with_jobs
def render() -> None:
    """The page."""
    session = current_session()
    narrow_note()
    recordings.ensure_open(session)
    recordings.take_up(session.open)
    board_view.collect(session)
    thought = session.open.searches.thought
    if thought is None:
        watch_view.first_game(session)
        with st.columns([2.3, 6])[0]:
            program_picker(session)
        jobs_view.introduce(session)
        training_view.show_apart()
        # A link's move is kept until there is a game to show it in.
        move = {"move": st.query_params["move"]} if "move" in st.query_params else {}
        st.query_params.from_dict({**links.address(session), **move})
        return
    session.open.searches.rows = None
    _header(session, thought)
    watch_view.recorded_note(session, thought)
    jobs_view.failures(session)
    _choose_first_move(session, thought)
    board_view.store(session, thought, STORE)
    _board()
    if session.open.searches.panel not in _FOLLOWING:
        _panel()


def _header(session: Session, thought: Thought) -> None:
    state = session.open.searches
    first, second, *figures, practise, file = st.columns(
        [2.2, 1.8, 1.15, 0.75, 1.25, 1.05, 0.8], vertical_alignment="bottom"
    )
    with first:
        program_picker(session)
    names = list(state.thoughts)
    chosen = second.selectbox(
        "The agent", names, names.index(state.current), key=f"thought_{len(names)}_{state.current}"
    )
    if chosen != state.current:
        state.show(chosen)
        st.rerun()
    _figures(session, thought, figures)
    if not thought.facts.get("recorded"):
        with practise.popover("Practise", icon=":material/fitness_center:", width="stretch"):
            jobs_view.practice_form(session)
    with file.popover("File", icon=":material/save:", width="stretch"):
        jobs_view.files(session, thought)


def _figures(session: Session, thought: Thought, places: list[DeltaGenerator]) -> None:
    program, facts, final = session.open.program, thought.facts, curves(thought.trace).final
    share = share_saved(program, program.all_slow_s - final, session.open.bound_s)
    of = "the lower bound" if session.open.bound_s is not None else "all fast"
    weights = words(str(facts["weights"])) if "weights" in facts else "unknown weights"
    places[0].metric(
        "Best game saves",
        time_text(final),
        help=f"{about('Best game saves')} Here: {share_text(share)}, between all slow and {of}.",
    )
    games = f"{facts['games']:,}" if "games" in facts else "–"
    places[1].metric("Games", games, help=about("Games"))
    count = thought.trace.tree_parent.shape[1] - 1
    places[2].metric(
        "Simulations a move",
        f"{count:,}",
        help=f"{about('Simulations a move')} Here: {thought.trace.model} model, from {weights}.",
    )


def _choose_first_move(session: Session, thought: Thought) -> None:
    """Go to the link's move, else to the one that surprised the agent most, at the first visit."""
    state = session.open.searches
    if state.move < 0:
        asked, _ = move_of(st.query_params.to_dict(), thought.trace.num_moves)
        order = caching.surprises_of(thought.identity, thought.trace).order()
        state.jump(order[0] if asked is None and order else asked or 0)


@st.fragment
def _board() -> None:
    """The searches of the current move; steps rerun only this."""
    session = current_session()
    state = session.open.searches
    if state.thought is None:
        return
    board_view.show(session, state.thought, KEY)
    st.query_params.from_dict({**links.address(session), "move": str(state.move + 1)})
    if state.panel in _FOLLOWING:
        _panel()


@st.fragment
def _panel() -> None:
    """The panel below the board; only a panel that follows the moves is sent at each of them."""
    session = current_session()
    state = session.open.searches
    thought = state.thought
    if thought is None:
        return
    chosen = st.segmented_control(
        "More",
        list(PANELS),
        format_func=PANELS.__getitem__,
        default=state.panel,
        required=True,
        key=f"search_panel_{session.program_name}",
        label_visibility="collapsed",
    )
    if chosen is not None and chosen != state.panel:
        state.panel = chosen
        st.rerun()
    if state.panel == "inbox":
        inbox_view.show(session, thought)
    elif state.panel == "drift":
        drift_view.show(session, thought)
    elif state.panel == "again":
        jobs_view.again_form(session, thought)
    else:
        training_view.show()
