"""One packed message of typed columns for the browser.

Layout, little-endian: a 4-byte length, that many bytes of JSON (padded with spaces so that what
follows starts at a multiple of 8), then the columns one after another, each padded to 8 bytes. The
JSON's `columns` maps a name to `[type, byte offset after the JSON, length]`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.game.moves import Move
from engine.plan.simulate import Simulation
from engine.program.model import Program
from ui.components.names import kind_of_group

_TYPES = {
    "u1": "Uint8",
    "u2": "Uint16",
    "u4": "Uint32",
    "i4": "Int32",
    "f4": "Float32",
    "f8": "Float64",
}
_ALIGNMENT = 8


def pack(header: Mapping[str, Any], columns: Mapping[str, np.ndarray]) -> bytes:
    """The message; raises ValueError for a column type that the browser has no array for."""
    directory: dict[str, list[Any]] = {}
    chunks: list[bytes] = []
    offset = 0
    for name, column in columns.items():
        kind = f"{column.dtype.kind}{column.dtype.itemsize}"
        if kind not in _TYPES or column.ndim != 1:
            raise ValueError(f"column {name}: no browser array for {column.dtype}[{column.ndim}d]")
        data = _padded(np.ascontiguousarray(column).tobytes(), b"\0", 0)
        directory[name] = [_TYPES[kind], offset, len(column)]
        chunks.append(data)
        offset += len(data)
    text = json.dumps({**header, "columns": directory}, separators=(",", ":")).encode()
    head = _padded(text, b" ", 4)
    return b"".join([struct.pack("<I", len(head)), head, *chunks])


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The inverse of `pack`, as the browser does it."""
    (length,) = struct.unpack_from("<I", message)
    header = json.loads(message[4 : 4 + length])
    codes = {browser: code for code, browser in _TYPES.items()}
    columns = {
        name: np.frombuffer(message, "<" + codes[kind], count, 4 + length + offset)
        for name, (kind, offset, count) in header.pop("columns").items()
    }
    return header, columns


def _padded(data: bytes, filler: bytes, before: int) -> bytes:
    return data + filler * (-(len(data) + before) % _ALIGNMENT)


READS, WRITES, SINK = 1, 2, 4
"""Flags of a move."""

Column = NDArray[Any]


GRANULES = "f8"
"""The type of sizes and addresses: 32 bits hold no tensor of 4 GiB at an alignment of 1."""


def granules(program: Program, num_bytes: int) -> int:
    """Bytes in whole granules, rounded up."""
    return -(-num_bytes // program.hardware.alignment)


def fast_granules(program: Program) -> int:
    """Granules of the whole fast memory."""
    return program.hardware.fast_bytes // program.hardware.alignment


def reserved_granules(program: Program) -> NDArray[np.float64]:
    """`[T]` granules of scratch per slot."""
    return np.array([granules(program, i.reserved_bytes) for i in program.instructions], GRANULES)


def group_granules(program: Program) -> NDArray[np.float64]:
    """`[G]` size of each group."""
    return np.array([granules(program, g.size_bytes) for g in program.groups], GRANULES)


def group_kinds(program: Program) -> NDArray[np.uint8]:
    """`[G]` kind of each group (`ui.components.names`)."""
    return np.array([kind_of_group(g) for g in program.groups], "u1")


def slot_begin(simulation: Simulation) -> NDArray[np.float64]:
    """`[T + 1]` seconds at which each slot begins, the stall before it included; then the end."""
    timeline = simulation.timeline
    return np.append(timeline.start_s - timeline.stall_before_s, simulation.latency_s)


def move_columns(moves: Sequence[Move]) -> dict[str, Column]:
    """Slot, group and flags of each move."""
    flags = [READS * m.reads + WRITES * m.writes + SINK * m.is_sink for m in moves]
    return {
        "move_time": np.array([m.time for m in moves], "i4"),
        "move_group": np.array([m.group for m in moves], "i4"),
        "move_flags": np.array(flags, "u1"),
    }
