"""Search and Debug are never empty: the agent's game that is made at first sight."""

from __future__ import annotations

import streamlit as st

from ui.components.markdown import plain
from ui.jobs.protocol import FAILED, STOPPED
from ui.jobs.run import Job
from ui.model.search.watch import best_game, order_of
from ui.session import caching, films
from ui.session.opening import BEST_KNOWN
from ui.session.state import Session


def first_game(session: Session) -> None:
    """Ask for a game to look at, once for each program, and say how that goes."""
    opened, state = session.open, session.open.searches
    if not state.is_watched:
        state.is_watched = True
        state.jobs.append(_order(session))
    job = next((j for j in state.jobs if not j.is_over), None)
    if job is not None:
        st.info(
            f"You will see **{job.order.name}** on {plain(opened.name)} with all its searches."
            " That takes a minute, on a busy machine several; the bar below says how far it is. You"
            " can go to another page meanwhile.",
            icon=":material/hourglass_empty:",
        )
    elif any(j.state in (FAILED, STOPPED) for j in state.jobs) and st.button(
        "Let the agent play a game", key="watch_again", icon=":material/replay:"
    ):
        state.jobs.append(_order(session))
        st.rerun()


def _order(session: Session) -> Job:
    opened = session.open
    known = opened.plans.get(BEST_KNOWN)
    game = best_game(None if known is None else known.plan)
    if game is not None and known is not None:
        film = films.film_of(opened, game, known.identity)
        game = game if film.is_exact else None
    return caching.workshop().order(opened.program, order_of(game), session.identity, game)
