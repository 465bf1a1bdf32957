"""Debug, notes: a text and a bookmark on a move; kept for the visitor, in links and in bundles."""

from __future__ import annotations

import streamlit as st

from engine.debugging.move_notes import LONGEST_NOTE, Note
from engine.errors import UsageError
from ui.components.markdown import plain
from ui.debug import studies
from ui.model.search.state import Thought
from ui.session.state import Session


def show(session: Session, thought: Thought) -> None:
    """Notes on the move that is shown, and a list of all on this game."""
    debug, state, game = session.open.debug, session.open.searches, studies.key_of(thought)
    known = debug.notes.at(game, state.move)
    left, right = st.columns([1, 1.3], gap="medium")
    with left, st.form(f"note_{game}_{state.move}", border=False):
        text = st.text_area(
            f"Note on move {state.move + 1:,}", known.text, max_chars=LONGEST_NOTE, height=90
        )
        is_marked = st.checkbox("★ Bookmark", known.is_marked)
        if st.form_submit_button("Keep", type="primary"):
            try:
                debug.notes.put(Note(game, state.move, text.strip(), is_marked))
            except UsageError as error:
                st.error(plain(error), icon=":material/error:")
                return
            st.rerun()
    with right:
        notes = debug.notes.of(game)
        if not notes:
            st.caption("No notes on this game. They are kept, and travel in link and bundle.")
        for move, note in notes.items():
            label = f"{'★ ' if note.is_marked else ''}Move {move + 1:,}"
            place, words = st.columns([1, 3.4], vertical_alignment="center")
            if place.button(label, key=f"to_note_{move}", width="stretch"):
                state.jump(move)
                debug.edition += 1
                st.rerun()
            words.text(note.text or "bookmark")
