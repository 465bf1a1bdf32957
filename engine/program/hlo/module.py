"""A decoded HLO module: its instructions, and what the TPU backend wrote into their config."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

MAX_CYCLES = 1e15
"""More is no estimate: days on the fastest chip."""


class Scope:
    """The instructions of the module by computation and id.

    `in_place`: by fused computation, the results that are in place (`engine.program.hlo.alias`).
    """

    def __init__(self, module: Any) -> None:
        self.computations = {c.id: c for c in module.computations}
        self.by_id = {c.id: {i.id: i for i in c.instructions} for c in module.computations}
        self.in_place: dict[int, Any] = {}
        self.users = cache(self._users)
        self.parameters = cache(self._parameters)

    def root(self, computation: int) -> Any:
        """Root instruction of a computation."""
        return self.by_id[computation][self.computations[computation].root_id]

    def operand(self, computation: int, instruction: Any, number: int) -> Any:
        """One operand of an instruction."""
        return self.by_id[computation][instruction.operand_ids[number]]

    def _parameters(self, computation: int) -> dict[int, Any]:
        """The parameter instructions by their number."""
        return {
            i.parameter_number: i
            for i in self.by_id[computation].values()
            if i.opcode == "parameter"
        }

    def _users(self, computation: int) -> dict[int, list[tuple[Any, int]]]:
        """Per instruction id, the instructions that read it and at which operand."""
        users: dict[int, list[tuple[Any, int]]] = {}
        for instruction in self.by_id[computation].values():
            for number, operand in enumerate(instruction.operand_ids):
                users.setdefault(operand, []).append((instruction, number))
        return users


def backend_config(instruction: Any) -> dict[str, Any]:
    """The backend config where it is a JSON object, else nothing."""
    if not instruction.backend_config:
        return {}
    try:
        config = json.loads(instruction.backend_config)
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def slow_by_colour(instruction: Any) -> tuple[frozenset[int], frozenset[int]]:
    """The operands and results that a kernel wants in HBM (memory colour 0), by number.

    A Pallas kernel states them where its block specifications name a memory.
    """
    if instruction.opcode != "custom-call" or b"_colors" not in instruction.backend_config:
        return frozenset(), frozenset()
    stated = backend_config(instruction).get("custom_call_config")
    rows = stated if isinstance(stated, dict) else {}

    def named(key: str, number: Callable[[dict[str, Any]], Any]) -> frozenset[int]:
        listed = rows.get(key)
        found = set()
        for row in listed if isinstance(listed, list) else []:
            if isinstance(row, dict) and str(row.get("color")) == "0":
                with suppress(TypeError, ValueError):
                    found.add(int(number(row)))
        return frozenset(found)

    return (
        named("input_memory_space_colors", lambda row: row.get("operand_index", 0)),
        named("output_memory_space_colors", lambda row: (row.get("shape_index") or [0])[0]),
    )


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
    return max(
        0,
        _scoped_end(instruction, "used_scoped_memory_configs", space)
        - _granted_offset(instruction, space),
    )


def granted_bytes(instruction: Any, space: int) -> int:
    """Bytes of scoped scratch that the memory pass gave the instruction; 0 where it gave none.

    It does so out of its heap where a kernel of the user's own has more than the region for it.
    """
    end = _scoped_end(instruction, "scoped_memory_configs", space)
    return max(0, end - _granted_offset(instruction, space))


def _granted_offset(instruction: Any, space: int) -> int:
    granted = _scoped(instruction, "scoped_memory_configs")
    ends = [(_end({**g, "size": 0}, space), _end(g, space)) for g in granted]
    return min((offset for offset, end in ends if end > 0), default=0)


def _scoped_end(instruction: Any, key: str, space: int) -> int:
    return max((_end(part, space) for part in _scoped(instruction, key)), default=0)


def _scoped(instruction: Any, key: str) -> list[dict[str, Any]]:
    if key.encode() not in instruction.backend_config:
        return []
    parts = backend_config(instruction).get(key)
    return [p for p in parts if isinstance(p, dict)] if isinstance(parts, list) else []


def _end(used: Any, space: int) -> int:
    """Where one piece of scratch ends; nothing if it lies in another memory or is no number."""
    if not isinstance(used, dict) or str(used.get("memory_space")) != str(space):
        return 0
    try:
        return max(0, int(used.get("offset", 0)) + int(used.get("size", 0)))
    except (TypeError, ValueError, OverflowError):
        return 0
