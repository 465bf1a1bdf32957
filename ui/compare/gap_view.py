"""Compare, gap: where one plan falls behind another, slot by slot, and the chain of causes."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.program.proof import PROVEN_GAP, is_optimal
from ui.compare.jumps_view import jump_buttons
from ui.components.charts import SLOW
from ui.components.markdown import plain
from ui.components.table_view import chosen_row
from ui.components.units import noise_s, share_text, time_text, times_text
from ui.jobs.protocol import SOLVE
from ui.model.compare.differences import summary
from ui.model.compare.gap import Curve, Row, chain_html, gap_chart, lost_s, opening_rows, table_of
from ui.model.compare.ranking import ranked
from ui.session import caching, opening
from ui.session.late_charts_view import late_chart
from ui.session.opening import COMPILED
from ui.session.reading_view import unmeasured
from ui.session.state import OpenPlan, Session, current_session

_TABLE_PX = 250
_MOST_MARKS = 5
_OTHERS = ("xla_like", "greedy")
_SECONDS = 10
"""Solvers that are offered to make a second plan, and how long each may take."""
COLUMNS = {
    "cost": st.column_config.NumberColumn("Costs, µs", width=72),
    "share": st.column_config.NumberColumn(
        "Of the loss",
        width=80,
        format="percent",
        help="Of what all of these lose together; what other slots regain is not taken off",
    ),
    "tensor": st.column_config.TextColumn("Tensor", width=135),
    "slot": st.column_config.NumberColumn("Slot", width=46),
    "what": st.column_config.TextColumn("What happens there", width=200),
}


def style() -> None:
    """Add the style of sentences, bars and chains of the gap."""
    st.html(Path(__file__).with_name("gap.css"))


def show(session: Session) -> None:
    """Show the gap between two plans that the visitor chooses."""
    style()
    state, names = session.open.comparison, list(session.open.plans)
    if len(names) < 2:
        _alone(session)
        return
    first, second, note = st.columns([1.3, 1.3, 2.6], vertical_alignment="bottom")
    of = f"{session.program_name}_{state.edition}"
    baseline = first.selectbox(
        "Baseline", names, names.index(state.plans[0]), key=f"gap_baseline_{of}"
    )
    rest = [name for name in names if name != baseline]
    wanted = next((n for n in state.plans[1:] if n in rest), rest[0])
    plan = second.selectbox("Against", rest, rest.index(wanted), key=f"gap_against_{baseline}_{of}")
    pair = [baseline, plan]
    state.plans = [*pair, *[n for n in state.plans if n not in pair]][:4]
    note.caption("The gap opens where the line rises; where it falls, the plan catches up.")
    _gap(baseline, plan)


def show_first_pair(session: Session) -> None:
    """Show where XLA's plan, else the slowest, falls behind the fastest; nothing without a plan."""
    opened = session.open
    if not opened.plans:
        return
    style()
    plans = opened.plans.values()
    rows = [caching.row_of(p.identity, opened.program, p.plan, p.name) for p in plans]
    best, *others = [row.solver for row in ranked(rows)]
    if not others:
        _alone(session)
        return
    _gap(best, COMPILED if COMPILED in others else others[-1])


def _alone(session: Session) -> None:
    """Say how far the only plan is from the bound, and offer to make others to hold it against."""
    opened = session.open
    name, plan = next(iter(opened.plans.items()))
    latency_s = caching.simulation_of(plan.identity, opened.program, plan.plan).latency_s
    st.markdown(
        f"**{plain(name)}** takes {time_text(latency_s)}."
        + _bound_text(opened.bound_s, latency_s, name)
    )
    known = caching.solver_names(opened.identity, opened.program)
    solvers = [solver for solver in _OTHERS if solver in known]
    if any(job.order.kind == SOLVE and not job.is_over for job in opened.jobs):
        st.caption("Where it opens is shown here as soon as there is a second plan.")
    elif solvers and st.button(
        f"Make other plans ({' and '.join(solvers)}, {_SECONDS} s each), to see where it opens",
        key="gap_make",
        icon=":material/play_arrow:",
    ):
        for solver in solvers:
            opening.order(session, solver, float(_SECONDS))
        st.rerun()


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
    rows = opening_rows(program, found, noise_s(abs(gap_s)))
    parts = [caching.breakdown_of(p.identity, program, p.plan) for p in (base, plan)]
    curves = [Curve(name, parts[1].total_s, SLOW)]
    chart, listing = st.columns([1.15, 1], gap="medium")
    figure = gap_chart(parts[0].total_s, curves, rows[:_MOST_MARKS])
    with chart:
        late_chart(session, figure, f"gap_{base.identity}_{plan.identity}")
    with listing:
        if not rows:
            st.caption(f"{plain(name)} loses nothing against {plain(baseline)} in any slot.")
            return
        key = f"openings_{base.identity}_{plan.identity}"
        whole_s = lost_s(found)
        picked = chosen_row(table_of(program, rows, whole_s), COLUMNS, key, _TABLE_PX)
        regained_s = whole_s - gap_s
        is_regained = regained_s >= noise_s(abs(gap_s))
        lost, again = times_text(whole_s, regained_s)
        regained = f"; elsewhere it regains {again}" if is_regained else ""
        st.caption(
            f"These slots lose {lost}{regained}. Choose a row for its causes, and to"
            " open it on the map."
        )
    row = rows[picked or 0]
    st.markdown("##### The chain of causes")
    causes(session, base, plan, row)
    jump_buttons(session, [baseline, name], row.time, row.group, "gap")


def _bound_text(bound_s: float | None, base_s: float, baseline: str) -> str:
    if bound_s is None:
        return ""
    over_s, whose = base_s - bound_s, f"**{plain(baseline)}**"
    if is_optimal(base_s, bound_s):
        most = share_text(PROVEN_GAP)
        return f" {whose} is optimal: no plan can be faster by more than {most}."
    over, share = time_text(over_s), share_text(over_s / bound_s)
    return f" {whose} is itself {over} ({share}) above the bound."


def causes(session: Session, base: OpenPlan, plan: OpenPlan, row: Row) -> None:
    """Show the chain of causes that begins with the tensor of a row."""
    program = session.open.program
    chain = caching.chain_of(
        (base.identity, plan.identity), row.group, program, base.plan, plan.plan
    )
    st.html(chain_html(program, chain, (base.name, plan.name)))
