"""Tables: their numbers shown alike, and such of which one row can be chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler
from streamlit.elements.arrow import DataframeState
from streamlit.elements.lib.column_types import ColumnConfig

from ui.components.names import short_name
from ui.components.units import decimal_text, share_text

_ROW_PX = 35
_AROUND_PX, _LETTER_PX = 17, 7
"""What a cell has beside its text, and a letter's usual width."""
_FEW, _MANY = 10, 1000
_SHARE = "percent"
_MOST_WRITTEN = 2**16
"""Cells written as texts, one by one, for a second or two; of four times as many none can be."""
NOT_OBSERVED = st.column_config.NumberColumn(
    "Not observed",
    width=104,
    help="By how much more it may be, in µs: no compile has shown what these uses save by"
    " themselves, so that a cautious share counts, or nothing",
)
"""The column of what uses may save beyond what counts (`engine.program.provenance`)."""


def show_table(
    table: pd.DataFrame, columns: Mapping[str, ColumnConfig], **settings: Any
) -> DataframeState:
    """Show a table, its numbers as everywhere; `settings`: of `st.dataframe`.

    A column whose configuration has a format of its own keeps it; a `percent` is written like all
    shares.
    """
    is_small = table.size <= _MOST_WRITTEN
    shown, configured = (_written if is_small else _unwritten)(table, columns)
    state: DataframeState = st.dataframe(
        shown, hide_index=True, column_config=configured, placeholder="–", **settings
    )
    return state


def _kinds(columns: Mapping[str, ColumnConfig]) -> dict[str, Any]:
    return {name: about["type_config"] or {} for name, about in columns.items()}


def _written(
    table: pd.DataFrame, columns: Mapping[str, ColumnConfig]
) -> tuple[Styler, dict[str, Any]]:
    """The table with each of its cells as text, and its columns."""
    kinds = _kinds(columns)
    shares = {name for name, kind in kinds.items() if kind.get("format") == _SHARE}
    own = {name for name, kind in kinds.items() if kind.get("format")} - shares
    formats: dict[Any, str | Callable[[Any], str] | None] = {
        name: share_text if name in shares else _format_of(table[name])
        for name in table.columns
        if name not in own and pd.api.types.is_numeric_dtype(table[name].dtype)
    }
    formats |= {
        name: partial(_named, most=int(about["width"] - _AROUND_PX) // _LETTER_PX)
        for name, about in columns.items()
        if isinstance(about["width"], int) and pd.api.types.is_string_dtype(table[name].dtype)
    }
    configured: dict[str, Any] = dict(columns)
    for name in shares:
        configured[name] = {**columns[name], "type_config": {**kinds[name], "format": None}}
    return table.style.format(formats, na_rep="–"), configured


def _unwritten(
    table: pd.DataFrame, columns: Mapping[str, ColumnConfig]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table as it is, and its columns with formats that the browser writes numbers by."""
    configured: dict[str, Any] = dict(columns)
    for name, kind in _kinds(columns).items():
        is_float = name in table and pd.api.types.is_float_dtype(table[name].dtype)
        if is_float and not kind.get("format"):
            written = {**kind, "format": f"%.{_decimals_of(table[name])}f"}
            configured[name] = {**columns[name], "type_config": written}
    return table, configured


def _named(text: object, most: int) -> str:
    """A name is cut in its middle, where it says least; a sentence is left as it is."""
    words = str(text)
    return words if " " in words else short_name(words, most)


def _format_of(column: pd.Series[Any]) -> Callable[[Any], str]:
    """Whole numbers as they are, others with one to three decimals, as the largest needs."""
    if not pd.api.types.is_float_dtype(column.dtype):
        return lambda value: f"{value:,}"
    decimals = _decimals_of(column)
    return lambda value: decimal_text(value, decimals)


def _decimals_of(column: pd.Series[Any]) -> int:
    most = column.abs().max()
    return 3 if most < _FEW else 2 if most < _MANY else 1


def chosen_row(
    table: pd.DataFrame,
    columns: Mapping[str, ColumnConfig],
    key: str,
    most_px: int,
    order: Sequence[str] | None = None,
) -> int | None:
    """Show the table, at most so high; the number of the row that is chosen, if one is.

    A choice holds for these very rows: with others under the same `key` none is chosen. `order`:
    the columns that are shown; None: those of `columns`.
    """
    rows = hash(pd.util.hash_pandas_object(table).to_numpy().tobytes())
    chosen = show_table(
        table,
        columns,
        # A table keeps its choice by its key.
        key=f"{key}_{rows}",
        height=min(most_px, _ROW_PX * (len(table) + 1) + 2),
        on_select="rerun",
        selection_mode="single-row",
        column_order=order or list(columns),
    )
    picked = chosen.selection.rows
    return picked[0] if picked else None
