"""The program file: versioned JSON (gzip where the name ends in `.gz`), written by columns.

Exact: `load(save(p)) == p`, bit for bit, since floats are written as their shortest exact decimal.
`docs/formats.md` describes the format for other tools.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from engine.errors import ProgramFormatError
from engine.program.model import Access, Hardware, Instruction, Program, Region, Value

FORMAT = "mallocmuzero-program"
VERSION = 1
MAX_BYTES = 256 * 2**20
"""Largest unpacked program or plan file that is read."""

_Row = TypeVar("_Row", Instruction, Value, Access, Region)
_TABLES: Mapping[str, type] = {
    "instructions": Instruction,
    "values": Value,
    "accesses": Access,
    "regions": Region,
}
_OPTIONAL = {"flops", "floor_s", "uncertainty_s", "must_be_slow"}
"""Columns that are left out where they say nothing."""
TINY_S = 1e-12
"""Room for rounding in sums of times."""
MAX_DIGITS = 40
"""Of a whole number in a file."""
MOST_COSTS = 0.5
"""What all negative savings come to, as a share of the all-slow latency, at most: the mallocGame
counts seconds in integers (`engine.game.quantise`)."""
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


def save(program: Program, path: Path) -> None:
    """Write the program file, whole or not at all."""
    write_bytes(path, json.dumps(to_json(program), separators=(",", ":")).encode())


def load(path: Path) -> Program:
    """Read a program file. Raises ProgramFormatError."""
    return from_json(read_json(path), str(path))


def require_header(body: Any, kind: str, version: int, where: str) -> None:
    """Check the format name and version that every file of ours begins with."""
    if not isinstance(body, dict) or body.get("format") != kind:
        raise ProgramFormatError(f"{where}: not a {kind} file (its 'format' says otherwise)")
    if body.get("version") != version:
        raise ProgramFormatError(
            f"{where}: {kind} version {body.get('version')!r} cannot be read, only {version};"
            " capture or import the program again with this release"
        )


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file, unpacked if gzipped. Raises ProgramFormatError, also past `limit`."""
    try:
        if path.stat().st_size > limit:
            raise ProgramFormatError(f"{path}: larger than {limit >> 20} MiB")
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = _unpack(data, limit)
    except (OSError, EOFError, zlib.error) as error:
        raise ProgramFormatError(f"{path}: cannot be read ({error})") from error
    if len(data) > limit:
        raise ProgramFormatError(f"{path}: larger than {limit >> 20} MiB unpacked")
    return data


def json_of(text: str | bytes) -> Any:
    """JSON data that may come from anybody. Raises ValueError, RecursionError where it is nested
    too deep.

    Whole numbers that no float can hold are refused: sums and comparisons with them raise.
    """
    return json.loads(text, parse_int=_whole)


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits")
    return int(digits)


