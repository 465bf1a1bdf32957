"""Search, drift: what the learned model imagined against what the rules said."""

from __future__ import annotations

import streamlit as st

from engine.debugging.model_error import drift
from ui.components.table_view import show_table
from ui.model.search.curves import drift_figure, drift_rows
from ui.model.search.state import Thought
from ui.session.late_charts_view import late_chart
from ui.session.state import Session

_COLUMNS = {
    "move": st.column_config.NumberColumn("Move"),
    "action": st.column_config.TextColumn("Played"),
    "reward": st.column_config.NumberColumn("Imagined reward"),
    "real_reward": st.column_config.NumberColumn("Real reward"),
    "value": st.column_config.NumberColumn("Imagined value"),
    "searched": st.column_config.NumberColumn("Searched there"),
    "earned": st.column_config.NumberColumn("Earned in fact"),
}


def show(session: Session, thought: Thought) -> None:
    """Drift at the current move as a table, over the whole game as a chart."""
    move = session.open.searches.move
    now, average = st.columns([1.25, 1], gap="medium")
    with now:
        st.markdown(f"##### From move {move + 1:,} on")
        rows = drift_rows(thought.trace, move)
        show_table(rows, _COLUMNS, key="drift_rows", column_order=list(_COLUMNS))
        st.caption(
            "Microseconds above par. The model saw the position before the first of these moves"
            " and imagined the others along the moves that were played; *value* is of the rest of"
            " the game."
        )
    with average:
        st.markdown("##### On average over the game")
        late_chart(session, drift_figure(drift(thought.trace)), "drift")
        st.caption(
            "An error above its dotted line is worse than always predicting par. *Slip* is what"
            " imagining adds: the value of the imagined position against that of the real one."
        )
