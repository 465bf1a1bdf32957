"""Compiler: what became of a plan: figures, what was placed and what was refused, and why."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ui.compare.jumps_view import go_to
from ui.compiler.instructions_view import instructions
from ui.compiler.options_view import options_code, options_of
from ui.compiler.placements import Fate, fates, group_fates
from ui.compiler.placements_map import placements_map
from ui.compiler.state import CompiledPlan
from ui.components.units import share_text
from ui.session.state import OpenPlan, Session

_ROWS_PX = 320
_COLUMNS = {
    "tensor": st.column_config.TextColumn("Tensor", width="medium"),
    "saving": st.column_config.NumberColumn("Aimed at, µs", format="%.2f"),
    "realised": st.column_config.ProgressColumn("Realised", min_value=0.0, max_value=1.0),
    "reason": st.column_config.TextColumn("Why not all", width="large"),
}


def show(session: Session) -> None:
    """The compile that is shown; nothing before the first."""
    state = session.open.compiler
    if not state.compiled:
        return
    names = list(state.compiled)
    st.subheader("What the compiler made of it", anchor=False)
    if len(names) > 1:
        chosen = st.segmented_control(
            "Compile", names, default=state.shown, required=True, key=f"verdict_{len(names)}"
        )
        state.shown = chosen or state.shown
    found = state.compiled[state.shown]
    _figures(found)
    _ways_on(session, found)
    asked = _asked(session, found)
    what, cycles = st.columns([1.25, 1], gap="large")
    with what:
        _placements(session, found, asked)
    with cycles:
        instructions(session, found.instructions, found.name, found.name)
        st.markdown("##### Its options")
        if found.verdict["compiler_options"]:
            options_code(options_of(session, found.verdict["compiler_options"]), found.name)
        else:
            st.caption("The compiler's default is best: there is no option to set.")


def _figures(found: CompiledPlan) -> None:
    verdict = found.verdict
    places = st.columns(5)
    places[0].metric("Default, cycles", f"{found.default_cycles:,.0f}")
    gain = share_text(verdict["improvement"])
    places[1].metric("Compiled so, cycles", f"{found.cycles:,.0f}")
    places[2].metric("Gain, compiled", gain)
    places[3].metric(
        "Gain, predicted",
        share_text(verdict["predicted_improvement"]),
        help="By our simulator and the program's costs, for the placements that the compiler made.",
    )
    if found.random_improvement is not None:
        places[4].metric("Random options gain", share_text(found.random_improvement))
    elif verdict["realised"] is not None:
        places[4].metric("Placed as planned", share_text(verdict["realised"]))


def _ways_on(session: Session, found: CompiledPlan) -> None:
    """The compiled plan is one plan more: on the map, and beside the plan that was asked for."""
    play, compare, _ = st.columns([1, 1.4, 2])
    if play.button("Open in Play", icon=":material/memory:", key="open_compiled", width="stretch"):
        session.show_plan(found.name)
        st.switch_page(session.pages["play"])
    asked = _asked(session, found)
    other = asked.name if asked else next(iter(session.open.plans))
    if compare.button(
        f"Compare with “{other}”",
        icon=":material/compare_arrows:",
        key="compare_compiled",
        width="stretch",
    ):
        state = session.open.comparison
        state.plans, state.mode = [other, found.name], "layouts"
        state.edition += 1
        st.switch_page(session.pages["compare"])


def _asked(session: Session, found: CompiledPlan) -> OpenPlan | None:
    plans = session.open.plans.values()
    return next((plan for plan in plans if found.asked and plan.identity == found.asked), None)


def _placements(session: Session, found: CompiledPlan, asked: OpenPlan | None) -> None:
    """The map of what was asked for, and the table of its tensors."""
    program = session.open.program
    rows = fates(program, found.verdict["placements"])
    if not rows:
        st.caption("Nothing was aimed at.")
        return
    if asked is not None:
        st.markdown(f"##### The map of “{asked.name}”, and what became of it")
        st.html(placements_map(program, asked.plan, group_fates(rows)))
    _table(session, found, rows)


def _table(session: Session, found: CompiledPlan, rows: Sequence[Fate]) -> None:
    table = pd.DataFrame(
        {
            "tensor": [row.name for row in rows],
            "saving": [row.saving_s * 1e6 for row in rows],
            "realised": [row.realised for row in rows],
            "reason": [row.reason for row in rows],
        }
    )
    chosen = st.dataframe(
        table,
        key=f"placements_{found.name}_{session.open.identity}",
        hide_index=True,
        height=min(_ROWS_PX, 35 * (len(rows) + 1) + 2),
        on_select="rerun",
        selection_mode="single-row",
        column_config=_COLUMNS,
    )
    if not chosen.selection.rows:
        st.caption("Choose a row to open its tensor on the map of the compiled plan.")
        return
    row = rows[chosen.selection.rows[0]]
    if st.button(
        f"Play “{found.name}” at {row.name}", icon=":material/memory:", key="placement_jump"
    ):
        go_to(session, found.name, row.slot, row.group)
