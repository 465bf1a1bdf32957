"""What XLA's TPU backend writes into an instruction's backend config: cycles and scratch."""

from __future__ import annotations

import json
from typing import Any

MAX_CYCLES = 1e15
"""More is no estimate: days on the fastest chip."""


def backend_config(instruction: Any) -> dict[str, Any]:
    """The backend config where it is a JSON object, else nothing."""
    if not instruction.backend_config:
        return {}
    try:
        config = json.loads(instruction.backend_config)
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def cycles(instruction: Any) -> float | None:
    """The compiler's own estimate for one execution, if it states one."""
    if b"estimated_cycles" not in instruction.backend_config:
        return None
    window = backend_config(instruction).get("window_config")
    stated = window.get("estimated_cycles") if isinstance(window, dict) else None
    try:
        count = float(stated)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return count if 0 <= count <= MAX_CYCLES else None


def scratch_bytes(instruction: Any, space: int) -> int:
    """Bytes of scoped scratch that the instruction uses in memory space `space`."""
    if b"used_scoped_memory_configs" not in instruction.backend_config:
        return 0
    used = backend_config(instruction).get("used_scoped_memory_configs")
    ends = [_end(u, space) for u in used] if isinstance(used, list) else []
    return max(ends, default=0)


def _end(used: Any, space: int) -> int:
    """Where one piece of scratch ends; nothing if it lies in another memory or is no number."""
    if not isinstance(used, dict) or str(used.get("memory_space")) != str(space):
        return 0
    try:
        return max(0, int(used.get("offset", 0)) + int(used.get("size", 0)))
    except (TypeError, ValueError, OverflowError):
        return 0
