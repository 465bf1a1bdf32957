"""Results that XLA writes into the place of an operand: dynamic-update-slice, scatter, and fusions
that end in one (the rules of `HloDataflowAnalysis::GetInPlaceInputOutputPairs`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.program.hlo.module import Scope
from engine.program.hlo.shape import is_array, size_bytes

MAX_NESTING = 30
"""Fusions in fusions; the compiler nests two or three."""


@dataclass(frozen=True, slots=True)
class InPlace:
    """Result `index` (a tuple index, or `()`) updates `operand`, of which it writes `written`."""

    index: tuple[int, ...]
    operand: int
    written: int


def in_place_results(scope: Scope, computation: int, ins: Any, depth: int = 0) -> list[InPlace]:
    """Every result of `ins` (of `computation`) that must share an operand's place."""
    if ins.opcode == "dynamic-update-slice":
        return [InPlace((), 0, _size(scope.operand(computation, ins, 1)))]
    if ins.opcode == "scatter":
        return list(_scattered(scope, computation, ins))
    if ins.opcode != "fusion" or depth > MAX_NESTING:
        return []
    inner = ins.called_computation_ids[0]
    if inner not in scope.in_place:
        scope.in_place[inner] = _fused(scope, inner, depth)
    results: list[InPlace] = scope.in_place[inner]
    return results


def _fused(scope: Scope, inner: int, depth: int) -> list[InPlace]:
    """The results of a fused computation that update one of its parameters."""
    root = scope.root(inner)
    results: list[tuple[tuple[int, ...], Any]] = [((), root)]
    if root.opcode == "tuple":
        results = [((n,), scope.operand(inner, root, n)) for n in range(len(root.operand_ids))]
    updates = [(index, _updated(scope, inner, result, depth)) for index, result in results]
    return [InPlace(index, u.operand, u.written) for index, u in updates if u is not None]


def _scattered(scope: Scope, computation: int, ins: Any) -> Iterator[InPlace]:
    """Operands are the updated arrays, the indices, then the updates."""
    count = (len(ins.operand_ids) - 1) // 2
    for number in range(count):
        written = _size(scope.operand(computation, ins, count + 1 + number))
        yield InPlace(() if count == 1 else (number,), number, written)


def _updated(scope: Scope, inner: int, result: Any, depth: int) -> InPlace | None:
    """The update that a fusion's result is, if it updates one of the fusion's parameters."""
    result = _unwrapped(scope, inner, result)
    index: tuple[int, ...] = ()
    if result.opcode == "get-tuple-element":
        index = (int(result.tuple_index),)
        result = _unwrapped(scope, inner, scope.operand(inner, result, 0))
    for update in in_place_results(scope, inner, result, depth + 1):
        base = _unwrapped(scope, inner, scope.operand(inner, result, update.operand))
        if update.index == index and base.opcode == "parameter":
            return InPlace((), int(base.parameter_number), update.written)
    return None


def _unwrapped(scope: Scope, computation: int, ins: Any) -> Any:
    """The instruction under any bitcasts."""
    for _ in range(len(scope.by_id[computation])):
        if ins.opcode != "bitcast":
            break
        ins = scope.operand(computation, ins, 0)
    return ins


def _size(ins: Any) -> int:
    return size_bytes(ins.shape) if is_array(ins.shape) else 0
