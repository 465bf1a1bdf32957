"""A table of which one row can be chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

_ROW_PX = 35
NOT_OBSERVED = st.column_config.NumberColumn(
    "Not observed",
    format="%.2f",
    width=104,
    help="By how much more it may be, in µs: no compile has shown what these uses save by"
    " themselves, so that a cautious share counts, or nothing",
)
"""The column of what uses may save beyond what counts (`engine.program.provenance`)."""


def chosen_row(
    table: pd.DataFrame,
    columns: Mapping[str, ColumnConfig],
    key: str,
    most_px: int,
    order: Sequence[str] | None = None,
) -> int | None:
    """Show the table, at most so high; the number of the row that is chosen, if one is.

    `order`: the columns that are shown; None: those of `columns`.
    """
    chosen = st.dataframe(
        table,
        key=key,
        hide_index=True,
        height=min(most_px, _ROW_PX * (len(table) + 1) + 2),
        on_select="rerun",
        selection_mode="single-row",
        column_order=order or list(columns),
        column_config=columns,
    )
    picked = chosen.selection.rows
    return picked[0] if picked else None
