"""Search: watch the agent think, move by move."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.errors import EngineError
from ui import caching, links, opening, playing_on
from ui.components.search_tree import SEARCH_TREE
from ui.session import Session, session
from ui.viewmodel.film import Film
from ui.viewmodel.ranking import share_saved
from ui.viewmodel.search_board import Root, curves, position_message
from ui.viewmodel.search_state import Thought, search_name
from ui.viewmodel.search_weights import words
from ui.viewmodel.units import share_text, time_text
from ui.views import search_drift, search_inbox, search_jobs, search_training
from ui.views.parts import program_picker

KEY = "search"
PANELS = {
    "inbox": "Surprising moves",
    "drift": "Imagined and real",
    "again": "Search this position again",
    "training": "Training",
}
_FOLLOWING = ("drift",)
"""Panels that show the current move."""


def render() -> None:
    """The page."""
    here = session()
    opening.ensure_open(here)
    _collect(here)
    thought = here.open.searches.thought
    if thought is None:
        with st.columns([2.3, 6])[0]:
            program_picker(here)
        search_jobs.introduce(here)
        search_training.show_apart()
        # A link's move is kept until there is a game to show it in.
        move = {"move": st.query_params["move"]} if "move" in st.query_params else {}
        st.query_params.from_dict({"program": here.program_name, **move})
        return
    _header(here, thought)
    with st.container(key="floating_jobs"):
        search_jobs.progress(here)
    _choose_first_move(here, thought)
    SEARCH_TREE.store(
        caching.search_game(
            _identity(here, thought),
            here.open.identity,
            here.open.program,
            thought.trace,
            here.open.bound_s,
        ),
        key="search_store",
    )
    _board()
    if here.open.searches.panel not in _FOLLOWING:
        _panel()


def _collect(here: Session) -> None:
    try:
        here.open.collect()
        here.open.searches.collect()
        failure = playing_on.take_result(here)
    except EngineError as error:
        failure = str(error)
    if failure:
        st.error(failure, icon=":material/error:")


def _identity(here: Session, thought: Thought) -> str:
    """Of the game as the browser draws it, the bound included."""
    return f"{thought.identity}~{here.open.bound_s}"


def _header(here: Session, thought: Thought) -> None:
    state = here.open.searches
    first, second, *figures, practise, file = st.columns(
        [2.2, 1.8, 1.15, 0.75, 1.25, 1.05, 0.8], vertical_alignment="bottom"
    )
    with first:
        program_picker(here)
    names = list(state.thoughts)
    chosen = second.selectbox(
        "The agent", names, names.index(state.current), key=f"thought_{len(names)}_{state.current}"
    )
    if chosen != state.current:
        state.show(chosen)
        st.rerun()
    _figures(here, thought, figures)
    with practise.popover("Practise", icon=":material/fitness_center:", width="stretch"):
        search_jobs.practice_form(here)
    with file.popover("File", icon=":material/save:", width="stretch"):
        search_jobs.files(here, thought)


def _figures(here: Session, thought: Thought, places: list[DeltaGenerator]) -> None:
    program, facts, final = here.open.program, thought.facts, curves(thought.trace).final
    share = share_saved(program, program.all_slow_s - final, here.open.bound_s)
    of = "the lower bound" if here.open.bound_s is not None else "all fast"
    weights = words(str(facts["weights"])) if "weights" in facts else "unknown weights"
    places[0].metric(
        "Best game saves",
        time_text(final),
        help=f"{share_text(share)} of what is possible between all slow and {of}",
    )
    games = f"{facts['games']:,}" if "games" in facts else "–"
    places[1].metric("Games", games, help="Played in its practice")
    count = thought.trace.tree_parent.shape[1] - 1
    places[2].metric(
        "Simulations a move",
        f"{count:,}",
        help=f"With the {thought.trace.model} model; the practice began with {weights}",
    )


def _choose_first_move(here: Session, thought: Thought) -> None:
    """Where the link says, else where the agent was most surprised."""
    state, last = here.open.searches, thought.trace.num_moves - 1
    if state.move < 0:
        asked = st.query_params.get("move", "")
        order = caching.surprises_of(thought.identity, thought.trace).order()
        move = int(asked) - 1 if asked.isdecimal() else order[0] if order else 0
        state.jump(max(0, min(last, move)))


@st.fragment
def _board() -> None:
    """The searches of the current move; steps rerun only this."""
    here = session()
    state = here.open.searches
    thought = state.thought
    if thought is None:
        return
    identity = here.open.identity_of(thought.plan)
    film = caching.film_of(identity, here.open.program, thought.plan)
    order = _take(here, thought)
    if order is not None and order.get("do") == "open":
        open_line(here, thought, film, [int(a) for a in order["actions"]])
    roots = _roots(here, thought)
    par_s = thought.trace.par.astype(float) * thought.trace.point_s
    SEARCH_TREE.show(
        position_message(
            film.game_at(state.move), roots, par_s, _identity(here, thought), state.nonce
        ),
        key=KEY,
    )
    st.query_params.from_dict({"program": here.program_name, "move": str(state.move + 1)})
    if state.panel in _FOLLOWING:
        _panel()


def _take(here: Session, thought: Thought) -> dict[str, Any] | None:
    """What the visitor did on the view, unless the script has moved on since; its order if new."""
    state = here.open.searches
    told = st.session_state.get(KEY, {}).get("told")
    if not told or told["game"] != _identity(here, thought) or told["nonce"] != state.nonce:
        return None
    state.move = max(0, min(thought.trace.num_moves - 1, int(told["move"])))
    order: dict[str, Any] | None = told.get("order")
    if not order or order["serial"] == state.obeyed:
        return None
    state.obeyed = order["serial"]
    return order


def _roots(here: Session, thought: Thought) -> list[Root]:
    state = here.open.searches
    name = f"in the game · {search_name({}, thought.trace)}"
    roots = [Root(name, thought.trace, state.move)]
    for number, again in enumerate(state.of_move()):
        roots.append(Root(f"again {number + 1} · {again.name}", again.trace, 0))
    return roots


def open_line(here: Session, thought: Thought, film: Film, actions: list[int]) -> None:
    """Show a line of the search as a variation of the agent's game, in Play."""
    opened, move = here.open, here.open.searches.move
    name = next((n for n, p in opened.plans.items() if p.plan == thought.plan), None)
    if name is None:
        name = opened.free_name("muzero")
        opened.add_plan(name, thought.plan)
    here.show_plan(name)
    links.line_of(here, opened.plans[name]).branch((*film.actions[:move], *actions), "the agent")
    here.cursor.jump(move)
    st.switch_page(here.pages["play"])


@st.fragment
def _panel() -> None:
    """What else there is to see; only what follows the moves is sent again at each of them."""
    here = session()
    state = here.open.searches
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
        search_inbox.show(here, thought)
    elif state.panel == "drift":
        search_drift.show(here, thought)
    elif state.panel == "again":
        search_jobs.again_form(here, thought)
    else:
        search_training.show()
