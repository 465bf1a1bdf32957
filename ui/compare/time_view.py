"""Compare, time: what each instruction takes, and what it takes more under another plan."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from engine.program.provenance import uncounted_by_slot
from ui.compare.jumps_view import jump_buttons
from ui.components.markdown import plain
from ui.components.table_view import NOT_OBSERVED, chosen_row, show_table
from ui.model.compare.comparison import MOST_PLANS
from ui.model.compare.timing import kinds_table, time_chart, time_table
from ui.session import caching
from ui.session.late_charts_view import late_chart
from ui.session.state import Session, current_session

_CHART_PX = 560
_NOTHING = "nothing"

_KINDS = {
    "plan": st.column_config.TextColumn("Plan"),
    "compute": st.column_config.NumberColumn("Compute, µs"),
    "slow": st.column_config.NumberColumn("Slow accesses, µs"),
    "stall": st.column_config.NumberColumn("Stalls, µs"),
    "total": st.column_config.NumberColumn("Runtime, µs"),
}


def show(session: Session) -> None:
    """Show the time of each kind and each instruction, for a plan or against another one."""
    state, names = session.open.comparison, list(session.open.plans)
    first, second, note = st.columns([1.3, 1.3, 2.6], vertical_alignment="bottom")
    shown, baseline = (state.plans[1], state.plans[0]) if len(state.plans) > 1 else (names[0], "")
    plan = first.selectbox("Plan", names, names.index(shown), key=f"time_{session.program_name}")
    others = [_NOTHING, *[n for n in names if n != plan]]
    against = second.selectbox(
        "Compared with",
        others,
        others.index(baseline) if baseline in others else 0,
        key=f"time_against_{plan}_{session.program_name}",
    )
    note.caption(
        "Compute is an instruction with everything in fast memory; slow accesses are what slow"
        " memory adds; stalls are waits for copies right before it."
    )
    chosen = [plan] if against == _NOTHING else [against, plan]
    shown_plans = [*chosen, *[n for n in state.plans if n not in chosen]][:MOST_PLANS]
    if against != _NOTHING:
        state.plans = shown_plans
    _kinds(session, shown_plans)
    _instructions(plan, None if against == _NOTHING else against)


def _kinds(session: Session, names: Sequence[str]) -> None:
    opened = session.open
    plans = [opened.plans[name] for name in names]
    parts = [caching.breakdown_of(p.identity, opened.program, p.plan) for p in plans]
    show_table(kinds_table([p.name for p in plans], parts), _KINDS, key="kinds")


@st.fragment
def _instructions(name: str, against: str | None) -> None:
    """Bars of the largest rows beside the table of all; a row leads to its move in Play."""
    session = current_session()
    program, plan = session.open.program, session.open.plans[name]
    mine = caching.breakdown_of(plan.identity, program, plan.plan)
    key = plan.identity
    if against is None:
        rows = time_table(program, mine, None, uncounted_by_slot(program, plan.plan.is_fast))
        st.markdown(f"##### Time per instruction under {plain(name)}")
    else:
        other = session.open.plans[against]
        uncounted = uncounted_by_slot(program, plan.plan.is_fast, other.plan.is_fast)
        theirs = caching.breakdown_of(other.identity, program, other.plan)
        rows = time_table(program, theirs, mine, uncounted)
        key += other.identity
        more, less = plain(name), plain(against)
        st.markdown(f"##### What each instruction takes more under {more} than under {less}")
    if rows.empty:
        st.caption("Every instruction takes the same time under both plans.")
        return
    chart, listing = st.columns([1, 1.15], gap="medium")
    with chart:
        late_chart(session, time_chart(rows, against is not None, _CHART_PX), f"bars_{key}")
    with listing:
        order = _ORDER if against is None else [c for c in _ORDER if c != "compute"]
        picked = chosen_row(rows, _COLUMNS, f"instructions_{key}", _CHART_PX - 60, order)
        if picked is not None:
            names = [name] if against is None else [name, against]
            jump_buttons(session, names, int(rows.iloc[picked]["slot"]), -1, "instruction")
        else:
            st.caption("Choose a row to open its move on the map.")


_ORDER = ["instruction", "slot", "total", "compute", "slow", "uncounted", "stall"]
_ORDER += ["opcode", "source"]


_COLUMNS = {
    "instruction": st.column_config.TextColumn("Instruction", width="medium"),
    "opcode": st.column_config.TextColumn("Kind", width="small"),
    "slot": st.column_config.NumberColumn("Slot", width="small"),
    "total": st.column_config.NumberColumn("Total, µs", width="small"),
    "compute": st.column_config.NumberColumn("Compute", width="small"),
    "slow": st.column_config.NumberColumn("Slow", width="small"),
    "uncounted": NOT_OBSERVED,
    "stall": st.column_config.NumberColumn("Stalls", width="small"),
    "source": st.column_config.TextColumn("Source", width="large"),
}
