"""Tables of our files, written by columns: a list for every field of a row, a frozen dataclass.

A column may be left out where its type says so, and then has the row's own default throughout.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from itertools import repeat
from typing import Any, TypeVar, get_type_hints

import msgspec

from engine.files import Finite, Whole

_Row = TypeVar("_Row")


def table_type(row: type, optional: Collection[str] = ()) -> type[msgspec.Struct]:
    """The type of a table of such rows, for `engine.files.typed`; other columns are refused."""
    columns: list[Any] = []
    for name, kind in _kinds(row).items():
        column = list[kind]  # type: ignore[valid-type]
        if name in optional:
            columns.append((name, column | msgspec.UnsetType, msgspec.UNSET))
        else:
            columns.append((name, column))
    return msgspec.defstruct(row.__name__, columns, kw_only=True, forbid_unknown_fields=True)


def record_type(record: type) -> type[msgspec.Struct]:
    """The type of one such record with every field, and no other."""
    named = list(_kinds(record).items())
    return msgspec.defstruct(record.__name__, named, forbid_unknown_fields=True)


def _kinds(row: type) -> dict[str, Any]:
    """The types of a row's fields, by name; numbers are finite, and whole ones exact in a float."""
    hints, stricter = get_type_hints(row), {float: Finite, int: Whole}
    return {f.name: stricter.get(hints[f.name], hints[f.name]) for f in fields(row)}


def to_columns(
    rows: Sequence[object], row: type, optional: Collection[str] = ()
) -> dict[str, list[Any]]:
    """The rows by columns; those of `optional` are left out where they say nothing."""
    columns = {f.name: [getattr(item, f.name) for item in rows] for f in fields(row)}
    return {name: cells for name, cells in columns.items() if name not in optional or any(cells)}


def rows_of(table: Any, row: type[_Row]) -> tuple[_Row, ...]:
    """The rows of a table. Raises ValueError if columns differ in length."""
    parts = fields(row)  # type: ignore[arg-type]
    columns = [getattr(table, part.name) for part in parts]
    if len({len(column) for column in columns if column is not msgspec.UNSET}) > 1:
        raise ValueError(f"columns of {row.__name__} differ in length")
    cells = zip(columns, parts, strict=True)
    return tuple(map(row, *(repeat(p.default) if c is msgspec.UNSET else c for c, p in cells)))
