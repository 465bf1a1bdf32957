"""Compare, layers: which parts of the model take the time and the fast memory."""

from __future__ import annotations

import streamlit as st

from ui.compare.jumps_view import jump_buttons
from ui.components.table_view import chosen_row
from ui.model.compare.by_layer import MEASURES, folded, icicle, origin_text
from ui.session import caching
from ui.session.late_charts_view import late_chart
from ui.session.state import OpenPlan, Session, current_session

_TABLE_PX = 420
_DEPTHS = {1: "outermost", 2: "two levels", 3: "three levels", 99: "all"}


def show(session: Session) -> None:
    """Show the layers of one plan."""
    names = list(session.open.plans)
    chooser, measures, note = st.columns([1.3, 2.6, 2.3], vertical_alignment="bottom")
    first = session.open.comparison.plans[0]
    plan = chooser.selectbox(
        "Plan", names, names.index(first), key=f"layers_{session.program_name}"
    )
    measure = measures.selectbox(
        "Areas show",
        list(MEASURES),
        format_func=lambda name: MEASURES[name].label,
        key="layers_measure",
    )
    note.caption("In schedule order, the outermost layer on top. Click a layer to open it.")
    _tree(session, session.open.plans[plan], measure)
    _table(plan)


def _tree(session: Session, plan: OpenPlan, measure: str) -> None:
    tree = caching.layer_tree_of(plan.identity, session.open.program, plan.plan)
    figure = icicle(tree, MEASURES[measure], plan.name)
    late_chart(session, figure, f"icicle_{plan.identity}_{measure}")
    st.caption(origin_text(tree))


@st.fragment
def _table(name: str) -> None:
    session = current_session()
    plan = session.open.plans[name]
    tree = caching.layer_tree_of(plan.identity, session.open.program, plan.plan)
    depth = st.segmented_control(
        "Fold to",
        list(_DEPTHS),
        format_func=_DEPTHS.__getitem__,
        default=2,
        required=True,
        key="layers_depth",
    )
    rows = folded(tree, depth or 2)
    picked = chosen_row(rows, _COLUMNS, f"layers_{plan.identity}_{depth}", _TABLE_PX, _ORDER)
    if picked is None:
        st.caption("Choose a row to open its first instruction on the map.")
    elif (slot := int(rows.iloc[picked]["slot"])) >= 0:
        jump_buttons(session, [name], slot, -1, "layer")


_ORDER = ["layer", "instructions", "times", "each", "total", "lost", "compute", "slow", "stall"]
_ORDER += ["bytes", "held"]
_COLUMNS = {
    "layer": st.column_config.TextColumn("Layer", width="large"),
    "instructions": st.column_config.NumberColumn("Instructions", width="small"),
    "total": st.column_config.NumberColumn("Total, µs", width="small"),
    "times": st.column_config.NumberColumn(
        "Runs",
        width="small",
        help="How often it runs: iterations of the loops that it is in, of a branch some of them",
    ),
    "each": st.column_config.NumberColumn("Each, µs", width="small", help="Each time it runs"),
    "lost": st.column_config.NumberColumn(
        "Lost, µs", width="small", help="Slow accesses and stalls: what fast memory could save"
    ),
    "compute": st.column_config.NumberColumn("Compute", width="small"),
    "slow": st.column_config.NumberColumn("Slow", width="small"),
    "stall": st.column_config.NumberColumn("Stalls", width="small"),
    "bytes": st.column_config.NumberColumn(
        "Slow, MiB", width="small", help="Bytes from and to slow memory, copies left out"
    ),
    "held": st.column_config.NumberColumn(
        "Held, MiB", width="small", help="Fast memory held by its tensors, on average over the run"
    ),
}
