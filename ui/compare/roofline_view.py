"""Compare, roofline: which instructions slow memory binds, and how far up each could go."""

from __future__ import annotations

import streamlit as st

from ui.compare.jumps_view import jump_buttons
from ui.components.table_view import chosen_row
from ui.model.compare.roofline import drawn, roofline_chart, roofline_table, summary
from ui.session import caching
from ui.session.late_charts_view import late_chart
from ui.session.state import Session, current_session

_TABLE_PX = 420


def show(session: Session) -> None:
    """Show the roofline of one plan."""
    names = list(session.open.plans)
    chooser, note = st.columns([1.3, 4.9], vertical_alignment="bottom")
    first = session.open.comparison.plans[0]
    plan = chooser.selectbox(
        "Plan", names, names.index(first), key=f"roofline_{session.program_name}"
    )
    note.caption(
        "Discs: as planned, as large as their time. Rings: with everything in fast memory. Below"
        " the solid roof slow memory is enough; what is above it owes that to fast memory."
    )
    _roofline(plan)


@st.fragment
def _roofline(name: str) -> None:
    session = current_session()
    program, plan = session.open.program, session.open.plans[name]
    parts = caching.breakdown_of(plan.identity, program, plan.plan)
    table = roofline_table(program, plan.plan, parts)
    if not drawn(table).empty:
        late_chart(session, roofline_chart(program, table), f"roofline_chart_{plan.identity}")
    st.caption(summary(table))
    picked = chosen_row(table, _COLUMNS, f"roofline_{plan.identity}", _TABLE_PX)
    if picked is None:
        st.caption("Choose a row to open its move on the map.")
    else:
        jump_buttons(session, [name], int(table.iloc[picked]["slot"]), -1, "roofline")


_COLUMNS = {
    "instruction": st.column_config.TextColumn("Instruction", width="medium"),
    "now": st.column_config.NumberColumn("As planned, µs", width="small"),
    "fast": st.column_config.NumberColumn("All fast, µs", width="small"),
    "gain": st.column_config.NumberColumn("Could save, µs", width="small"),
    "needs": st.column_config.NumberColumn(
        "Bytes alone, µs",
        width="small",
        help="Its bytes from and to slow memory at full bandwidth: the least that these take",
    ),
    "bound": st.column_config.TextColumn(
        "Bound by",
        width="small",
        help="Slow memory, where its accesses are more than 5 % of the time as planned",
    ),
    "slow_mib": st.column_config.NumberColumn("Slow, MiB", width="small"),
    "all_mib": st.column_config.NumberColumn("Touched, MiB", width="small"),
    "intensity": st.column_config.NumberColumn("Ops per byte", width="small"),
    "layer": st.column_config.TextColumn("Layer", width="medium"),
}
