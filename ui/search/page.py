"""Search: watch the agent think, move by move."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.errors import EngineError
from ui.compare.ranking import share_saved
from ui.components.glossary import about
from ui.components.units import share_text, time_text
from ui.jobs.weights import words
from ui.play import playing_on
from ui.play.film import Film
from ui.search import drift_view, inbox_view, jobs_view, training_view
from ui.search.messages import Root, curves, position_message
from ui.search.state import Thought, search_name
from ui.search.tree.component import SEARCH_TREE
from ui.session import caching, links, opening
from ui.session.jobs_view import with_jobs
from ui.session.program_picker_view import program_picker
from ui.session.state import Session, current_session

KEY = "search"
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
    opening.ensure_open(session)
    _collect(session)
    thought = session.open.searches.thought
    if thought is None:
        with st.columns([2.3, 6])[0]:
            program_picker(session)
        jobs_view.introduce(session)
        training_view.show_apart()
        # A link's move is kept until there is a game to show it in.
        move = {"move": st.query_params["move"]} if "move" in st.query_params else {}
        st.query_params.from_dict({"program": session.program_name, **move})
        return
    _header(session, thought)
    jobs_view.failures(session)
    _choose_first_move(session, thought)
    SEARCH_TREE.store(
        caching.search_game(
            _identity(session, thought),
            session.open.identity,
            session.open.program,
            thought.trace,
            session.open.bound_s,
        ),
        key="search_store",
    )
    _board()
    if session.open.searches.panel not in _FOLLOWING:
        _panel()


def _collect(session: Session) -> None:
    try:
        session.open.collect()
        session.open.searches.collect()
        failure = playing_on.take_result(session)
    except EngineError as error:
        failure = str(error)
    if failure:
        st.error(failure, icon=":material/error:")


def _identity(session: Session, thought: Thought) -> str:
    """Of the game as the browser draws it, the bound included."""
    return f"{thought.identity}~{session.open.bound_s}"


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
    """Where the link says, else where the agent was most surprised."""
    state, last = session.open.searches, thought.trace.num_moves - 1
    if state.move < 0:
        asked = st.query_params.get("move", "")
        order = caching.surprises_of(thought.identity, thought.trace).order()
        move = int(asked) - 1 if asked.isdecimal() else order[0] if order else 0
        state.jump(max(0, min(last, move)))


@st.fragment
def _board() -> None:
    """The searches of the current move; steps rerun only this."""
    session = current_session()
    state = session.open.searches
    thought = state.thought
    if thought is None:
        return
    identity = session.open.identity_of(thought.plan)
    film = caching.film_of(identity, session.open.program, thought.plan)
    order = _take(session, thought)
    if order is not None and order.get("do") == "open":
        open_line(session, thought, film, [int(a) for a in order["actions"]])
    roots = _roots(session, thought)
    par_s = thought.trace.par.astype(float) * thought.trace.point_s
    SEARCH_TREE.show(
        position_message(
            film.game_at(state.move), roots, par_s, _identity(session, thought), state.nonce
        ),
        key=KEY,
    )
    st.query_params.from_dict({"program": session.program_name, "move": str(state.move + 1)})
    if state.panel in _FOLLOWING:
        _panel()


def _take(session: Session, thought: Thought) -> dict[str, Any] | None:
    """What the visitor did on the view, unless the script has moved on since; its order if new."""
    state = session.open.searches
    told = st.session_state.get(KEY, {}).get("told")
    if not told or told["game"] != _identity(session, thought) or told["nonce"] != state.nonce:
        return None
    state.move = max(0, min(thought.trace.num_moves - 1, int(told["move"])))
    order: dict[str, Any] | None = told.get("order")
    if not order or order["serial"] == state.handled:
        return None
    state.handled = order["serial"]
    return order


def _roots(session: Session, thought: Thought) -> list[Root]:
    state = session.open.searches
    name = f"in the game · {search_name({}, thought.trace)}"
    roots = [Root(name, thought.trace, state.move)]
    for number, again in enumerate(state.of_move()):
        roots.append(Root(f"again {number + 1} · {again.name}", again.trace, 0))
    return roots


def open_line(session: Session, thought: Thought, film: Film, actions: list[int]) -> None:
    """Show a line of the search as a variation of the agent's game, in Play."""
    opened, move = session.open, session.open.searches.move
    name = next((n for n, p in opened.plans.items() if p.plan == thought.plan), None)
    if name is None:
        name = opened.free_name("muzero")
        opened.add_plan(name, thought.plan)
    session.show_plan(name)
    links.line_of(session, opened.plans[name]).branch((*film.actions[:move], *actions), "the agent")
    session.cursor.jump(move)
    st.switch_page(session.pages["play"])


@st.fragment
def _panel() -> None:
    """What else there is to see; only what follows the moves is sent again at each of them."""
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
        key="search_panel",
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
