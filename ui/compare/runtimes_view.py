"""Compare, runtimes: every plan against all slow, the bound and the others."""

from __future__ import annotations

import streamlit as st

from ui.components.markdown import plain
from ui.components.table_view import show_table
from ui.model.compare.ranking import Row, losses, table
from ui.session.late_charts_view import late_chart
from ui.session.state import Session

_COLUMNS = {
    "solver": st.column_config.TextColumn("Plan"),
    "runtime": st.column_config.NumberColumn("Runtime, µs"),
    "saved": st.column_config.ProgressColumn(
        "Saved of what is possible", format="%.1f %%", min_value=0, max_value=100
    ),
    "over": st.column_config.NumberColumn("Over bound", format="%.2f %%"),
    "stalls": st.column_config.NumberColumn("Stalls, µs"),
    "checker": st.column_config.TextColumn("Checker"),
    "stays": st.column_config.NumberColumn("Stays"),
    "copies": st.column_config.NumberColumn("Copies"),
    "seconds": st.column_config.TextColumn("Solved in"),
    "remark": st.column_config.TextColumn("Whose"),
}


def show(session: Session, rows: list[Row]) -> None:
    """Show the chart and the table of all plans; a row leads to the map."""
    program, bound_s = session.open.program, session.open.bound_s
    late_chart(session, losses(program, rows, bound_s), "losses")
    columns = table(program, rows, bound_s)
    # A table keeps its selection by its key: other plans in its rows are another table.
    names = tuple(columns["solver"])
    key = f"results_{session.open.identity}_{hash(names)}"
    chosen = show_table(
        columns,
        _COLUMNS,
        key=key,
        on_select="rerun",
        selection_mode="single-cell",
        column_order=[c for c in _COLUMNS if c != "remark" or any(columns["remark"])],
    )
    picked = chosen.selection.cells
    name = names[picked[0][0]] if picked else None
    if st.button(
        f"Open {plain(name)} on the map"
        if name
        else "Choose a row above to open its plan on the map",
        key="open_plan",
        disabled=name is None,
        icon=":material/memory:",
    ):
        session.show_plan(str(name))
        st.switch_page(session.pages["play"])
