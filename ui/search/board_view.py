"""The canvas of a game's searches, as Search and Debug show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from engine.debugging.findings import inbox
from engine.errors import EngineError
from ui.components.markdown import plain
from ui.model.play.film import Film
from ui.model.search.messages import Root, position_message
from ui.model.search.state import Thought, search_name
from ui.play import playing_on
from ui.search.tree.component import SEARCH_TREE
from ui.session import caching, films
from ui.session.state import Session


def collect(session: Session) -> None:
    """Take in the results of finished jobs; an error is shown on the page."""
    try:
        session.collect()
        session.open.searches.collect()
        failure = playing_on.take_result(session)
    except EngineError as error:
        failure = str(error)
    if failure:
        st.error(plain(failure), icon=":material/error:")


def identity_of(session: Session, thought: Thought) -> str:
    """Identity of the game as the browser draws it: with bound, classes, the rows of the inbox."""
    state = session.open.searches
    study = state.studies.get(thought.identity)
    known = "" if study is None else f"~{study.completeness:.6f}"
    rows = "" if state.rows is None else f"~{hash(state.rows):x}"
    return f"{thought.identity}~{session.open.bound_s}{known}{rows}"


def store(session: Session, thought: Thought, key: str) -> None:
    """Send the browser the message of the whole game (`ui.model.search.messages`)."""
    state = session.open.searches
    study = state.studies.get(thought.identity)
    findings = () if study is None else study.findings
    rows = state.rows
    if rows is None:
        rows = tuple(f.move for f in inbox(findings) if f.verdict)
    SEARCH_TREE.store(
        caching.search_game(
            identity_of(session, thought),
            session.open.identity,
            session.open.program,
            thought.trace,
            session.open.bound_s,
            {f.move: f.verdict for f in findings if f.verdict},
            rows,
        ),
        key=key,
    )


def show(session: Session, thought: Thought, key: str) -> None:
    """Show the searches of the current move, and carry out the view's order; for a fragment."""
    state = session.open.searches
    identity = session.open.identity_of(thought.plan)
    film = films.film_of(session.open, thought.plan, identity)
    order = _take(session, thought, key)
    if order is not None and order.get("do") == "open":
        open_line(session, thought, film, [int(a) for a in order["actions"]])
    par_s = thought.trace.par.astype(float) * thought.trace.point_s
    SEARCH_TREE.show(
        position_message(
            film.game_at(state.move),
            _roots(session, thought),
            par_s,
            identity_of(session, thought),
            state.nonce,
            state.beside,
        ),
        key=key,
    )


def _take(session: Session, thought: Thought, key: str) -> Mapping[str, Any] | None:
    """Take over the move of the view; returns the view's order if that is new, else None.

    The view's cursor is ignored if it is of another game, or if the script has jumped since.
    """
    state = session.open.searches
    cursor = dict(st.session_state.get(key, {}).get("cursor") or {})
    order = session.take_command(key, cursor)
    if not cursor or cursor["nonce"] != state.nonce:
        return None
    # What is known of the same game may have grown since; its moves are the same.
    if str(cursor["game"]).partition("~")[0] != thought.identity:
        return None
    state.move = max(0, min(thought.trace.num_moves - 1, int(cursor["move"])))
    return order


def _roots(session: Session, thought: Thought) -> list[Root]:
    """The search of the game, those of its other traces, and those of this position alone."""
    state = session.open.searches
    roots = [Root(f"in the game · {search_name({}, thought.trace)}", thought.trace, state.move)]
    roots += [Root(f"beside it · {s.name}", s.trace, state.move) for s in state.of_game()]
    for number, again in enumerate(state.of_move()):
        roots.append(Root(f"again {number + 1} · {again.name}", again.trace, 0))
    return roots


def open_line(session: Session, thought: Thought, film: Film, actions: list[int]) -> None:
    """Show a line of the search as a variation of the agent's game, in Play."""
    move = session.open.searches.move
    open_game(session, thought, (*film.actions[:move], *actions), "the agent", move)


def open_game(
    session: Session, thought: Thought, actions: tuple[int, ...], by: str, move: int
) -> None:
    """Show another game, or its beginning, as a variation of the agent's game, in Play."""
    opened = session.open
    name = next((n for n, p in opened.plans.items() if p.plan == thought.plan), None)
    if name is None:
        name = opened.free_name("muzero")
        opened.add_plan(name, thought.plan)
    session.show_plan(name)
    films.line_of(session, opened.plans[name]).branch(actions, by)
    session.cursor.jump(move)
    st.switch_page(session.pages["play"])
