"""Compare, gap: where one plan falls behind another, slot by slot, and the chain of causes."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui.compare.jumps_view import jump_buttons
from ui.components.charts import SLOW
from ui.components.table_view import chosen_row
from ui.components.units import noise_s, share_text, time_text
from ui.model.compare.differences import summary
from ui.model.compare.gap import Curve, Row, chain_html, gap_chart, opening_rows, table_of
from ui.session import caching
from ui.session.late_charts_view import late_chart
from ui.session.reading_view import unmeasured
from ui.session.state import OpenPlan, Session, current_session

_TABLE_PX = 250
_MOST_MARKS = 5
COLUMNS = {
    "cost": st.column_config.NumberColumn("Costs, µs", width=85),
    "share": st.column_config.NumberColumn("Of the gap", width=80, format="percent"),
    "tensor": st.column_config.TextColumn("Tensor", width="medium"),
    "slot": st.column_config.NumberColumn("Slot", width=60),
    "what": st.column_config.TextColumn("What happens there", width="large"),
}


def style() -> None:
    """Add the style of sentences, bars and chains of the gap."""
    st.html(Path(__file__).with_name("gap.css"))


def show(session: Session) -> None:
    """Show the gap between two plans that the visitor chooses."""
    style()
    state, names = session.open.comparison, list(session.open.plans)
    if len(names) < 2:
        st.info("Run another solver above to hold a plan against this one.")
        return
    first, second, note = st.columns([1.3, 1.3, 2.6], vertical_alignment="bottom")
    baseline = first.selectbox(
        "Baseline", names, names.index(state.plans[0]), key=f"gap_baseline_{state.edition}"
    )
    rest = [name for name in names if name != baseline]
    wanted = next((n for n in state.plans[1:] if n in rest), rest[0])
    plan = second.selectbox(
        "Against", rest, rest.index(wanted), key=f"gap_against_{baseline}_{state.edition}"
    )
    pair = [baseline, plan]
    state.plans = [*pair, *[n for n in state.plans if n not in pair]][:4]
    note.caption("The gap opens where the line rises; where it falls, the plan catches up.")
    _gap(baseline, plan)


@st.fragment
def _gap(baseline: str, name: str) -> None:
    session = current_session()
    opened = session.open
    program, base, plan = opened.program, opened.plans[baseline], opened.plans[name]
    found = caching.openings_of((base.identity, plan.identity), program, base.plan, plan.plan)
    latencies = (
        caching.simulation_of(base.identity, program, base.plan).latency_s,
        caching.simulation_of(plan.identity, program, plan.plan).latency_s,
    )
    gap_s = sum(opening.cost_s for opening in found)
    st.markdown(
        summary((baseline, name), latencies, unmeasured(program))
        + _bound_text(opened.bound_s, latencies[0], baseline)
    )
    lost_s = sum(o.cost_s for o in found if o.cost_s > 0)
    rows = opening_rows(program, found, noise_s(abs(gap_s)))
    parts = [caching.breakdown_of(p.identity, program, p.plan) for p in (base, plan)]
    curves = [Curve(name, parts[1].total_s, SLOW)]
    chart, listing = st.columns([1.15, 1], gap="medium")
    figure = gap_chart(parts[0].total_s, curves, rows[:_MOST_MARKS])
    with chart:
        late_chart(session, figure, f"gap_{base.identity}_{plan.identity}")
    with listing:
        if not rows:
            st.caption(f"{name} loses nothing against {baseline} in any slot.")
            return
        key = f"openings_{base.identity}_{plan.identity}"
        picked = chosen_row(table_of(program, rows, lost_s), COLUMNS, key, _TABLE_PX)
        regained = time_text(lost_s - gap_s)
        st.caption(
            f"These slots lose {time_text(lost_s)}; elsewhere it regains {regained}. Choose a row"
            " for its causes, and to open it on the map."
        )
    row = rows[picked or 0]
    st.markdown("##### The chain of causes")
    causes(session, base, plan, row)
    jump_buttons(session, [baseline, name], row.time, row.group, "gap")


def _bound_text(bound_s: float | None, base_s: float, baseline: str) -> str:
    if bound_s is None:
        return ""
    over_s = base_s - bound_s
    over, share = time_text(over_s), share_text(over_s / bound_s)
    return f" **{baseline}** is itself {over} ({share}) above the bound."


def causes(session: Session, base: OpenPlan, plan: OpenPlan, row: Row) -> None:
    """Show the chain of causes that begins with the tensor of a row."""
    program = session.open.program
    chain = caching.chain_of(
        (base.identity, plan.identity), row.group, program, base.plan, plan.plan
    )
    st.html(chain_html(program, chain, (base.name, plan.name)))
