"""Trip counts of while loops, stated by the module or derived from the loop's condition."""

from __future__ import annotations

from typing import Any

from engine.program.counts import DEFAULT_TRIP_COUNT
from engine.program.hlo.module import Scope, backend_config

_FORWARDS = {"copy", "bitcast", "convert", "reshape", "copy-done", "opt-barrier"}
_FLIPPED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE"}

_Caller = tuple[int, Any] | None
"""Computation and fusion instruction that call the one at hand, or None outside a fusion."""


def trip_count(scope: Scope, computation: int, loop: Any) -> tuple[int, bool]:
    """How often a while loop of `computation` runs, and whether that is certain.

    A loop that never runs counts once.
    """
    stated = backend_config(loop).get("known_trip_count")
    number = str(stated.get("n", "")) if isinstance(stated, dict) else ""
    if number.isascii() and number.isdigit() and len(number) < 20:
        return max(1, int(number)), True
    derived = _derive(scope, computation, loop)
    return (DEFAULT_TRIP_COUNT, False) if derived is None else (max(1, derived), True)


def count_steps(direction: str, first: int, bound: int, step: int) -> int | None:
    """How often `value DIRECTION bound` holds from `first` in steps of `step`; None: for ever."""
    span = bound - first
    if direction in ("GT", "GE"):
        span, step = -span, -step
    if direction == "NE" and span:
        return span // step if step and span % step == 0 and span // step > 0 else None
    if direction in ("LE", "GE"):
        span += 1
    if span <= 0:
        return 0
    return -(-span // step) if step > 0 else None


def _derive(scope: Scope, computation: int, loop: Any) -> int | None:
    """Bound and start of the induction value against its step; None if they are not constant."""
    try:
        body, condition = loop.called_computation_ids[:2]
        index, direction, bound = _condition(scope, condition)
        first = _constant_of_leaf(scope, computation, scope.operand(computation, loop, 0), index)
        return count_steps(direction, first, bound, _step(scope, body, index))
    except (LookupError, ValueError, TypeError):
        return None


def _condition(scope: Scope, computation: int) -> tuple[int, str, int]:
    """Tuple index of the induction value, direction and bound of `value < constant`."""
    root, inner, caller = scope.root(computation), computation, None
    if root.opcode == "fusion":
        caller = (computation, root)
        inner = root.called_computation_ids[0]
        root = scope.root(inner)
    direction = root.comparison_direction
    if root.opcode != "compare" or direction not in _FLIPPED:
        raise ValueError("the condition is no comparison with a bound")
    left = _resolve(scope, inner, scope.operand(inner, root, 0), caller)
    right = _resolve(scope, inner, scope.operand(inner, root, 1), caller)
    if left[0] == "index" and right[0] == "constant":
        return left[1], direction, right[1]
    if left[0] == "constant" and right[0] == "index":
        return right[1], _FLIPPED[direction], left[1]
    raise ValueError("the condition compares no induction value with a constant")


def _forwarded(scope: Scope, computation: int, instruction: Any) -> Any:
    """The instruction whose number this one passes on unchanged."""
    seen = 0
    while instruction.opcode in _FORWARDS or instruction.opcode == "copy-start":
        instruction = scope.operand(computation, instruction, 0)
        seen += 1
        if seen > len(scope.by_id[computation]):
            raise ValueError("a chain of copies without a beginning")
    return instruction


def _resolve(scope: Scope, computation: int, instruction: Any, caller: _Caller) -> tuple[str, int]:
    """('index', i) for element i of the loop's tuple, ('constant', c) for a constant."""
    instruction = _forwarded(scope, computation, instruction)
    if instruction.opcode == "parameter" and caller is not None:
        computation, fusion = caller
        instruction = _forwarded(
            scope, computation, scope.operand(computation, fusion, instruction.parameter_number)
        )
    if instruction.opcode == "constant":
        return "constant", _literal(instruction)
    if instruction.opcode == "get-tuple-element":
        whole = _forwarded(scope, computation, scope.operand(computation, instruction, 0))
        if whole.opcode == "parameter":
            return "index", instruction.tuple_index
    raise ValueError("neither a constant nor an element of the loop's tuple")


def _literal(constant: Any) -> int:
    literal = constant.literal
    numbers = [*literal.s32s, *literal.s64s, *literal.u32s, *literal.u64s]
    if len(numbers) != 1:
        raise ValueError("not an integer constant")
    return int(numbers[0])


def _constant_of_leaf(scope: Scope, computation: int, init: Any, index: int) -> int:
    """The constant that enters the loop as element `index` of its tuple."""
    init = _forwarded(scope, computation, init)
    if init.opcode != "tuple":
        raise ValueError("the loop's operand is no tuple")
    kind, number = _resolve(scope, computation, scope.operand(computation, init, index), None)
    if kind != "constant":
        raise ValueError("the induction value does not start at a constant")
    return number


def _step(scope: Scope, body: int, index: int) -> int:
    """What one iteration adds to element `index` of the loop's tuple."""
    computation, caller, root = body, None, scope.root(body)
    if root.opcode != "tuple":
        raise ValueError("the body ends in no tuple")
    following = _forwarded(scope, body, scope.operand(body, root, index))
    result = 0
    if following.opcode == "get-tuple-element":
        result = following.tuple_index
        following = scope.operand(body, following, 0)
    if following.opcode == "fusion":
        caller = (body, following)
        computation = following.called_computation_ids[0]
        following = scope.root(computation)
        if following.opcode == "tuple":
            following = scope.operand(computation, following, result)
        following = _forwarded(scope, computation, following)
    if following.opcode not in ("add", "subtract"):
        raise ValueError("the induction value is not stepped by a constant")
    left, right = (
        _resolve(scope, computation, scope.operand(computation, following, n), caller)
        for n in (0, 1)
    )
    if following.opcode == "subtract" and right[0] == "constant" and left == ("index", index):
        return -right[1]
    if following.opcode == "add" and ("index", index) in (left, right):
        constants = [number for kind, number in (left, right) if kind == "constant"]
        if len(constants) == 1:
            return constants[0]
    raise ValueError("the induction value is not stepped by a constant")
