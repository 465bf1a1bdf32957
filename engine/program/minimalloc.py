"""Import of minimalloc's tables: buffers with a lifetime and a size, which are only to be placed.

The format is that of github.com/google/minimalloc: a header line, then one buffer per line. Columns
`id` (or `buffer`, `buffer_id`), `lower` (or `start`, `begin`), `upper` (or `end`, the last moment
*included*), `size`, and optionally `offset`, `alignment`, `hint` (of its solver, passed over) and
`gaps` (empty); the order is free.

A buffer becomes a value that is written at its first slot and read at its last one. Slots are the
spans between neighbouring moments of the table. Every byte saves the same, nothing else takes time
and slow memory is never idle, so that no copy pays: only a plan that places everything is as fast
as it can be.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ProgramFormatError
from engine.files import foreign, read_bytes, spelt_out
from engine.program.model import Access, Hardware, Instruction, Program, Value
from engine.program.validate import validate

MAX_FILE_BYTES = 32 * 2**20
MAX_BUFFERS = 100_000
MAX_CAPACITY = 2**40
MAX_TIME = 2**53
BANDWIDTH = 1e9
"""Bytes per second; only fixes the unit of the savings."""

_SYNONYMS = {"buffer": "id", "buffer_id": "id", "start": "lower", "begin": "lower", "end": "upper"}
_REQUIRED = ("id", "lower", "upper", "size")
_OPTIONAL = ("offset", "alignment", "gaps", "hint")


@dataclass(frozen=True, slots=True)
class Buffer:
    """A line of the table: lives during `[lower, upper)`."""

    name: str
    lower: int
    upper: int
    size: int
    alignment: int = 1
    offset: int | None = None
    has_hint: bool = False


def import_minimalloc(path: Path, capacity: int) -> Program:
    """The program of a table for a fast memory of `capacity` bytes. Raises ProgramFormatError."""
    data = read_bytes(path, MAX_FILE_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"but {kind}" if (kind := foreign(data)) else f"({error.reason})"
        raise ProgramFormatError(f"{path}: not a text file {problem}") from error
    name = spelt_out(path.name).removesuffix(".gz").removesuffix(".csv")
    return minimalloc_program(text, str(path), name, capacity)


def minimalloc_program(text: str, where: str, name: str, capacity: int) -> Program:
    """As `import_minimalloc`, from the table's text; `where` names it in errors."""
    if not 0 < capacity <= MAX_CAPACITY:
        raise ProgramFormatError(f"{where}: a capacity of {capacity} bytes is impossible")
    buffers = read_buffers(text, where)
    for buffer in buffers:
        if buffer.size > capacity:
            raise ProgramFormatError(
                f"{where}: buffer {buffer.name!r:.60} has {buffer.size} bytes, more than the"
                f" capacity of {capacity}; give a larger capacity"
            )
    program = _program(buffers, where, name, capacity)
    validate(program, where)
    return program


def read_buffers(text: str, where: str) -> list[Buffer]:
    """The lines of a table. Raises ProgramFormatError, naming the line that is wrong."""
    lines = [(n, line) for n, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not lines:
        raise ProgramFormatError(f"{where}: empty; a table begins with {','.join(_REQUIRED)}")
    if len(lines) > MAX_BUFFERS + 1:
        raise ProgramFormatError(f"{where}: more than {MAX_BUFFERS} buffers")
    columns, last = _columns(_fields(lines[0][1], where, lines[0][0]), where)
    buffers = []
    for number, line in lines[1:]:
        cells = _fields(line, where, number)
        if len(cells) != len(columns):
            raise ProgramFormatError(
                f"{where}, line {number}: {len(cells)} fields instead of {len(columns)}"
            )
        row = dict(zip(columns, cells, strict=True))
        buffers.append(_buffer(row, last, f"{where}, line {number}"))
    if not buffers:
        raise ProgramFormatError(f"{where}: has a header but no buffer")
    if len({b.name for b in buffers}) < len(buffers):
        raise ProgramFormatError(f"{where}: two buffers have one id")
    return buffers


def _fields(line: str, where: str, number: int) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True))]
    except csv.Error as error:
        raise ProgramFormatError(f"{where}, line {number}: {error}") from error


