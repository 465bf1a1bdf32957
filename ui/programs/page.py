"""Programs: find a sample, look closer, change its hardware, or bring a file of your own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from engine.program import library
from engine.program.library import SampleEntry
from engine.program.proof import CONTESTED, PROVEN_GAP
from ui.components.html import facts_html
from ui.components.markdown import plain
from ui.components.units import share_text
from ui.model.programs.catalogue import (
    REAL,
    SORTS,
    Filter,
    card_html,
    facts,
    family,
    matching,
    short_title,
    step_of,
)
from ui.model.programs.pressure_chart import pressure
from ui.programs import yours_view
from ui.programs.what_if_view import what_if_form
from ui.session import caching, opening
from ui.session.file_form_view import HINT, file_form
from ui.session.jobs_view import with_jobs
from ui.session.late_charts_view import late_chart
from ui.session.state import Session, current_session

_STYLE = Path(__file__).with_name("gallery.css")
_COLUMNS = 3
_FIRST_CARDS = 12
"""Cards shown at first: each has four buttons, and a browser draws forty of them in seconds."""


@with_jobs
def render() -> None:
    """The page."""
    session = current_session()
    opening.ensure_open(session)
    st.html(_STYLE)
    entries = caching.sample_index()
    left, right = st.columns([2.7, 1], gap="medium")
    with left:
        yours_view.show(session)
        hits = matching(entries, _filter(session, entries))
        _gallery(session, entries, hits)
    with right, st.container(key="details"):
        _upload(session)
        _details(session, entries)
        what_if_form(session)


def _filter(session: Session, entries: tuple[SampleEntry, ...]) -> Filter:
    """Show the search row; returns its filter, which survives a visit to another view."""
    known = session.gallery
    with st.container(key="filters"):
        places = st.columns([1.4, 1.0, 1.0, 1.45, 1.25, 1.4], vertical_alignment="bottom")
    words = places[0].text_input(
        "Search",
        known.words,
        key="words",
        placeholder="model, chip …",
        icon=":material/search:",
    )
    chips = sorted({e.hardware for e in entries})
    hardware = places[1].multiselect(
        "Hardware", chips, known.hardware, key="chips", placeholder="any"
    )
    kinds = sorted({family(e) for e in entries})
    families = places[2].multiselect(
        "Model", kinds, known.families, key="families", placeholder="any"
    )
    steps = places[3].segmented_control(
        "Step", ["inference", "training"], default=known.steps or None, key="steps"
    )
    sort = places[4].selectbox("Order", list(SORTS), list(SORTS).index(known.sort), key="order")
    contested = places[5].toggle(
        "Contested",
        known.is_contested,
        key="contested",
        help=f"Only programs on which XLA's own plan is at least {share_text(CONTESTED)} above the"
        " lower bound",
    )
    session.gallery = Filter(words, tuple(hardware), tuple(families), steps or "", contested, sort)
    return session.gallery


def _gallery(session: Session, entries: tuple[SampleEntry, ...], hits: list[SampleEntry]) -> None:
    if not hits:
        st.info("No program matches. Remove a filter or a word.", icon=":material/search_off:")
        return
    count = f"{len(hits)} of {len(entries)}" if len(hits) < len(entries) else str(len(entries))
    st.caption(
        f"{count} programs · bars: how far XLA's plan and the best known are above the bound"
        f" (optimal: less than {share_text(PROVEN_GAP)})"
    )
    usual = [entry for entry in hits if family(entry) != REAL]
    real = [entry for entry in hits if family(entry) == REAL]
    is_whole = session.is_gallery_whole
    sections = (usual if is_whole else usual[:_FIRST_CARDS], real if is_whole else real[:_COLUMNS])
    _cards(session, "gallery", sections[0])
    if real:
        held = sum(entry.is_held_out for entry in real)
        st.markdown("##### Programs as teams have them")
        st.caption(
            "A set apart: loops of unknown length, branches, many chips, kernels of their own,"
            " the host's memory, flags of their own."
            f" {held} of {len(real)} are held out of all tuning."
        )
        _cards(session, "gallery_real", sections[1])
    left = len(hits) - sum(map(len, sections))
    if left:

        def show_all() -> None:
            session.is_gallery_whole = True

        st.button(f"Show the other {left}", key="gallery_more", on_click=show_all, width="stretch")


def _cards(session: Session, key: str, entries: Sequence[SampleEntry]) -> None:
    with st.container(key=key):
        for first in range(0, len(entries), _COLUMNS):
            row = st.columns(_COLUMNS, gap="small")
            for place, entry in zip(row, entries[first : first + _COLUMNS], strict=False):
                with place.container(border=True, height="stretch", gap="small"):
                    _card(session, entry)


def _card(session: Session, entry: SampleEntry) -> None:
    st.html(card_html(entry, caching.thumbnail_for(entry)))
    play, best, compare, look = st.columns([1, 0.95, 1.5, 0.65], gap="small")
    if play.button("Play", key=f"card_play_{entry.name}", width="stretch", type="primary"):
        _go(session, entry.name, "play")
    if best.button(
        "Best",
        key=f"card_best_{entry.name}",
        width="stretch",
        disabled=not entry.best_solver,
        help="Open the best plan known in Play",
    ) and opening.try_open(session, entry.name):
        session.show_plan(opening.best_name(entry))
        st.switch_page(session.pages["play"])
    if compare.button("Compare", key=f"card_compare_{entry.name}", width="stretch"):
        _go(session, entry.name, "compare")
    if look.button(
        "",
        key=f"card_look_{entry.name}",
        icon=":material/tune:",
        width="stretch",
        help=f"Details of {entry.name}, and other hardware",
    ) and opening.try_open(session, entry.name):
        st.rerun()


def _go(session: Session, name: str, view: str) -> None:
    if opening.try_open(session, name):
        st.switch_page(session.pages[view])


def _details(session: Session, entries: tuple[SampleEntry, ...]) -> None:
    opened = session.open
    entry = next((e for e in entries if e.name == opened.name), None)
    st.subheader(short_title(entry) if entry else plain(opened.name), anchor=False)
    parts = (f"`{entry.name}`", family(entry), step_of(entry)) if entry else ()
    st.caption(" · ".join(["Open now", *filter(None, parts)]))
    st.html(str(facts_html(facts(opened.program))))
    late_chart(session, pressure(opened.program), "pressure")
    play, compare, debug = st.columns([1, 1.2, 1], gap="small")
    if play.button("Play", type="primary", key="go_play", width="stretch"):
        st.switch_page(session.pages["play"])
    if compare.button("Compare", key="go_compare", width="stretch"):
        st.switch_page(session.pages["compare"])
    if debug.button("Debug", key="go_debug", width="stretch", help="Where the gap is, and why"):
        st.switch_page(session.pages["debug"])


def _upload(session: Session) -> None:
    with st.expander("Open a file of your own", icon=":material/upload_file:"):
        st.caption(HINT)
        brought = file_form()
        if brought is not None:
            is_new = opening.bring(session, brought.program, brought.summary)
            where = "it stands on top, under Yours" if is_new else "it was under Yours already"
            if library.is_sample(session.program_name):
                where = "it is one of the samples"
            session.news.tell(session.program_name, f"is open; {where}")
            st.rerun()
