"""One packed message of typed columns for the browser.

Layout, little-endian: a 4-byte length, that many bytes of JSON (padded with spaces so that what
follows starts at a multiple of 8), then the columns one after another, each padded to 8 bytes. The
JSON's `columns` maps a name to `[type, byte offset after the JSON, length]`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

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