def _columns(header: Sequence[str], where: str) -> tuple[list[str], int]:
    """Column names without synonyms, and 1 if the last moment is included, else 0."""
    columns = [_SYNONYMS.get(c, c) for c in header]
    missing = [c for c in _REQUIRED if c not in columns]
    unknown = [c for c in columns if c not in (*_REQUIRED, *_OPTIONAL)]
    if missing or unknown or len(set(columns)) < len(columns):
        problem = "two columns mean the same"
        if missing or unknown:
            problem = (
                f"no column {missing[0]!r}" if missing else f"unknown column {unknown[0]!r:.40}"
            )
        raise ProgramFormatError(
            f"{where}: {problem}; the header is {','.join(_REQUIRED)}[,offset]"
        )
    return columns, int("end" in header)


def _buffer(row: Mapping[str, str], last: int, where: str) -> Buffer:
    if row.get("gaps"):
        raise ProgramFormatError(
            f"{where}: gaps in a lifetime cannot be read; without the column 'gaps' every buffer"
            " keeps its place throughout, which is a stricter problem"
        )
    if not row["id"]:
        raise ProgramFormatError(f"{where}: no id")
    lower, upper = _integer(row, "lower", where), _integer(row, "upper", where) + last
    size = _integer(row, "size", where)
    if not -MAX_TIME <= lower < upper <= MAX_TIME:
        raise ProgramFormatError(
            f"{where}: the lifetime [{lower}, {upper}) is empty or too far off"
        )
    if not 0 < size <= MAX_CAPACITY:
        raise ProgramFormatError(f"{where}: a size of {size} bytes is impossible")
    alignment = _integer(row, "alignment", where) if "alignment" in row else 1
    offset = _integer(row, "offset", where) if "offset" in row else None
    if alignment < 1 or (offset is not None and not 0 <= offset <= MAX_CAPACITY):
        raise ProgramFormatError(f"{where}: an impossible alignment or offset")
    return Buffer(row["id"], lower, upper, size, alignment, offset, has_hint="hint" in row)


def _integer(row: Mapping[str, str], column: str, where: str) -> int:
    text = row[column]
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 19):
        raise ProgramFormatError(f"{where}: {column} is {text!r:.40}, not a whole number")
    return int(text)


def _program(buffers: Sequence[Buffer], where: str, name: str, capacity: int) -> Program:
    # What is aligned to a common multiple is aligned to each.
    alignment = 1
    for buffer in buffers:
        alignment = math.lcm(alignment, buffer.alignment)
        if alignment > capacity:
            raise ProgramFormatError(
                f"{where}: all buffers are aligned alike, here to a multiple of {alignment} bytes,"
                f" and the capacity is {capacity}; give a larger one"
            )
    remarks = []
    if alignment > min(b.alignment for b in buffers):
        remarks.append(f"all buffers are aligned to {alignment} bytes, since alignments differ")
    if any(b.has_hint for b in buffers):
        remarks.append("the column 'hint' is passed over")
    moments = sorted({t for b in buffers for t in (b.lower, b.upper)})
    slot_of = {moment: slot for slot, moment in enumerate(moments)}
    accesses = [a for n, b in enumerate(buffers) for a in _accesses(n, b, slot_of)]
    offsets = [b.offset for b in buffers]
    return Program(
        name=name,
        hardware=Hardware(
            name="minimalloc",
            fast_bytes=capacity,
            alignment=alignment,
            bandwidth=BANDWIDTH,
            clock_hz=1e9,
            fast_name="memory",
            max_cross_program_prefetches=0,
        ),
        instructions=tuple(Instruction(f"t{moment}", "span", 0.0) for moment in moments[:-1]),
        values=tuple(
            Value(b.name, f"u8[{b.size}]", b.size, slot_of[b.lower], n)
            for n, b in enumerate(buffers)
        ),
        accesses=tuple(sorted(accesses, key=lambda a: (a.time, a.is_write))),
        provenance={
            "kind": "minimalloc",
            **({} if None in offsets else {"offsets": offsets}),
            **({"remarks": remarks} if remarks else {}),
        },
    )


def _accesses(value: int, buffer: Buffer, slot_of: Mapping[int, int]) -> list[Access]:
    """A write at the first slot and a read at the last; together, if that is the same slot."""
    first, last = slot_of[buffer.lower], slot_of[buffer.upper] - 1
    times = [(first, True), (last, False)] if last > first else [(first, True)]
    share = 2 * buffer.size // len(times)
    return [Access(time, value, is_write, share / BANDWIDTH, share) for time, is_write in times]
