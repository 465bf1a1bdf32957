"""Compare, layouts: two to four memory maps with one window, and what their differences cost."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.analysis.plan_diff import first_divergence
from ui.compare.jumps_view import jump_buttons
from ui.compare.maps.component import SIDE_BY_SIDE
from ui.components.markdown import code, plain
from ui.components.names import tensor_name
from ui.components.table_view import NOT_OBSERVED, chosen_row
from ui.components.units import gain_text, share_text, time_text
from ui.model.compare.comparison import MOST_PLANS
from ui.model.compare.differences import cost_table, counts_text, divergence_text, summary
from ui.model.compare.sheet import Panel, identity_of
from ui.session import caching
from ui.session.reading_view import unmeasured
from ui.session.state import OpenPlan, Session, current_session

KEY = "sheet"
_LEAST_S = 1e-9
"""Seconds; a difference that saves less does not count as a divergence."""
_HEIGHTS_PX = {1: 330, 2: 560, 3: 560, 4: 560}


def show(session: Session) -> None:
    """Show the maps, where the first two plans part, and what each tensor costs more."""
    _choose(session)
    panels = _panels(session)
    SIDE_BY_SIDE.store(
        caching.packed_sheet(identity_of(panels), session.open.program, panels), key="sheet_store"
    )
    _sheet()
    if len(panels) > 1:
        _story(session)
        _costs()


def _choose(session: Session) -> None:
    """Let the visitor choose the plans; the first two are held against each other."""
    state, names = session.open.comparison, list(session.open.plans)
    first, second, others, diff = st.columns([1.3, 1.3, 1.6, 1], vertical_alignment="bottom")
    # A widget keeps its choice by its key, which is that of one program.
    of = f"{session.program_name}_{state.edition}"
    baseline = first.selectbox("Baseline", names, names.index(state.plans[0]), key=f"baseline_{of}")
    rest = [n for n in names if n != baseline]
    chosen = [baseline]
    if rest:
        wanted = next((n for n in state.plans[1:] if n in rest), rest[0])
        against = second.selectbox(
            "Against", rest, rest.index(wanted), key=f"against_{baseline}_{of}"
        )
        more = [n for n in rest if n != against]
        chosen += [against]
        if more:
            chosen += others.multiselect(
                "Also show",
                more,
                [n for n in state.plans[2:] if n in more],
                max_selections=MOST_PLANS - 2,
                key=f"others_{baseline}_{against}_{of}",
                placeholder="up to two more plans",
            )
        else:
            others.caption("Run more solvers to show their plans as well.")
    else:
        second.caption("Run another solver above to hold a plan against this one.")
    state.is_diff = diff.toggle(
        "Only what differs", state.is_diff, key=f"is_diff_{of}", disabled=len(chosen) < 2
    )
    state.plans = chosen


def _panels(session: Session) -> list[Panel]:
    opened = session.open
    panels = []
    for name in opened.comparison.plans:
        plan = opened.plans[name]
        simulation = caching.simulation_of(plan.identity, opened.program, plan.plan)
        caption = time_text(simulation.latency_s)
        if opened.bound_s:
            over = share_text(simulation.latency_s / opened.bound_s - 1)
            caption += f" · {over} over the bound"
        panels.append(Panel(name, caption, plan.identity, plan.plan, simulation))
    return panels


@st.fragment
def _sheet() -> None:
    """Show the maps; a pick on them reruns only this fragment."""
    session = current_session()
    state, panels = session.open.comparison, _panels(session)
    identity = identity_of(panels)
    picked = st.session_state.get(KEY, {}).get("picked")
    if picked and picked["nonce"] == state.nonce and picked["plans"] == identity:
        state.group, state.slot = int(picked["group"]), int(picked["slot"])
    SIDE_BY_SIDE.show(
        {
            "plans": identity,
            "is_diff": state.is_diff,
            "group": state.group,
            "slot": state.slot,
            "nonce": state.nonce,
            "height": _HEIGHTS_PX[len(panels)],
            "window": state.window,
        },
        key=KEY,
    )
    if state.group >= 0 and picked:
        name = tensor_name(session.open.program, state.group)
        st.caption(f"{code(name)} is selected. Open it on the map:")
        jump_buttons(session, state.plans, max(0, state.slot), state.group, "picked")


def _pair(session: Session) -> tuple[OpenPlan, OpenPlan]:
    first, second = session.open.comparison.plans[:2]
    return session.open.plans[first], session.open.plans[second]


def _story(session: Session) -> None:
    """The difference in one sentence, and where the plans part."""
    first, second = _pair(session)
    program, names = session.open.program, (first.name, second.name)
    differences, _ = caching.differences_of(
        (first.identity, second.identity), program, first.plan, second.plan
    )
    latencies = (
        caching.simulation_of(first.identity, program, first.plan).latency_s,
        caching.simulation_of(second.identity, program, second.plan).latency_s,
    )
    outcome, parting = st.columns([1, 1.25], gap="medium")
    with outcome.container(border=True, height="stretch"):
        st.markdown(summary(names, latencies, unmeasured(program)))
        st.caption(counts_text(differences, len(program.touches)))
    with parting.container(border=True, height="stretch"):
        divergence = first_divergence(program, differences, _LEAST_S)
        if divergence is None:
            st.markdown("**No divergence.** The plans do the same.")
            return
        st.markdown(f"**First divergence.** {divergence_text(program, divergence, names)}")
        jump_buttons(session, names, divergence.time, divergence.group, "divergence")


@st.fragment
def _costs() -> None:
    """Tensors ranked by what they cost more or less; a row leads to the maps and to Play."""
    session = current_session()
    first, second = _pair(session)
    program = session.open.program
    differences, costs = caching.differences_of(
        (first.identity, second.identity), program, first.plan, second.plan
    )
    more, less = plain(second.name), plain(first.name)
    st.markdown(f"##### What each tensor costs more under {more} than under {less}")
    if not costs:
        st.caption("No tensor costs more or less: where the plans differ, it costs no time.")
        return
    rows = cost_table(program, costs, differences)
    key = f"costs_{first.identity}_{second.identity}"
    picked = chosen_row(rows, _COLUMNS, key, 320)
    st.caption(
        f"The rows add up to {gain_text(sum(c.total_s for c in costs))}, the difference of the"
        " two runtimes. A wait counts for the tensors that were waited for, though others that"
        " were queued before them may be to blame."
    )
    if picked is not None:
        _follow(session, rows.iloc[picked], (first.name, second.name))


_COLUMNS = {
    "tensor": st.column_config.TextColumn("Tensor", width="medium"),
    "size": st.column_config.NumberColumn("MiB"),
    "total": st.column_config.NumberColumn("Costs, µs"),
    "slow": st.column_config.NumberColumn("by slow accesses"),
    "stall": st.column_config.NumberColumn("by waits"),
    "uncounted": NOT_OBSERVED,
    "what": st.column_config.TextColumn("What differs", width="large"),
    "where": st.column_config.TextColumn("Most of it at", width="medium"),
    "time": st.column_config.NumberColumn("Slot"),
}


def _follow(session: Session, row: pd.Series, names: tuple[str, str]) -> None:
    time, group = int(row["time"]), int(row["group"])
    state = session.open.comparison
    if state.followed != (time, group):
        state.followed = (time, group)
        state.select(group, time)
        # The maps are in a fragment of their own.
        st.rerun()
    jump_buttons(session, names, time, group, "cost")
