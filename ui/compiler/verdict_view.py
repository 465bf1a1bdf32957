"""Compiler: what became of a plan: figures, what was placed and what was refused, and why."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from engine.compiler.steering.flags_file import Flags
from ui.compare.jumps_view import go_to
from ui.compiler.instructions_view import instructions
from ui.compiler.options_view import options_code
from ui.components.markdown import plain
from ui.components.table_view import chosen_row
from ui.components.units import share_text
from ui.model.compiler.placements import Fate, fates, placements_map
from ui.model.compiler.state import CompiledPlan
from ui.session.state import OpenPlan, Session

_ROWS_PX = 320
_COLUMNS = {
    "tensor": st.column_config.TextColumn("Tensor", width="medium"),
    "saving": st.column_config.NumberColumn("Aimed at, µs"),
    "realised": st.column_config.ProgressColumn("Realised", min_value=0.0, max_value=1.0),
    "reason": st.column_config.TextColumn("Why not all", width="large"),
}


def show(session: Session) -> None:
    """Show the details of the chosen compile; nothing before the first."""
    state = session.open.compiler
    if not state.compiled:
        return
    names = list(state.compiled)
    st.subheader("What the compiler made of it", anchor=False)
    if len(names) > 1:
        chosen = st.segmented_control(
            "Compile",
            names,
            default=state.shown,
            format_func=plain,
            required=True,
            key=f"verdict_{session.program_name}_{state.edition}",
        )
        state.shown = chosen or state.shown
    compiled = state.compiled[state.shown]
    _figures(compiled)
    _ways_on(session, compiled)
    asked = _asked(session, compiled)
    what, cycles = st.columns([1.25, 1], gap="large")
    with what:
        _placements(session, compiled, asked)
    with cycles:
        key, options = _key(session, compiled), compiled.verdict["compiler_options"]
        instructions(session, compiled.instructions, key, compiled.name)
        st.markdown("##### Its options")
        if options:
            options_code(Flags.of(session.open.program, options), key)
        else:
            st.caption("The compiler's default is best: there is no option to set.")


def _key(session: Session, compiled: CompiledPlan) -> str:
    """A part of widget keys that tells the compiles of all programs apart."""
    return f"{session.open.identity}_{compiled.name}"


def _figures(compiled: CompiledPlan) -> None:
    verdict = compiled.verdict
    places = st.columns(5)
    for place, whose, title in zip(
        places, ("default", "ours"), ("Default", "Compiled so"), strict=False
    ):
        stalls = verdict[f"{whose}_stall_cycles"]
        priced = verdict.get(f"{whose}_priced_cycles", 0.0)
        total = f"{verdict[f'{whose}_cycles'] + stalls + priced:,.0f}"
        parts = f"{stalls:,.0f} of them stalls"
        if priced:
            parts += f", {priced:,.0f} prices: they are no estimate of the compiler's"
        place.metric(f"{title}, total", total, help=f"Cycles; {parts}.")
    places[2].metric("Gain, compiled", share_text(verdict["improvement"]))
    places[3].metric(
        "Gain, predicted",
        share_text(verdict["predicted_improvement"]),
        help="By our simulator and the program's costs, for the placements that the compiler made.",
    )
    if compiled.random_improvement is not None:
        places[4].metric(
            "Random options gain",
            share_text(compiled.random_improvement),
            help=f"The best of {compiled.random_compiles} whole compiles of random options.",
        )
    elif verdict["realised"] is not None:
        places[4].metric("Placed as planned", share_text(verdict["realised"]))


def _ways_on(session: Session, compiled: CompiledPlan) -> None:
    """Show buttons that open the compiled plan in Play, and beside the plan asked for."""
    play, compare, _ = st.columns([1, 1.4, 2])
    if play.button("Open in Play", icon=":material/memory:", key="open_compiled", width="stretch"):
        session.show_plan(compiled.name)
        st.switch_page(session.pages["play"])
    asked = _asked(session, compiled)
    other = asked.name if asked else next(iter(session.open.plans))
    if compare.button(
        f"Compare with “{plain(other)}”",
        icon=":material/compare_arrows:",
        key="compare_compiled",
        width="stretch",
    ):
        session.open.comparison.hold(other, compiled.name)
        st.switch_page(session.pages["compare"])


def _asked(session: Session, compiled: CompiledPlan) -> OpenPlan | None:
    asked, plans = compiled.asked, session.open.plans.values()
    return next((plan for plan in plans if asked and plan.identity == asked), None)


def _placements(session: Session, compiled: CompiledPlan, asked: OpenPlan | None) -> None:
    """Show the map of the plan asked for, and the table of its tensors."""
    program = session.open.program
    rows = fates(program, compiled.verdict["placements"])
    if not rows:
        st.caption("Nothing was aimed at.")
        return
    if asked is not None:
        st.markdown(f"##### The map of “{plain(asked.name)}”, and what became of it")
        st.html(placements_map(program, asked.plan, rows))
    _table(session, compiled, rows)


def _table(session: Session, compiled: CompiledPlan, rows: Sequence[Fate]) -> None:
    table = pd.DataFrame(
        {
            "tensor": [row.name for row in rows],
            "saving": [row.saving_s * 1e6 for row in rows],
            "realised": [row.realised for row in rows],
            "reason": [row.reason for row in rows],
        }
    )
    number = chosen_row(table, _COLUMNS, f"placements_{_key(session, compiled)}", _ROWS_PX)
    if number is None:
        st.caption("Choose a row to open its tensor on the map of the compiled plan.")
        return
    row = rows[number]
    if st.button(
        f"Play “{plain(compiled.name)}” at {plain(row.name)}",
        icon=":material/memory:",
        key="placement_jump",
    ):
        go_to(session, compiled.name, row.slot, row.group)
