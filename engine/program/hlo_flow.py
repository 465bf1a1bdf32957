"""Dataflow of a scheduled HLO module: its computations inlined into one sequence of events.

Tuples, get-tuple-element, bitcasts and the like are forwards: they make no value. While bodies,
conditional branches and calls are inlined once. Asynchronous copies stay visible as events, and a
copy's destination knows the value whose content it holds (`origin`), so that the same flow serves
to build a program (copies resolved away) and to read the compiler's own plan (copies kept).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.errors import ProgramFormatError
from engine.program.hlo_loops import Scope, backend_config, trip_count
from engine.program.hlo_shape import is_array, is_tuple, leaves

MAX_EVENTS = 200_000
MAX_DEPTH = 40

Tree = Any
"""A value number, a list of trees (a tuple), or None (tokens, contexts)."""

COMPUTE = "compute"
COPY_START = "copy-start"
COPY_DONE = "copy-done"
SLICE_START = "slice-start"
SLICE_DONE = "slice-done"
JOIN = "join"

_FORWARDS = {"bitcast", "optimization-barrier", "add-dependency", "domain"}
_NOTHING = {"after-all", "partition-id", "replica-id", "create-token"}


@dataclass(slots=True)
class FlowValue:
    """One array in memory; `label` is XLA's name of its defining position, like `fusion.3{1}`.

    `event` is the defining event (-1: program input). `origin` is the value whose content a copy
    holds, else the value itself.
    """

    label: str
    shape: Any
    event: int
    origin: int
    is_constant: bool = False


@dataclass(slots=True)
class Event:
    """One instruction in the flat sequence.

    `reads` are (operand number, value, memory space of the operand's shape).
    """

    instruction: Any
    computation: int
    kind: str
    region: int
    reads: list[tuple[int, int, int]] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)


@dataclass(slots=True)
class FlowRegion:
    """A while body or conditional branch: events `[start, end)`, total multiplicity."""

    name: str
    start: int
    end: int
    multiplicity: float
    parent: int
    kind: str
    is_trip_count_known: bool


class Flow:
    """The flat sequence of events of a module; built by `Flow(module, where)`."""

    def __init__(self, module: Any, where: str) -> None:
        self.where = where
        self.module = module
        self.scope = Scope(module)
        self.values: list[FlowValue] = []
        self.events: list[Event] = []
        self.regions: list[FlowRegion] = []
        self.aliases: list[tuple[int, int]] = []
        self._order = {e.key: list(e.value.instruction_ids) for e in module.schedule.sequences}
        self._depth = 0
        try:
            entry = module.entry_computation_id
            self.inputs = self._entry_parameters(entry)
            root = self._walk(entry, list(self.inputs.values()), -1)
            self.outputs = set(_flat(root))
            self._alias_donated(root)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ProgramFormatError(f"{where}: inconsistent HLO module ({error!r})") from error

    def origin(self, value: int) -> int:
        """The value whose content `value` holds, through any chain of copies."""
        while self.values[value].origin != value:
            value = self.values[value].origin
        return value

    def _entry_parameters(self, entry: int) -> dict[int, Tree]:
        parameters = [
            i for i in self.scope.computations[entry].instructions if i.opcode == "parameter"
        ]
        parameters.sort(key=lambda i: i.parameter_number)
        return {i.parameter_number: self._define(i.name, i.shape, -1) for i in parameters}

    def _define(self, name: str, shape: Any, event: int, is_constant: bool = False) -> Tree:
        """New values for every array leaf of a shape."""
        made: dict[tuple[int, ...], int] = {}
        for index, leaf in leaves(shape):
            suffix = "{" + ",".join(map(str, index)) + "}"
            number = len(self.values)
            self.values.append(FlowValue(name + suffix, leaf, event, number, is_constant))
            made[index] = number
        return _nest(shape, made, ())

    def _walk(self, computation: int, parameters: list[Tree], region: int) -> Tree:
        """Inline a computation; returns the tree of its root."""
        self._depth += 1
        if self._depth > MAX_DEPTH or len(self.events) > MAX_EVENTS:
            raise ProgramFormatError(f"{self.where}: calls nest too deep or unroll too far")
        instructions = self.scope.by_id[computation]
        order = self._order.get(computation) or list(instructions)
        trees: dict[int, Tree] = {}
        for number in order:
            trees[number] = self._visit(
                computation, instructions[number], trees, parameters, region
            )
        self._depth -= 1
        return trees[self.scope.computations[computation].root_id]

    def _visit(
        self, home: int, ins: Any, trees: dict[int, Tree], parameters: list[Tree], region: int
    ) -> Tree:
        operands = [trees[o] for o in ins.operand_ids]
        opcode = ins.opcode
        if opcode == "parameter":
            return parameters[ins.parameter_number]
        if opcode == "tuple":
            return operands
        if opcode == "get-tuple-element":
            return operands[0][ins.tuple_index]
        if opcode in _FORWARDS:
            return operands[0]
        if opcode in _NOTHING:
            return None
        if opcode == "constant":
            return self._define(ins.name, ins.shape, -1, is_constant=True)
        if opcode == "while":
            return self._while(home, ins, operands[0], region)
        if opcode == "conditional":
            return self._conditional(ins, operands, region)
        if opcode == "call":
            return self._walk(ins.called_computation_ids[0], operands, region)
        if opcode in ("copy-start", "copy-done") or opcode.startswith("async-"):
            return self._asynchronous(home, ins, operands, region)
        return self._compute(home, ins, operands, region)

    def _event(self, home: int, ins: Any, kind: str, operands: list[Tree], region: int) -> Event:
        reads = []
        for number, (operand, tree) in enumerate(zip(ins.operand_ids, operands, strict=True)):
            shape = self.scope.by_id[home][operand].shape
            spaces = [int(leaf.layout.memory_space) for _, leaf in leaves(shape)]
            held = list(_flat(tree))
            # A tuple operand reaches here only with one leaf per array.
            spaces += [0] * (len(held) - len(spaces))
            reads += [(number, v, s) for v, s in zip(held, spaces, strict=False)]
        event = Event(ins, home, kind, region, reads)
        self.events.append(event)
        return event

    def _compute(self, home: int, ins: Any, operands: list[Tree], region: int) -> Tree:
        joined = self._joined_slices(ins, operands)
        event = self._event(home, ins, JOIN if joined is not None else COMPUTE, operands, region)
        tree = self._define(ins.name, ins.shape, len(self.events) - 1)
        event.writes = list(_flat(tree))
        if joined is not None:
            for value in event.writes:
                self.values[value].origin = joined
        else:
            self._alias_in_place(ins, operands, tree)
        return tree

    def _joined_slices(self, ins: Any, operands: list[Tree]) -> int | None:
        """The source of a sliced prefetch whose slices this custom call joins in place."""
        if ins.custom_call_target != "ConcatBitcast" or not operands:
            return None
        values = list(_flat(operands))
        is_slice = all(self.values[v].origin != v for v in values)
        origins = {self.origin(v) for v in values}
        return origins.pop() if is_slice and len(origins) == 1 else None

    def _asynchronous(self, home: int, ins: Any, operands: list[Tree], region: int) -> Tree:
        """Copies and slices in flight; other asynchronous work counts at its start."""
        opcode = ins.opcode
        if opcode == "copy-done":
            self._event(home, ins, COPY_DONE, [operands[0][:1]], region)
            return operands[0][0]
        if opcode in ("async-update", "async-done"):
            start = operands[0]
            if opcode == "async-update":
                return start
            if start[-1] == SLICE_START:
                self._event(home, ins, SLICE_DONE, [[start[1]]], region)
            return start[1]
        if opcode == "copy-start":
            event = self._event(home, ins, COPY_START, operands, region)
            tree = self._define(ins.name, ins.shape, len(self.events) - 1)
            self.values[tree[0]].origin = operands[0]
            event.writes = [tree[0]]
            return [tree[0], operands[0], None]
        return self._async_start(home, ins, operands, region)

    def _async_start(self, home: int, ins: Any, operands: list[Tree], region: int) -> Tree:
        inner = self.scope.root(ins.called_computation_ids[0])
        is_slice = inner.opcode in ("slice", "dynamic-slice")
        kind = SLICE_START if is_slice else COMPUTE
        event = self._event(home, ins, kind, operands, region)
        result = self._define(inner.name, inner.shape, len(self.events) - 1)
        event.writes = list(_flat(result))
        if is_slice and isinstance(result, int):
            self.values[result].origin = operands[0]
        return [operands, result, SLICE_START if is_slice else None]

    def _while(self, home: int, ins: Any, init: Tree, region: int) -> Tree:
        body, condition = ins.called_computation_ids[:2]
        count, is_known = trip_count(self.scope, home, ins)
        outer = self.regions[region].multiplicity if region >= 0 else 1.0
        number = self._open(ins.name, outer * count, region, "while", is_known)
        self._walk(condition, [init], number)
        result = self._walk(body, [init], number)
        self._close(number)
        for before, after in zip(_flat(init), _flat(result), strict=False):
            if before != after:
                self.aliases.append((before, after))
        return result

    def _conditional(self, ins: Any, operands: list[Tree], region: int) -> Tree:
        """Every branch counts 1/n: the module does not say how often each is taken."""
        branches = list(ins.called_computation_ids)
        outer = self.regions[region].multiplicity if region >= 0 else 1.0
        results = []
        for branch, argument in zip(branches, operands[1:], strict=True):
            number = self._open(ins.name, outer / len(branches), region, "branch", False)
            results.append(self._walk(branch, [argument], number))
            self._close(number)
        for other in results[1:]:
            pairs = zip(_flat(results[0]), _flat(other), strict=False)
            self.aliases += [(a, b) for a, b in pairs if a != b]
        return results[0]

    def _open(self, name: str, count: float, parent: int, kind: str, is_known: bool) -> int:
        start = len(self.events)
        self.regions.append(FlowRegion(name, start, start, count, parent, kind, is_known))
        return len(self.regions) - 1

    def _close(self, number: int) -> None:
        self.regions[number].end = len(self.events)

    def _alias_in_place(self, ins: Any, operands: list[Tree], tree: Tree) -> None:
        for alias in ins.output_operand_aliasing:
            target = _at(tree, alias.output_shape_index)
            source = _at(operands[alias.operand_index], alias.operand_shape_index)
            if isinstance(target, int) and isinstance(source, int):
                self.aliases.append((source, target))
        for index, operand in in_place_pairs(self.scope, ins):
            target, source = _at(tree, index), operands[operand]
            if isinstance(target, int) and isinstance(source, int):
                self.aliases.append((source, target))

    def _alias_donated(self, root: Tree) -> None:
        for entry in self.module.input_output_alias.entries:
            target = _at(root, entry.output_shape_index)
            source = _at(self.inputs[entry.parameter_number], entry.parameter_shape_index)
            if isinstance(target, int) and isinstance(source, int) and target != source:
                self.aliases.append((source, target))


def in_place_pairs(scope: Scope, ins: Any) -> list[tuple[tuple[int, ...], int]]:
    """(result index, operand number) of results that must share an operand's place.

    A dynamic-update-slice or scatter writes into its first operand, alone or as a fusion's root.
    """
    if ins.opcode in ("dynamic-update-slice", "scatter"):
        return [((), 0)]
    if ins.opcode != "fusion":
        return []
    inner = ins.called_computation_ids[0]
    root = scope.root(inner)
    results = [((), root)]
    if root.opcode == "tuple":
        results = [((n,), scope.operand(inner, root, n)) for n in range(len(root.operand_ids))]
    pairs = []
    for index, result in results:
        parameter = _updated_parameter(scope, inner, result)
        if parameter is not None:
            pairs.append((index, parameter))
    return pairs


def _updated_parameter(scope: Scope, inner: int, result: Any) -> int | None:
    while result.opcode in ("bitcast", "reshape"):
        result = scope.operand(inner, result, 0)
    if result.opcode not in ("dynamic-update-slice", "scatter"):
        return None
    base = scope.operand(inner, result, 0)
    while base.opcode in ("bitcast", "reshape"):
        base = scope.operand(inner, base, 0)
    return int(base.parameter_number) if base.opcode == "parameter" else None


def _flat(tree: Tree) -> list[int]:
    if isinstance(tree, list):
        return [value for part in tree for value in _flat(part)]
    return [tree] if isinstance(tree, int) else []


def _at(tree: Tree, index: Any) -> Tree:
    for number in index:
        tree = tree[number]
    return tree


def _nest(shape: Any, made: dict[tuple[int, ...], int], index: tuple[int, ...]) -> Tree:
    if is_tuple(shape):
        return [_nest(s, made, (*index, n)) for n, s in enumerate(shape.tuple_shapes)]
    return made[index] if is_array(shape) else None


def cycles(instruction: Any) -> float | None:
    """The compiler's own estimate for one execution, if it states one."""
    window = backend_config(instruction).get("window_config")
    stated = window.get("estimated_cycles") if isinstance(window, dict) else None
    try:
        return float(stated) if stated is not None else None
    except (TypeError, ValueError):
        return None


def scratch_bytes(instruction: Any, space: int) -> int:
    """Bytes of scoped scratch that the instruction uses in memory space `space`."""
    used = backend_config(instruction).get("used_scoped_memory_configs")
    if not isinstance(used, list):
        return 0
    sizes = [
        int(u.get("offset", 0)) + int(u.get("size", 0))
        for u in used
        if isinstance(u, dict) and str(u.get("memory_space")) == str(space)
    ]
    return max(sizes, default=0)
