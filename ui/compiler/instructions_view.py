"""Compiler: cycles per instruction, by default, under other options, and as predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from ui.compare.jumps_view import jump_buttons
from ui.components.table_view import chosen_row
from ui.session.state import Session

_ROWS_PX = 360
_COLUMNS = {
    "name": st.column_config.TextColumn("Instruction", width="medium"),
    "change": st.column_config.NumberColumn("Change", help="Compiled so, less by default"),
    "compiled": st.column_config.NumberColumn("Compiled"),
    "predicted": st.column_config.NumberColumn("Predicted"),
    "error": st.column_config.NumberColumn("Error", help="Predicted less compiled"),
}


def instructions(
    session: Session, rows: Sequence[Mapping[str, Any]], key: str, plan: str = ""
) -> None:
    """Show the instructions whose cycles differ, the greatest change first.

    `rows`: fields of `engine.compiler.steering.instruction_cycles.InstructionCycles`. A row leads
    to Play, on `plan`, else on the plan in use.
    """
    st.markdown("##### Cycles per instruction")
    table = instruction_table(rows)
    if table.empty:
        st.caption("Every instruction takes as many cycles as by default, and as predicted.")
        return
    number = chosen_row(table, _COLUMNS, f"instructions_{key}", _ROWS_PX)
    if number is not None:
        slot = int(table.iloc[number]["slot"])
        jump_buttons(session, [plan or _shown(session)], slot, -1, f"instruction_{key}")


def _shown(session: Session) -> str:
    return session.plan.name if session.plan else next(iter(session.open.plans))


def instruction_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Instructions that another placement changed or the costs misjudge, by the greater of both."""
    table = pd.DataFrame(rows, columns=["name", "slot", "default", "compiled", "predicted"])
    table["change"] = table["compiled"] - table["default"]
    table["predicted"] = table["predicted"].round()
    table["error"] = table["predicted"] - table["compiled"].round()
    size = table[["change", "error"]].abs().max(axis=1)
    return table.loc[size[size >= 1].sort_values(ascending=False).index]
