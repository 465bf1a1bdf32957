"""Start: what this is, in one sentence and half a minute, and where to go from here."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.program.library import SampleEntry
from ui.components.markdown import plain
from ui.components.memory_map.component import HOW_TO_READ, MEMORY_MAP
from ui.model.programs.catalogue import card_html
from ui.model.start.toy import SECONDS, telling
from ui.session import caching, opening
from ui.session.jobs_view import with_jobs
from ui.session.link_query import unknown
from ui.session.state import Session, current_session

_PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
_HEADLINE = "Which tensors live in fast memory, when, and where?"
_SENTENCE = (
    "A compiler decides this for every ML program on an accelerator, and DeepMind made a game of"
    " it; here you can watch, play and take apart that decision on real programs, as the real XLA"
    " compiler made them for a TPU."
)


@with_jobs
def render() -> None:
    """The page; a link to a program leads on to Play, which used to be here."""
    session = current_session()
    query = st.query_params.to_dict()
    if "program" in query:
        st.switch_page(session.pages["play"], query_params=query)
    if odd := unknown(query, ()):
        st.warning(plain(odd), icon=":material/link_off:")
    st.html(_PROGRAMS / "gallery.css")
    st.html(Path(__file__).with_name("start.css"))
    with st.container(key="hero"):
        st.header(_HEADLINE, anchor=False)
        st.markdown(_SENTENCE)
    left, right = st.columns([1.9, 1], gap="large")
    with left:
        _toy()
    with right, st.container(key="doors"):
        _continue(session)
        _doors(session)
        st.caption(HOW_TO_READ)
    _samples(session)


def _toy() -> None:
    shown = caching.toy()
    with st.container(key="toy_store"):
        MEMORY_MAP.store(shown.packed("toy"), key="toy_map_store")
    MEMORY_MAP.show(
        {
            "plan": "toy",
            "move": 0,
            "selected": -1,
            "nonce": 0,
            "board": "toy",
            "handled": 0,
            "refusal": "",
            "overlay": None,
            "draft": None,
            "tree": {"name": "toy", "current": -1, "rows": []},
            "players": [],
            "link": {},
            "look": {},
            "tour": {"captions": shown.captions, "seconds": SECONDS},
        },
        key="toy",
    )


def _continue(session: Session) -> None:
    """Show a button back to the last view, in this session or before a reload."""
    last = caching.last_views().of(session.identity)
    if last is None or last.page not in session.pages or not last.words:
        return
    is_in_use = "program" in last.query and last.page != "challenges"
    if is_in_use and not opening.is_at_hand(session, last.query):
        return
    if st.button(
        f"Continue: {plain(last.words)}",
        key="continue",
        icon=":material/history:",
        width="stretch",
        help=f"Back to {session.pages[last.page].title}, where you were",
    ):
        if is_in_use:
            # Another program may be open by now, which the page would go on with.
            opening.open_link(session, last.query)
            session.is_restored = False
        st.switch_page(session.pages[last.page], query_params=dict(last.query))


def _doors(session: Session) -> None:
    if _door(
        "learn",
        "Learn",
        ":material/school:",
        "Short lessons on a live board, from the first tensor to what MuZero imagines. No knowledge"
        " needed; each takes a few minutes.",
    ):
        st.switch_page(session.pages["learn"])
    if _door(
        "explore",
        "Explore",
        ":material/explore:",
        "Real programs with their memory maps: play them move by move, compare solvers, bring your"
        " own dump.",
    ):
        st.switch_page(session.pages["programs"])
    if _door(
        "debug",
        "Debug",
        ":material/troubleshoot:",
        "Where the agent went wrong: its costliest decisions first, both searches side by side, and"
        " what another action would have led to.",
    ):
        st.switch_page(session.pages["debug"])


def _door(key: str, title: str, icon: str, text: str) -> bool:
    with st.container(border=True, key=f"door_card_{key}"):
        is_open = st.button(title, key=f"door_{key}", icon=icon, type="primary", width="stretch")
        st.caption(text)
    return is_open


def _samples(session: Session) -> None:
    entries = telling(caching.sample_index())
    if not entries:
        return
    st.subheader("Three real programs, and how far a plan is from the proven bound", anchor=False)
    for place, entry in zip(st.columns(len(entries), gap="small"), entries, strict=True):
        with place, st.container(border=True, height="stretch", gap="small"):
            _sample(session, entry)


def _sample(session: Session, entry: SampleEntry) -> None:
    st.html(card_html(entry, caching.thumbnail_for(entry)))
    play, best = st.columns(2, gap="small")
    if play.button("XLA's plan", key=f"start_play_{entry.name}", width="stretch"):
        _go(session, entry.name, opening.COMPILED)
    if best.button("The best known", key=f"start_best_{entry.name}", width="stretch"):
        _go(session, entry.name, opening.best_name(entry))


def _go(session: Session, program: str, plan: str) -> None:
    if opening.try_open(session, program):
        session.show_plan(plan)
        st.switch_page(session.pages["play"])
