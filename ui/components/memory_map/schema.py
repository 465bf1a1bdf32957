"""The tables that a variation changes: their columns in order, for Python and for the browser.

`board.py` sends the tables whole, as typed columns; `draft.py` sends rows of integers that take the
place of others; `plan.js` puts both together. All three read the layout from here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ui.components.packing import GRANULES, Column

PICO = 1e-12
"""Rows are integers, so seconds travel in them as picoseconds."""


@dataclass(frozen=True)
class ColumnSpec:
    """`name` in the browser, `kind` as NumPy knows it, and what an integer of a row stands for."""

    name: str
    kind: str
    unit: float = 1


TABLES: Mapping[str, tuple[ColumnSpec, ...]] = {
    "stays": (
        ColumnSpec("stay_group", "i4"),
        ColumnSpec("stay_offset", GRANULES),
        ColumnSpec("stay_start", "i4"),
        ColumnSpec("stay_end", "i4"),
        ColumnSpec("stay_arrival", "i4"),
    ),
    "copies": (
        ColumnSpec("copy_group", "i4"),
        ColumnSpec("copy_prefetch", "u1"),
        ColumnSpec("copy_start", "i4"),
        ColumnSpec("copy_deadline", "i4"),
        ColumnSpec("copy_offset", GRANULES),
    ),
    "service": (
        ColumnSpec("service_prefetch", "u1"),
        ColumnSpec("service_start", "f8", PICO),
        ColumnSpec("service_end", "f8", PICO),
    ),
}


def table_columns(table: str, values: ArrayLike) -> dict[str, Column]:
    """`[rows, columns]` numbers, in the table's order, as the typed columns of the browser."""
    specs = TABLES[table]
    matrix = np.asarray(values).reshape(-1, len(specs))
    return {
        spec.name: np.ascontiguousarray(matrix[:, number], spec.kind)
        for number, spec in enumerate(specs)
    }


def javascript() -> str:
    """JavaScript that declares `TABLES` for `plan.js`: by table the pairs of column and unit."""
    pairs = {name: [[s.name, s.unit] for s in specs] for name, specs in TABLES.items()}
    return f"const TABLES = {json.dumps(pairs)};\n"
