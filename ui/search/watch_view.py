"""Search and Debug are never empty: the agent's game that is made at first sight."""

from __future__ import annotations

import streamlit as st

from engine.game.moves import RULES_VERSION
from ui.components.markdown import plain
from ui.components.units import share_text
from ui.jobs.protocol import FAILED, STOPPED
from ui.jobs.weights import words
from ui.model.search.state import Thought
from ui.search import jobs_view
from ui.session import caching, opening, recordings
from ui.session.state import Session

_MOST_OFFERED = 4


def first_game(session: Session) -> None:
    """Ask for a game to look at, once for each program, and say how that goes."""
    opened, state = session.open, session.open.searches
    if not state.is_watched:
        state.is_watched = True
        order_game(session)
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
        order_game(session)
        st.rerun()
    _other_games(session)


def _other_games(session: Session) -> None:
    """Offer the recorded games of other programs, for which nobody has to wait."""
    names = recordings.names(_MOST_OFFERED)
    if not names:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="recorded_games"):
        st.caption("Recorded games, at once:", width="content")
        for name in names:
            if st.button(name, key=f"recorded_{name}") and opening.try_open(session, name):
                st.query_params.clear()
                st.rerun()


def order_game(session: Session) -> None:
    """Order the game; a run of it that an earlier visit left is the same one."""
    order, game = recordings.first_order(session.open)
    job = caching.workshop().order(session.open.program, order, session.identity, game)
    searches = session.open.searches
    searches.jobs = [*(j for j in searches.jobs if j.run is not job.run), job]


def recorded_note(session: Session, thought: Thought) -> None:
    """Say that a game was recorded, with what weights, and offer to practise here."""
    digest = str(thought.facts.get("recorded", ""))
    if not digest:
        return
    study = session.open.searches.studies.get(thought.identity)
    known = ""
    if study is not None:
        share = share_text(study.completeness, 0)
        known = f" The cost of {share} of its moves with a choice was measured."
    with st.container(key="recorded"):
        text, practise = st.columns([5, 1], vertical_alignment="center")
    text.caption(
        f"A recorded game of {words(str(thought.facts['weights']))} (`{digest[:8]}`, version"
        f" {RULES_VERSION} of the rules), with both searches.{known}"
    )
    with practise.popover("Practise here", icon=":material/fitness_center:", width="stretch"):
        jobs_view.practice_form(session)
