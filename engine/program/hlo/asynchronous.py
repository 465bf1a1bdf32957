"""Asynchronous HLO instructions: copies and slices in flight, collectives, transfers.

Each start gives a list `[copy or sources, result or source, mark]`, from which its done takes the
result; the mark says which kind of event the start was.
"""

from __future__ import annotations

from typing import Any

from engine.program.hlo.record import (
    COMPUTE,
    COPY_DONE,
    COPY_START,
    SLICE_DONE,
    SLICE_START,
    Record,
)
from engine.program.hlo.shape import is_array, memory_space
from engine.program.hlo.tree import Tree

_RESULT_OF_START = {"all-gather-done": 1, "collective-permute-done": 1}
_FORWARDED = {"async-update", "all-reduce-done"}


def is_asynchronous(opcode: str) -> bool:
    """Whether it is one end of something in flight (`async-start` of general work aside)."""
    return opcode.endswith(("-start", "-done")) or opcode in ("async-update", "send", "recv")


def joins_slices(ins: Any) -> bool:
    """Whether it is the custom call that joins the slices of a sliced prefetch in place."""
    return bool(ins.custom_call_target == "ConcatBitcast" and ins.operand_ids)


def is_joined_slice(record: Record, computation: int, start: Any) -> bool:
    """Whether an async-start is one slice of a sliced prefetch, joined with others in place."""
    inner = record.scope.root(start.called_computation_ids[0])
    if inner.opcode not in ("slice", "dynamic-slice") or not is_array(inner.shape):
        return False
    users = record.scope.users(computation)
    ends = [user for user, _ in users.get(start.id, []) if user.opcode == "async-done"]
    return any(joins_slices(user) for end in ends for user, _ in users.get(end.id, []))


def asynchronous(
    record: Record, computation: int, ins: Any, operands: list[Tree], region: int
) -> Tree:
    """The tree of any start or done but an async-start of general work."""
    opcode = ins.opcode
    if opcode == "copy-start":
        return _copy_start(record, computation, ins, operands, region)
    if opcode == "async-start":
        return _slice_start(record, computation, ins, operands, region)
    if opcode in ("copy-done", "async-done"):
        return _done(record, computation, ins, operands[0], region)
    if opcode in _FORWARDED:
        return operands[0]
    if opcode in _RESULT_OF_START:
        return operands[0][_RESULT_OF_START[opcode]]
    if opcode == "send-done":
        return None
    if opcode == "recv-done":
        return [operands[0][0], None]
    return _communicate(record, computation, ins, operands, region)


def _copy_start(
    record: Record, computation: int, ins: Any, operands: list[Tree], region: int
) -> Tree:
    """Between memories the content stays the same; within one it is a second one."""
    target = ins.shape.tuple_shapes[0]
    is_moved = memory_space(target) != memory_space(record.scope.operand(computation, ins, 0).shape)
    kind = COPY_START if is_moved else COMPUTE
    event = record.event(computation, ins, kind, operands, region)
    if is_moved:
        copied = record.copy(event, f"{ins.name}{{0}}", target, operands[0])
    else:
        copied = record.result(event, ins.name, target, (0,))
    return [copied, operands[0], kind]


def _slice_start(
    record: Record, computation: int, ins: Any, operands: list[Tree], region: int
) -> Tree:
    inner = record.scope.root(ins.called_computation_ids[0])
    event = record.event(computation, ins, SLICE_START, operands, region)
    result = record.copy(event, f"{ins.name}{{1}}", inner.shape, operands[0])
    return [operands, result, SLICE_START]


def _done(record: Record, computation: int, ins: Any, start: Tree, region: int) -> Tree:
    result = start[0] if ins.opcode == "copy-done" else start[1]
    kind = {COPY_START: COPY_DONE, SLICE_START: SLICE_DONE}.get(start[2])
    if kind is not None:
        record.event(computation, ins, kind, [result], region)
    return result


def _communicate(
    record: Record, computation: int, ins: Any, operands: list[Tree], region: int
) -> Tree:
    """Collectives and transfers count at their start."""
    event = record.event(computation, ins, COMPUTE, operands, region)
    if ins.opcode == "send":
        return [operands[0], None, None]
    if ins.opcode == "recv":
        return [record.result(event, ins.name, ins.shape.tuple_shapes[0], (0,)), None, None]
    if ins.opcode in ("all-gather-start", "collective-permute-start"):
        sources = operands[0] if len(operands) == 1 else operands
        return [sources, record.result(event, ins.name, ins.shape.tuple_shapes[1], (1,)), None]
    return record.result(event, ins.name, ins.shape)
