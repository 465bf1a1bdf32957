"""The program file: versioned JSON (gzip where the name ends in `.gz`), written by columns.

Exact: `load(save(p)) == p`, bit for bit, since floats are written as their shortest exact decimal.
`docs/formats.md` describes the format for other tools.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from engine.errors import ProgramFormatError
from engine.files import json_text, read_json, require_header, typed, write_bytes
from engine.program.columns import record_type, rows_of, table_type, to_columns
from engine.program.model import Access, Hardware, Instruction, Program, Region, Value
from engine.program.validate import validate

FORMAT = "mallocmuzero-program"
VERSION = 1

_TABLES: Mapping[str, type] = {
    "instructions": Instruction,
    "values": Value,
    "accesses": Access,
    "regions": Region,
}
_OPTIONAL = {"flops", "floor_s", "priced_s", "uncertainty_s", "must_be_slow", "in_flight"}
"""Columns that are left out where they say nothing."""
_NO_IDENTITY = {"flops", "priced_s", "uncertainty_s"}
"""Columns that change neither the validity nor the cost of any plan."""


_FILE = msgspec.defstruct(
    "Program",
    [
        ("name", str),
        ("hardware", record_type(Hardware)),
        *((name, table_type(row, _OPTIONAL)) for name, row in _TABLES.items()),
        ("provenance", dict[str, Any], {}),
    ],
)
"""The content of a program file, beside its header."""


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
        body[table] = to_columns(getattr(program, table), row, _OPTIONAL)
    body["provenance"] = dict(program.provenance)
    return body


def from_json(body: Any, where: str) -> Program:
    """The program in `body`; `where` names its origin in errors. Raises ProgramFormatError."""
    require_header(body, FORMAT, VERSION, where)
    try:
        file: Any = typed(body, _FILE)
        tables: Any = {name: rows_of(getattr(file, name), row) for name, row in _TABLES.items()}
        program = Program(
            name=file.name,
            hardware=Hardware(**msgspec.structs.asdict(file.hardware)),
            provenance=file.provenance,
            **tables,
        )
    except ValueError as error:
        raise ProgramFormatError(f"{where}: not a valid program file ({error!s:.200})") from error
    validate(program, where)
    return program


def save(program: Program, path: str | PathLike[str]) -> None:
    """Write a program file, whole or not at all; gzip where the name ends in `.gz`.

    Raises ProgramFormatError for a path that cannot be written, and for a provenance that is no
    JSON.

    >>> from tempfile import TemporaryDirectory
    >>> from engine.program.library import load_sample
    >>> program = load_sample("teach-prefetch")
    >>> with TemporaryDirectory() as folder:
    ...     save(program, f"{folder}/mine.json.gz")
    ...     load(Path(folder) / "mine.json.gz") == program
    True
    """
    text = json_text(to_json(program), str(path), separators=(",", ":"))
    write_bytes(Path(path), text.encode())


def load(path: Path) -> Program:
    """Read a program file. Raises ProgramFormatError."""
    return from_json(read_json(path), str(path))
