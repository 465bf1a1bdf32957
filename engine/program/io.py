"""The program file: versioned JSON (gzip where the name ends in `.gz`), written by columns.

Exact: `load(save(p)) == p`, bit for bit, since floats are written as their shortest exact decimal.
`docs/formats.md` describes the format for other tools.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from engine.errors import ProgramFormatError
from engine.files import read_json, require_header, write_bytes
from engine.program.model import Access, Hardware, Instruction, Program, Region, Value
from engine.program.validate import validate

FORMAT = "mallocmuzero-program"
VERSION = 1

_Row = TypeVar("_Row", Instruction, Value, Access, Region)
_TABLES: Mapping[str, type] = {
    "instructions": Instruction,
    "values": Value,
    "accesses": Access,
    "regions": Region,
}
_OPTIONAL = {"flops", "floor_s", "uncertainty_s", "must_be_slow"}
"""Columns that are left out where they say nothing."""
_NO_IDENTITY = {"flops", "uncertainty_s"}
"""Columns that change neither the validity nor the cost of any plan."""


def content_hash(program: Program) -> str:
    """SHA-256 (first 16 hex digits) of everything that can change a plan's meaning or cost."""
    kept = {k: v for k, v in to_json(program).items() if k not in ("name", "provenance")}
    for table in _TABLES:
        kept[table] = {k: v for k, v in kept[table].items() if k not in _NO_IDENTITY}
    packed = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(packed.encode()).hexdigest()[:16]


def to_json(program: Program) -> dict[str, Any]:
    """The program as plain JSON data, one list per column."""
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "name": program.name,
        "hardware": {f.name: getattr(program.hardware, f.name) for f in fields(Hardware)},
    }
    for table, row in _TABLES.items():
        rows = getattr(program, table)
        columns = {f.name: [getattr(r, f.name) for r in rows] for f in fields(row)}
        body[table] = {k: v for k, v in columns.items() if k not in _OPTIONAL or any(v)}
    body["provenance"] = dict(program.provenance)
    return body


def from_json(body: Any, where: str) -> Program:
    """The program in `body`; `where` names its origin in errors. Raises ProgramFormatError."""
    require_header(body, FORMAT, VERSION, where)
    try:
        tables = {name: _rows(body[name], row) for name, row in _TABLES.items()}
        program = Program(
            name=_typed(body["name"], str),
            hardware=Hardware(**_record(body["hardware"], Hardware)),
            provenance=_typed(body.get("provenance", {}), dict),
            **tables,  # type: ignore[arg-type]
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProgramFormatError(f"{where}: not a valid program file ({error!r:.200})") from error
    validate(program, where)
    return program


def save(program: Program, path: str | PathLike[str]) -> None:
    """Write a program file, whole or not at all; gzip where the name ends in `.gz`.

    Raises ProgramFormatError for a path that cannot be written.

    >>> from tempfile import TemporaryDirectory
    >>> from engine.program.library import load_sample
    >>> program = load_sample("teach-prefetch")
    >>> with TemporaryDirectory() as folder:
    ...     save(program, f"{folder}/mine.json.gz")
    ...     load(Path(folder) / "mine.json.gz") == program
    True
    """
    write_bytes(Path(path), json.dumps(to_json(program), separators=(",", ":")).encode())


def load(path: Path) -> Program:
    """Read a program file. Raises ProgramFormatError."""
    return from_json(read_json(path), str(path))


def _rows(columns: Any, row: type[_Row]) -> tuple[_Row, ...]:
    names = [f.name for f in fields(row)]
    if not set(names) - _OPTIONAL <= set(columns) <= set(names):
        raise ValueError(f"columns {sorted(columns)} instead of {sorted(names)}")
    names = [n for n in names if n in columns]
    lists: list[Sequence[Any]] = [_column(columns[n], _TYPES[row, n]) for n in names]
    if len({len(c) for c in lists}) > 1:
        raise ValueError(f"columns of {row.__name__} differ in length")
    cells = zip(*lists, strict=True)
    return tuple(row(**dict(zip(names, items, strict=True))) for items in cells)


def _record(body: Any, record: type) -> dict[str, Any]:
    names = {f.name for f in fields(record)}
    if set(body) != names:
        raise ValueError(f"keys {sorted(body)} instead of {sorted(names)}")
    return {n: _column([body[n]], _TYPES[record, n])[0] for n in names}


_TYPES = {
    (row, f.name): {"str": str, "int": int, "float": float, "bool": bool}[str(f.type)]
    for row in (*_TABLES.values(), Hardware)
    for f in fields(row)
}


def _column(items: Any, kind: type) -> list[Any]:
    if not isinstance(items, list):
        raise TypeError("a column is not a list")
    return [_typed(item, kind) for item in items]


def _typed(item: Any, kind: type) -> Any:
    if kind is float and type(item) is int:
        item = float(item)
    if type(item) is not kind:
        raise ValueError(f"{item!r:.40} is not {kind.__name__}")
    if isinstance(item, float) and not math.isfinite(item):
        raise ValueError("a number is not finite")
    return item
