"""Trip counts of while loops, stated by the module or derived from the loop's condition."""

from __future__ import annotations

import json
import math
from typing import Any

DEFAULT_TRIP_COUNT = 5
"""What XLA's own cost analysis assumes for a loop of unknown length."""

_FORWARDS = {"copy", "bitcast", "convert", "reshape", "copy-done", "optimization-barrier"}
_COUNTS = {"LT": 0, "LE": 1, "GT": 0, "GE": 1, "NE": 0}


def backend_config(instruction: Any) -> dict[str, Any]:
    """The backend config where it is JSON, else nothing."""
    try:
        config = json.loads(instruction.backend_config or b"{}")
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


class Scope:
    """The instructions of the module by computation and id."""

    def __init__(self, module: Any) -> None:
        self.computations = {c.id: c for c in module.computations}
        self.by_id = {
            c.id: {i.id: i for i in c.instructions} for c in module.computations
        }

    def root(self, computation: int) -> Any:
        """Root instruction of a computation."""
        return self.by_id[computation][self.computations[computation].root_id]

    def operand(self, computation: int, instruction: Any, number: int) -> Any:
        """One operand of an instruction."""
        return self.by_id[computation][instruction.operand_ids[number]]


def trip_count(scope: Scope, home: int, loop: Any) -> tuple[int, bool]:
    """How often a while loop of computation `home` runs, and whether that is certain."""
    stated = backend_config(loop).get("known_trip_count")
    if isinstance(stated, dict) and str(stated.get("n", "")).isdigit():
        return max(1, int(stated["n"])), True
    derived = _derive(scope, home, loop)
    return (DEFAULT_TRIP_COUNT, False) if derived is None else (derived, True)


def _derive(scope: Scope, home: int, loop: Any) -> int | None:
    """Bound and start of the induction value against its step; None if they are not constant."""
    try:
        body, condition = loop.called_computation_ids[:2]
        index, direction, bound = _condition(scope, condition)
        first = _constant_of_leaf(scope, home, scope.operand(home, loop, 0), index)
        step = _step(scope, body, index)
        if step == 0:
            return None
        span = (bound - first) / step
        return max(1, math.ceil(span) if not _COUNTS[direction] else math.floor(span) + 1)
    except (LookupError, ValueError, TypeError):
        return None


def _condition(scope: Scope, computation: int) -> tuple[int, str, int]:
    """Tuple index of the induction value, direction and bound of `value < constant`."""
    root = scope.root(computation)
    inner, arguments = computation, None
    if root.opcode == "fusion":
        arguments = (computation, root)
        inner = root.called_computation_ids[0]
        root = scope.root(inner)
    if root.opcode != "compare":
        raise ValueError("the condition is no comparison")
    left = _resolve(scope, inner, scope.operand(inner, root, 0), arguments)
    right = _resolve(scope, inner, scope.operand(inner, root, 1), arguments)
    if left[0] == "index" and right[0] == "constant":
        return left[1], root.comparison_direction, right[1]
    if left[0] == "constant" and right[0] == "index":
        flipped = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}
        return right[1], flipped.get(root.comparison_direction, "NE"), left[1]
    raise ValueError("the condition compares no induction value with a constant")


def _resolve(scope: Scope, home: int, instruction: Any, arguments: Any) -> tuple[str, int]:
    """('index', i) for element i of the loop's tuple, ('constant', c) for a constant."""
    while True:
        if instruction.opcode in _FORWARDS or instruction.opcode == "copy-start":
            instruction = scope.operand(home, instruction, 0)
        elif instruction.opcode == "parameter" and arguments is not None:
            outer_home, outer = arguments
            number = instruction.parameter_number
            home, instruction, arguments = (
                outer_home,
                scope.operand(outer_home, outer, number),
                None,
            )
        else:
            break
    if instruction.opcode == "constant":
        return "constant", _literal(instruction)
    if instruction.opcode == "get-tuple-element":
        return "index", instruction.tuple_index
    raise ValueError("neither a constant nor an element of the loop's tuple")


def _literal(constant: Any) -> int:
    numbers = [*constant.literal.s32s, *constant.literal.s64s]
    if not numbers:
        raise ValueError("not an integer constant")
    return int(numbers[0])


def _constant_of_leaf(scope: Scope, home: int, init: Any, index: int) -> int:
    """The constant that enters the loop as element `index` of its tuple."""
    while init.opcode in _FORWARDS:
        init = scope.operand(home, init, 0)
    if init.opcode != "tuple":
        raise ValueError("the loop's operand is no tuple")
    kind, number = _resolve(scope, home, scope.operand(home, init, index), None)
    if kind != "constant":
        raise ValueError("the induction value does not start at a constant")
    return number


def _step(scope: Scope, body: int, index: int) -> int:
    """What one iteration adds to element `index` of the loop's tuple."""
    root = scope.root(body)
    next_value = scope.operand(body, root, index)
    home, arguments = body, None
    while next_value.opcode in _FORWARDS:
        next_value = scope.operand(home, next_value, 0)
    if next_value.opcode == "fusion":
        arguments = (body, next_value)
        home = next_value.called_computation_ids[0]
        next_value = scope.root(home)
    if next_value.opcode not in ("add", "subtract"):
        raise ValueError("the induction value is not stepped by a constant")
    parts = [_resolve(scope, home, scope.operand(home, next_value, n), arguments) for n in (0, 1)]
    constants = [number for kind, number in parts if kind == "constant"]
    if len(constants) != 1 or ("index", index) not in parts:
        raise ValueError("the induction value is not stepped by a constant")
    return constants[0] if next_value.opcode == "add" else -constants[0]
