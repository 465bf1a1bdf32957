"""The computations of a scheduled HLO module, inlined into one record of events.

What a loop carries is a value of its own, so that the content that enters the loop and the one
that goes round can be told apart; likewise what comes out of the branches of a conditional.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import ProgramFormatError
from engine.program.hlo.alias import boundary
from engine.program.hlo.asynchronous import (
    FUSED_DONE,
    FUSED_START,
    MAIN_THREAD,
    asynchronous,
    elsewhere,
    fused_done,
    fused_end,
    fused_start,
    handed_on,
    is_asynchronous,
    is_joined_slice,
    joins_slices,
)
from engine.program.hlo.record import COMPUTE, COPIED, HANDED_ON, JOIN, Flight, Record
from engine.program.hlo.tree import Tree, at, flat, mapped
from engine.program.hlo.trip_counts import trip_count
from engine.program.model import branch_name

MAX_DEPTH = 40

_FORWARDS = {"bitcast", "opt-barrier", "add-dependency", "domain"}
_NOTHING = {"after-all", "create-token"}


class Walker:
    """Inlines computations into a record. `order`: the schedule of each computation."""

    def __init__(self, record: Record, order: Mapping[int, Sequence[int]]) -> None:
        self.record = record
        self.scope = record.scope
        self._order = order
        self._depth = 0

    def walk(self, computation: int, parameters: list[Tree], region: int) -> Tree:
        """Inline a computation; returns the tree of its root."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ProgramFormatError(f"{self.record.where}: calls nest deeper than {MAX_DEPTH}")
        instructions = self.scope.by_id[computation]
        trees: dict[int, Tree] = {}
        for number in self._order.get(computation) or list(instructions):
            self.record.spend(1)
            instruction = instructions[number]
            operands = [trees[o] for o in instruction.operand_ids]
            if instruction.opcode == "parameter":
                trees[number] = parameters[instruction.parameter_number]
            else:
                trees[number] = self._visit(computation, instruction, operands, region)
        self._depth -= 1
        return trees[self.scope.computations[computation].root_id]

    def _visit(self, computation: int, ins: Any, operands: list[Tree], region: int) -> Tree:
        opcode = ins.opcode
        if opcode == "tuple":
            return operands
        if opcode == "get-tuple-element":
            return operands[0][ins.tuple_index]
        if opcode in _FORWARDS:
            return operands[0]
        if opcode in _NOTHING:
            return None
        if opcode == "constant":
            return self._constant(ins)
        if opcode == "while":
            return self._while(computation, ins, operands[0], region)
        if opcode == "conditional":
            return self._conditional(ins, operands, region)
        if opcode == "call":
            return self.walk(ins.called_computation_ids[0], operands, region)
        if opcode == "async-start" and not is_joined_slice(self.record, computation, ins):
            return self._async_start(computation, ins, operands, region)
        if is_asynchronous(opcode):
            return asynchronous(self.record, computation, ins, operands, region)
        return self._compute(computation, ins, operands, region)

    def _constant(self, ins: Any) -> Tree:
        tree = self.record.define(ins.name, ins.shape, -1, -1)
        self.record.keep(tree)
        return tree

    def _compute(self, computation: int, ins: Any, operands: list[Tree], region: int) -> Tree:
        end = fused_end(self.scope, ins)
        if end:
            ways = {FUSED_START: fused_start, FUSED_DONE: fused_done}
            return ways[end](self.record, computation, ins, operands, region)
        joined = self._joined(ins, operands)
        kind = COMPUTE if joined is None else JOIN
        known = handed_on(self.record, ins, operands)
        unread = set(known.values())
        event = self.record.event(computation, ins, kind, operands, region, unread)
        if joined is not None:
            return self.record.copy(event, f"{ins.name}{{}}", ins.shape, joined)
        tree = self.record.result(event, ins.name, ins.shape, known=known)
        for alias in ins.output_operand_aliasing:
            source = at(operands[alias.operand_index], alias.operand_shape_index)
            self.record.pair(source, at(tree, alias.output_shape_index))
        self.record.update_in_place(computation, ins, operands, tree)
        return tree

    def _joined(self, ins: Any, operands: list[Tree]) -> int | None:
        """The source of a sliced prefetch whose slices this custom call joins in place."""
        if not joins_slices(ins):
            return None
        values = [self.record.values[v] for v in flat(operands)]
        origins = {v.origin for v in values}
        is_sliced = all(v.kind == COPIED for v in values) and len(origins) == 1
        return origins.pop() if is_sliced else None

    def _async_start(self, computation: int, ins: Any, operands: list[Tree], region: int) -> Tree:
        """Work in the background takes its time where it starts, and holds its operands on."""
        if ins.async_execution_thread not in MAIN_THREAD:
            return elsewhere(self.record, computation, ins, operands, region)
        begun = len(self.record.events)
        result = self.walk(ins.called_computation_ids[0], operands, region)
        if len(self.record.events) == begun + 1:
            self.record.events[begun].name = ins.name
        return [operands, result, self.record.launch(begun, region)]

    def _while(self, computation: int, ins: Any, init: Tree, region: int) -> Tree:
        body, condition = ins.called_computation_ids[:2]
        count, is_known = trip_count(self.scope, computation, ins)
        number = self.record.open(ins.name, count, region, "while", is_known)
        carried = mapped(lambda leaf: self._carry(ins.name, leaf, number), init)
        self.walk(condition, [carried], number)
        result = self.walk(body, [carried], number)
        self.record.close(number)
        return mapped(lambda *leaf: self._go_round(number, *leaf), init, carried, result)

    def _carry(self, name: str, init: Tree, region: int) -> Tree:
        if not isinstance(init, int):
            return init
        label = f"{name}{{carried {len(self.record.values)}}}"
        return self.record.merge(label, self.record.values[init].shape, region, init)

    def _go_round(self, region: int, before: Tree, carried: Tree, after: Tree) -> Tree:
        """What one element of a loop's tuple is after the loop."""
        if isinstance(before, Flight) and isinstance(after, Flight) and after.region == region:
            after.next_done = before.awaited.get(region, -1)
        if not (isinstance(before, int) and isinstance(after, int)):
            return after
        if after == carried:
            self.record.values[carried].kind = HANDED_ON
            return before
        span = self.record.regions[region]
        self.record.use(before, boundary(span.start), span.parent)
        self.record.use(after, boundary(span.end), region)
        self.record.rounds.append((before, carried, after))
        self.record.pair(before, carried)
        self.record.pair(carried, after)
        return after

    def _conditional(self, ins: Any, operands: list[Tree], region: int) -> Tree:
        """Every branch counts 1/n: the module does not say how often each is taken.

        `engine.program.counts` gives them other shares.
        """
        branches = list(ins.called_computation_ids)
        results: list[Tree] = []
        numbers: list[int] = []
        for branch, argument in zip(branches, operands[1:], strict=True):
            name = branch_name(ins.name, len(numbers))
            number = self.record.open(name, 1 / len(branches), region, "branch", False)
            results.append(self.walk(branch, [argument], number))
            self.record.close(number)
            numbers.append(number)
            self.record.regions[number].conditional = numbers[0]
        return mapped(lambda *leaf: self._meet(ins.name, region, numbers, leaf), *results)

    def _meet(self, name: str, region: int, numbers: list[int], leaf: tuple[Tree, ...]) -> Tree:
        """What one element of a conditional's result is: the branches write to one place.

        What is in flight when it begins goes through it.
        """
        if any(isinstance(part, Flight) for part in leaf):
            if any(part is not leaf[0] for part in leaf):
                raise ProgramFormatError(
                    f"{self.record.where}: {name}: what its branches start is awaited after it,"
                    " which cannot be imported"
                )
            return leaf[0]
        results = [v for v in leaf if isinstance(v, int)]
        if len(set(results)) <= 1:
            return results[0] if results else None
        shape = self.record.values[results[0]].shape
        label = f"{name}{{met {len(self.record.values)}}}"
        met = self.record.merge(label, shape, region, results[0])
        for branch, value in zip(numbers, leaf, strict=True):
            if isinstance(value, int):
                self.record.use(value, boundary(self.record.regions[branch].end), branch)
                self.record.pair(value, met)
        return met
