"""The compiler's buffer-assignment dump: where values lie in a memory space."""

from __future__ import annotations

import re

_VALUE = re.compile(r"value: <\d+ (\S+?)(\{[\d,]*\})? @(\d+)> \(size=(\d+),offset=(\d+)\)")


def fast_offsets(buffers: str, space: int) -> dict[str, int]:
    """Offset of every value in memory space `space`, by label, from a buffer-assignment dump."""
    return {
        row[1] + (row[2] or "{}"): int(row[5])
        for row in _VALUE.finditer(buffers)
        if int(row[3]) == space
    }
