"""Compiler: all whole compiles that are known of the program, and the details of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pandas as pd
import streamlit as st

from engine.compiler.steering.flags_file import Flags
from engine.compiler.steering.instruction_cycles import KeptCompile, instruction_cycles
from ui.compiler.instructions_view import instructions
from ui.compiler.options_view import options_code
from ui.components.table_view import chosen_row
from ui.session import caching
from ui.session.state import OpenProgram, Session

_ROWS_PX = 282


@dataclass(frozen=True)
class Gains:
    """Cycles of the default, and the shares that other compiles save.

    `alone`: of the cycles without stalls, of each compile; `totals`: of the total, of those that
    were ordered here: it is not known of the compiles that came with a sample.
    """

    default_cycles: float | None
    alone: Sequence[float]
    totals: Sequence[float]


def gains(opened: OpenProgram) -> Gains:
    """What the compiles that are known of a program save."""
    kept = caching.kept_compiles(opened.identity, opened.program)
    compiled = opened.compiler.compiled.values()
    shares = [1.0 - one.cycles / kept[0].cycles for one in kept[1:]]
    shares += [one.gain for one in compiled]
    defaults = [one.cycles for one in kept[:1]] + [
        float(one.verdict["default_cycles"]) for one in compiled
    ]
    return Gains(next(iter(defaults), None), shares, [one.improvement for one in compiled])


def show(session: Session) -> None:
    """Show a sample's stored compiles as a table, and the options and cycles of one of them."""
    opened = session.open
    kept = caching.kept_compiles(opened.identity, opened.program)
    if len(kept) < 2:
        return
    st.subheader("Compiled before", anchor=False)
    st.caption(
        "Whole compiles that came with this sample. Gains are of the compiler's own cycles against"
        " its default, loops multiplied out, without stalls. Choose a row for its options and its"
        " instructions."
    )
    order = sorted(range(1, len(kept)), key=lambda n: kept[n].cycles)
    number = chosen_row(_table(kept, order), _COLUMNS, f"kept_{opened.identity}", _ROWS_PX)
    if number is not None:
        _details(session, kept[0], kept[order[number]])


_COLUMNS = {
    "compile": st.column_config.TextColumn("Compile"),
    "cycles": st.column_config.NumberColumn("Cycles"),
    "gain": st.column_config.NumberColumn("Against the default, %"),
    "predicted": st.column_config.NumberColumn(
        "By the costs, %",
        help="What the program's costs say of the same placements. They were fitted to these"
        " compiles; how well they predict others: `python -m benchmarks fidelity`.",
    ),
}


def _table(kept: Sequence[KeptCompile], order: Sequence[int]) -> pd.DataFrame:
    default, some = kept[0], [kept[n] for n in order]
    return pd.DataFrame(
        {
            "compile": [one.title for one in some],
            "cycles": [round(one.cycles) for one in some],
            "gain": [100 * (one.cycles / default.cycles - 1) for one in some],
            "predicted": [100 * (one.predicted / default.predicted - 1) for one in some],
        }
    )


def _details(session: Session, default: KeptCompile, one: KeptCompile) -> None:
    key = f"{session.open.identity}_{one.title}"
    options, cycles = st.columns([1, 1.25], gap="large")
    with options:
        st.markdown(f"##### Options of {one.title}")
        options_code(Flags.of(session.open.program, one.options), key)
    with cycles:
        rows = instruction_cycles(session.open.program, default.seen, one.seen)
        instructions(session, [asdict(row) for row in rows], key)
