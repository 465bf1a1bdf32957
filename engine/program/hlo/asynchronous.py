"""Asynchronous HLO instructions: copies and slices in flight, collectives, transfers.

Each start gives a list `[operands, result, flight]`, from which its done takes the result. A
collective that is fused with compute (`AsyncCollectiveStart` … `AsyncCollectiveDone`) hands its
operand and result as a tuple from fusion to fusion; there they are forwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.program.hlo.collective import has_destination
from engine.program.hlo.module import Scope
from engine.program.hlo.record import (
    COMPUTE,
    COPY_DONE,
    COPY_START,
    SLICE_DONE,
    SLICE_START,
    Record,
)
from engine.program.hlo.shape import PLACEABLE_SPACES, is_array, memory_space
from engine.program.hlo.tree import Tree, at, flat

FUSED_START, FUSED_DONE = "AsyncCollectiveStart", "AsyncCollectiveDone"
"""Custom calls that end the first and the last fusion of a fused collective."""

MAIN_THREAD = ("", "main")


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
    if not _is_placeable(record.scope.operand(computation, start, 0).shape):
        return False
    users = record.scope.users(computation)
    ends = [user for user, _ in users.get(start.id, []) if user.opcode == "async-done"]
    return any(joins_slices(user) for end in ends for user, _ in users.get(end.id, []))


def _is_placeable(shape: Any) -> bool:
    return is_array(shape) and memory_space(shape) in PLACEABLE_SPACES


def asynchronous(
    record: Record, computation: int, ins: Any, operands: list[Tree], region: int
) -> Tree:
    """The tree of any start or done but an async-start of general work."""
    opcode = ins.opcode
    if opcode == "copy-start":
        return _copy_start(record, computation, ins, operands, region)
    if opcode == "async-start":
        return _slice_start(record, computation, ins, operands, region)
    if opcode == "async-update":
        return operands[0]
    if opcode.endswith("-done"):
        return _done(record, computation, ins, operands[0], region)
    return _communicate(record, computation, ins, operands, region)


def _copy_start(
    record: Record, computation: int, ins: Any, operands: list[Tree], region: int
) -> Tree:
    """Between HBM and fast memory the content stays the same; elsewhere it is a second one."""
    target, source = ins.shape.tuple_shapes[0], record.scope.operand(computation, ins, 0).shape
    is_at_hand = _is_placeable(target) and _is_placeable(source)
    is_moved = is_at_hand and memory_space(target) != memory_space(source)
    begun = len(record.events)
    event = record.event(computation, ins, COPY_START if is_moved else COMPUTE, operands, region)
    if is_moved:
        result = record.copy(event, f"{ins.name}{{0}}", target, operands[0])
        return [operands, result, record.launch(begun, region, ends_as=COPY_DONE)]
    result = record.result(event, ins.name, target, (0,))
    return [operands, result, record.launch(begun, region, is_elsewhere=not is_at_hand)]


def _slice_start(
    record: Record, computation: int, ins: Any, operands: list[Tree], region: int
) -> Tree:
    inner, begun = record.scope.root(ins.called_computation_ids[0]), len(record.events)
    event = record.event(computation, ins, SLICE_START, operands, region)
    result = record.copy(event, f"{ins.name}{{1}}", inner.shape, operands[0])
    return [operands, result, record.launch(begun, region, ends_as=SLICE_DONE)]


def _communicate(
    record: Record, computation: int, ins: Any, operands: list[Tree], region: int
) -> Tree:
    """Collectives and transfers read and write until they are done."""
    begun = len(record.events)
    event = record.event(computation, ins, COMPUTE, operands, region)
    flight = record.launch(begun, region, is_elsewhere=bool(ins.is_host_transfer))
    if ins.opcode == "send":
        return [operands, None, flight]
    if ins.opcode == "recv":
        return [operands, record.result(event, ins.name, ins.shape.tuple_shapes[0], (0,)), flight]
    if ins.opcode in ("all-gather-start", "collective-permute-start"):
        result = record.result(event, ins.name, ins.shape.tuple_shapes[1], (1,))
        if has_destination(record.scope, computation, ins):
            _share(record, operands[1], result)
        return [operands, result, flight]
    result = record.result(event, ins.name, ins.shape)
    if ins.opcode == "all-reduce-start":
        _share(record, operands, result)
    return [operands, result, flight]


def _share(record: Record, source: Tree, target: Tree) -> None:
    """Results are in the place of operands: `HloDataflowAnalysis::GetInPlaceInputOutputPairs`."""
    for one, other in zip(flat(source), flat(target), strict=False):
        record.pair(one, other)


def _done(record: Record, computation: int, ins: Any, start: Tree, region: int) -> Tree:
    _, result, flight = start
    record.land(flight, region)
    if flight.ends_as:
        record.event(computation, ins, flight.ends_as, [result], region)
    return [result, None] if ins.opcode == "recv-done" else result


def elsewhere(
    record: Record, computation: int, ins: Any, operands: list[Tree], region: int
) -> Tree:
    """The tree of an async-start on another thread, which runs beside the schedule."""
    begun = len(record.events)
    event = record.event(computation, ins, COMPUTE, operands, region)
    result = record.result(event, ins.name, ins.shape.tuple_shapes[1], (1,))
    record.update_in_place(computation, ins, operands, result)
    root, given = ins, operands
    while root.opcode in ("async-start", "call"):
        record.spend(1)
        root, given = _called(record.scope, root, given)
    for alias in root.output_operand_aliasing:
        source = given[alias.operand_index]
        if source is not None:
            record.pair(at(source, alias.operand_shape_index), at(result, alias.output_shape_index))
    return [operands, result, record.launch(begun, region, is_elsewhere=True)]


def _called(scope: Scope, ins: Any, operands: list[Tree]) -> tuple[Any, list[Tree]]:
    """The root of what an instruction calls, and its operands: those that are handed to it."""
    inner = ins.called_computation_ids[0]
    root = scope.root(inner)
    used = [scope.by_id[inner][number] for number in root.operand_ids]
    return root, [operands[u.parameter_number] if u.opcode == "parameter" else None for u in used]


def fused_end(scope: Scope, ins: Any) -> str:
    """FUSED_START or FUSED_DONE if the instruction is that end of a fused collective, else ''."""
    root = scope.root(ins.called_computation_ids[0]) if ins.opcode == "fusion" else ins
    target: str = root.custom_call_target
    return target if target in (FUSED_START, FUSED_DONE) else ""


def fused_start(
    record: Record, computation: int, ins: Any, operands: list[Tree], region: int
) -> Tree:
    """The tuple that a fused collective begins with: what aliases an operand is that operand."""
    begun = len(record.events)
    event = record.event(computation, ins, COMPUTE, operands, region)
    tree = record.result(event, ins.name, ins.shape, known=_aliases(ins, operands))
    flight = record.launch(begun, region)
    flight.state = set(flat(tree))
    record.open_flights.append(flight)
    return tree


def handed_on(record: Record, ins: Any, operands: list[Tree]) -> Mapping[tuple[int, ...], int]:
    """What an instruction hands on of fused collectives in flight: index of its result -> value."""
    state = {value for flight in record.open_flights for value in flight.state}
    return {i: v for i, v in _aliases(ins, operands).items() if v in state} if state else {}


def _aliases(ins: Any, operands: list[Tree]) -> dict[tuple[int, ...], int]:
    """The operand values that share a place with a result: index of the result -> value."""
    sources = {
        tuple(alias.output_shape_index): at(
            operands[alias.operand_index], alias.operand_shape_index
        )
        for alias in ins.output_operand_aliasing
    }
    return {index: value for index, value in sources.items() if isinstance(value, int)}


def fused_done(
    record: Record, computation: int, ins: Any, operands: list[Tree], region: int
) -> Tree:
    """The result of a fused collective, which is over when this instruction is."""
    held = set(flat(operands))
    ending = [f for f in record.open_flights if held.intersection(f.events[0].writes)]
    state = {value for flight in ending for value in flight.state}
    known = handed_on(record, ins, operands)
    event = record.event(computation, ins, COMPUTE, operands, region, unread=state)
    tree = record.result(event, ins.name, ins.shape, known=known)
    for flight in ending:
        record.land(flight, region)
        record.open_flights.remove(flight)
    return tree
