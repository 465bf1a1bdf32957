"""Programs, yours: what the visitor brought or derived, each with what became of its files."""

from __future__ import annotations

import streamlit as st

from engine.program.proof import gap
from ui.components.html import facts_html
from ui.components.map_svg import thumbnail
from ui.components.markdown import plain
from ui.model.programs.catalogue import facts, own_card_html
from ui.session import caching, opening
from ui.session.reading_view import unmeasured, warn_of_reading
from ui.session.state import OpenProgram, Session

_PAGES = (("play", "Play"), ("compare", "Compare"), ("debug", "Debug"))
_OF_DERIVED = ("Derived",)


def show(session: Session) -> None:
    """Show a card for each program of the visitor's own; nothing without any."""
    samples = {entry.name for entry in caching.sample_index()}
    names = caching.own_programs().names(session.identity)
    looked = {n: opening.look_up(session, n) for n in names if n not in session.programs}
    lost = [name for name, opened in looked.items() if opened is None]
    own = [opened for opened in looked.values() if opened is not None]
    own += [p for name, p in session.programs.items() if name not in samples]
    if not own and not lost:
        return
    st.subheader("Yours", anchor=False)
    for opened in reversed(own):
        with st.container(border=True, key=f"yours_{opened.identity}_{opened.name}"):
            _card(session, opened)
    for name in lost:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(name)}** cannot be read any more. Bring its files again.")
            if st.button("Remove", key=f"yours_remove_{name}"):
                caching.own_programs().remove(session.identity, name)
                st.rerun()


def _card(session: Session, opened: OpenProgram) -> None:
    picture, details = st.columns([1, 2.2], gap="medium")
    gaps = [(_label(opened, name), _over(opened, name)) for name in opened.plans]
    compiled = opened.plans.get(opening.COMPILED)
    drawn = thumbnail(opened.program, compiled.plan if compiled else None)
    picture.html(own_card_html(opened.name, opened.program, gaps[:2], drawn))
    with details:
        derived = [f for f in facts(opened.program) if f[0] in _OF_DERIVED]
        st.html(str(facts_html(opened.summary or derived)))
        warn_of_reading(opened.program)
        *places, last = st.columns(len(_PAGES) + 1)
        with last.popover("Remove", width="stretch"):
            st.caption(
                "Your plans, variations and notes on it go for good, and its runs end. What solvers"
                " made of it stays here for a while, for whoever brings the same files."
            )
            if st.button("Remove it for good", key=f"yours_remove_{opened.name}"):
                opening.remove(session, opened.name)
                st.rerun()
        for place, (page, label) in zip(places, _PAGES, strict=True):
            key = f"yours_{page}_{opened.name}"
            if place.button(label, key=key, width="stretch"):
                session.open_program(opened.name, opened.program)
                st.switch_page(session.pages[page])


def _label(opened: OpenProgram, name: str) -> str:
    """A plan's name; XLA's with a mark if it was read in part and is no measure for others."""
    return f"{name}, in part" if name == unmeasured(opened.program) else name


def _over(opened: OpenProgram, name: str) -> float | None:
    plan = opened.plans[name]
    row = caching.row_of(plan.identity, opened.program, plan.plan, plan.name)
    return gap(row.latency_s, opened.bound_s)
