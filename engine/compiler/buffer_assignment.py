"""The compiler's buffer-assignment dump: where values lie in a memory space."""

from __future__ import annotations

import re

_VALUE = re.compile(r"value: <\d+ (\S+?)(\{[\d,]*\})? @(\d+)> \(size=(\d+),offset=(\d+)\)")


def fast_offsets(buffers: str, space: int) -> dict[str, int]:
    """Offset of every value in memory space `space`, by label, from a buffer-assignment dump."""
    return {
        found[1] + (found[2] or "{}"): int(found[5])
        for found in _VALUE.finditer(buffers)
        if int(found[3]) == space
    }