def read_json(path: Path) -> Any:
    """JSON data of a (gzipped) file. Raises ProgramFormatError."""
    try:
        return json_of(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise ProgramFormatError(f"{path}: not JSON ({type(error).__name__})") from error


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, gzipped (without a time stamp) if its name says so."""
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ProgramFormatError(f"{path}: cannot be written ({error.strerror})") from error


def _unpack(data: bytes, limit: int) -> bytes:
    unpacked = zlib.decompressobj(zlib.MAX_WBITS | 16)
    out = unpacked.decompress(data, limit + 1)
    if len(out) <= limit and not unpacked.eof:
        raise EOFError("the compressed data are truncated")
    return out


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


def validate(program: Program, where: str) -> None:
    """Raise ProgramFormatError unless indices, times, sizes and regions make sense."""
    problem = _first_problem(program)
    if problem:
        raise ProgramFormatError(f"{where}: {problem}")


def _first_problem(program: Program) -> str:
    hardware = program.hardware
    if not (0 < hardware.alignment <= 2**24 and 0 < hardware.fast_bytes <= 2**40):
        return "hardware has an impossible alignment or fast_bytes"
    if not (hardware.bandwidth > 0 and hardware.clock_hz > 0):
        return "hardware has no bandwidth or clock"
    if not 0 <= hardware.max_cross_program_prefetches <= 1000:
        return "hardware has an impossible max_cross_program_prefetches"
    return (
        _region_problem(program)
        or _instruction_problem(program)
        or _value_problem(program)
        or _access_problem(program)
        or _time_problem(program)
    )


def _region_problem(program: Program) -> str:
    for index, region in enumerate(program.regions):
        if not (0 <= region.start < region.end <= program.num_slots):
            return f"region {index} has an impossible interval"
        if region.multiplicity <= 0 or not -1 <= region.parent < index:
            return f"region {index} has an impossible multiplicity or parent"
        if region.parent >= 0:
            parent = program.regions[region.parent]
            if not (parent.start <= region.start and region.end <= parent.end):
                return f"region {index} is not inside its parent"
        for other in program.regions[:index]:
            apart = other.end <= region.start or region.end <= other.start
            inside = other.start <= region.start and region.end <= other.end
            if not (apart or inside):
                return f"region {index} overlaps another"
    return ""


def _instruction_problem(program: Program) -> str:
    innermost = [-1] * program.num_slots
    for index, region in enumerate(program.regions):
        innermost[region.start : region.end] = [index] * (region.end - region.start)
    for time, instruction in enumerate(program.instructions):
        numbers = (instruction.fast_s, instruction.reserved_bytes, instruction.flops)
        if min(*numbers, instruction.floor_s) < 0:
            return f"instruction {time} has a negative time, scratch or count of operations"
        if instruction.level != innermost[time]:
            return f"instruction {time} names a level that is not its innermost region"
    return ""


def _value_problem(program: Program) -> str:
    groups = {v.group for v in program.values}
    if groups != set(range(len(groups))):
        return "alias groups are not numbered 0, 1, …"
    for index, value in enumerate(program.values):
        if not 0 <= value.size_bytes <= 2**50 or not -1 <= value.defined < program.num_slots:
            return f"value {index} has an impossible size or defining time"
    return ""


def _access_problem(program: Program) -> str:
    last = (-1, False)
    unwritten = {i for i, value in enumerate(program.values) if not value.is_input}
    for index, access in enumerate(program.accesses):
        if not 0 <= access.value < len(program.values):
            return f"access {index} names an unknown value"
        value = program.values[access.value]
        if not max(0, value.defined) <= access.time < program.num_slots:
            return f"access {index} is before its value's definition or past the end"
        if access.is_write and access.time != value.defined:
            return f"access {index} writes a value that another instruction defines"
        if min(access.slow_bytes, access.uncertainty_s) < 0:
            return f"access {index} has a negative uncertainty or size"
        if access.saving_s < 0 and not access.is_write:
            return f"access {index} is a read with a negative saving"
        if access.must_be_slow and access.saving_s != 0:
            return f"access {index} must be slow, but has a saving"
        if (access.time, access.is_write) < last:
            return f"access {index} is out of order"
        last = (access.time, access.is_write)
        if access.is_write:
            unwritten.discard(access.value)
    return f"value {min(unwritten)} is no input, and no access writes it" if unwritten else ""


def _time_problem(program: Program) -> str:
    slow_s = [instruction.fast_s for instruction in program.instructions]
    least_s, costs_s = list(slow_s), 0.0
    for access in program.accesses:
        slow_s[access.time] += access.saving_s
        least_s[access.time] += min(0.0, access.saving_s)
        costs_s -= min(0.0, access.saving_s)
    for time, instruction in enumerate(program.instructions):
        if instruction.floor_s > slow_s[time] + TINY_S:
            return f"instruction {time} has a floor above its time with all accesses slow"
        if least_s[time] < -TINY_S:
            return f"instruction {time} takes less than no time without what its writes cost"
    if costs_s > MOST_COSTS * sum(slow_s) + TINY_S:
        return "writes into fast memory cost more than half of what the program takes without it"
    return ""
