"""Search, the inbox: moves that surprised the agent, and what they cost."""

from __future__ import annotations

import streamlit as st

from ui.components.glossary import about
from ui.components.table_view import show_table
from ui.components.units import count_text
from ui.model.search.inbox import inbox
from ui.model.search.state import Thought
from ui.search import jobs_view
from ui.session import caching
from ui.session.state import Session

_REGRET_SECONDS = 30.0
_COLUMNS = {
    "move": st.column_config.NumberColumn("Move", width=70),
    "surprise": st.column_config.NumberColumn(
        "Surprise", width=80, help="1 is the average move of this game"
    ),
    "why": st.column_config.TextColumn("Why", width=245),
    "prior": st.column_config.TextColumn("First thought", width=95),
    "played": st.column_config.TextColumn("Played", width=80),
    "shift": st.column_config.NumberColumn(
        "Policy shift", format="percent", width=95, help="How far the search moved the prior"
    ),
    "jump": st.column_config.NumberColumn(
        "Value jump, µs",
        help="How much better than expected the game stood after it",
    ),
    "correction": st.column_config.NumberColumn(
        "Correction, µs", help="The search's value less the networks' own"
    ),
    "regret": st.column_config.NumberColumn(
        "Regret, µs",
        help="What the best line found with another action saves more; measured on demand",
    ),
    "better": st.column_config.TextColumn("Better", width=75),
    "class": st.column_config.TextColumn("Class", width=60, help=about("class")),
    "punished": st.column_config.TextColumn("Punished", width=80, help=about("punished")),
    "tensor": st.column_config.TextColumn("Tensor", width="medium"),
    "instruction": st.column_config.TextColumn("Instruction", width="medium"),
}


def show(session: Session, thought: Thought) -> None:
    """The table; a row leads to its move."""
    opened, state = session.open, session.open.searches
    regrets = {} if state.study is None else state.study.regrets
    rows = inbox(
        opened.program,
        caching.moves_of(opened.identity, opened.program),
        thought.trace,
        caching.surprises_of(thought.identity, thought.trace),
        {} if state.study is None else {f.move: f for f in state.study.findings},
    )
    if rows.empty:
        st.caption("Nothing surprised the agent in this game.")
        return
    shown = list(_COLUMNS) if regrets else [c for c in _COLUMNS if c not in _MEASURED]
    chosen = show_table(
        rows,
        _COLUMNS,
        key=f"inbox_{thought.identity}_{len(regrets)}",
        height=282,
        on_select="rerun",
        selection_mode="single-row",
        column_order=shown,
    )
    text, button = st.columns([5, 1.6], vertical_alignment="center")
    text.caption(
        "Surprise weighs four signs alike: visits and improved policy against the prior, the jump"
        " of the value, and what the search corrected. Select a row to go there."
        + (f" Regret is known of {count_text(len(regrets), 'move')}." if regrets else "")
    )
    is_whole = state.study is not None and state.study.completeness >= 1
    if not is_whole and button.button(
        "Measure regrets",
        key="regrets",
        width="stretch",
        disabled=any(not job.is_over for job in state.jobs),
        help="Plays every other action of these moves to the end of the game, for half a minute",
    ):
        jobs_view.order_findings(session, thought, _REGRET_SECONDS)
        st.rerun()
    picked = chosen.selection.rows
    row = picked[0] if picked else None
    if row != state.inbox_row:
        state.inbox_row = row
        if row is not None:
            state.jump(int(rows["move"].iloc[row]) - 1)
            st.rerun()


_MEASURED = ("class", "regret", "better", "punished")
