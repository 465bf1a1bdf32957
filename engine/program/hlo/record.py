"""What is written down while a scheduled HLO module is walked: values, events, regions, uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.errors import ProgramFormatError
from engine.program.hlo.alias import BEFORE, FOREVER, Use, boundary, write_point
from engine.program.hlo.module import Scope
from engine.program.hlo.shape import leaves, memory_space
from engine.program.hlo.tree import Tree, flat, nest

MAX_WORK = 600_000
"""Instructions visited, values made and operands read while the calls are inlined."""

MAX_TIMES = 1e15
"""No instruction runs more often than this."""

COMPUTE = "compute"
COPY_START = "copy-start"
COPY_DONE = "copy-done"
SLICE_START = "slice-start"
SLICE_DONE = "slice-done"
JOIN = "join"

OWN = "own"
COPIED = "copied"
HANDED_ON = "handed on"
CARRIED = "carried"


@dataclass(slots=True)
class FlowValue:
    """One array in memory; `label` is XLA's name of its defining position, like `fusion.3{1}`.

    `event`, `region`, `point`: where and when it is defined (event -1: not by an instruction).
    `kind`: OWN content; COPIED from `origin` into another memory; HANDED_ON by a loop that leaves
    `origin` as it is; CARRIED round a loop that `origin` enters. `origin` of OWN is the value.
    """

    label: str
    shape: Any
    event: int
    region: int
    point: int
    origin: int
    kind: str = OWN


@dataclass(slots=True)
class Event:
    """One instruction in the flat sequence.

    `reads` are (operand number, value, memory space of the operand's shape).
    """

    name: str
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


class Record:
    """The growing lists; all numbers in them are indices into one another.

    `aliases`: pairs of values that must share a place. `updates`: value -> (what it updates in
    place, bytes written).
    """

    def __init__(self, scope: Scope, where: str) -> None:
        self.scope = scope
        self.where = where
        self.values: list[FlowValue] = []
        self.events: list[Event] = []
        self.regions: list[FlowRegion] = []
        self.aliases: list[tuple[int, int]] = []
        self.updates: dict[int, tuple[int, int]] = {}
        self.uses: list[Use] = []
        self._work = 0

    def spend(self, amount: int) -> None:
        """Count work; ProgramFormatError where a small text unrolls without bounds."""
        self._work += amount
        if self._work > MAX_WORK:
            raise ProgramFormatError(f"{self.where}: the calls unroll too far to be imported")

    def add(self, label: str, shape: Any, event: int, region: int, point: int) -> int:
        """A new value of one array shape."""
        self.spend(1)
        number = len(self.values)
        self.values.append(FlowValue(label, shape, event, region, point, number))
        return number

    def define(
        self, name: str, shape: Any, event: int, region: int, part: tuple[int, ...] = ()
    ) -> Tree:
        """New values for every array leaf of a shape, which is `part` of a bigger tuple."""
        point = write_point(event) if event >= 0 else BEFORE
        made: dict[tuple[int, ...], int] = {}
        for index, leaf in leaves(shape):
            label = name + "{" + ",".join(map(str, part + index)) + "}"
            made[index] = self.add(label, leaf, event, region, point)
        return nest(shape, made)

    def keep(self, tree: Tree) -> None:
        """Note that nothing in the program may overwrite these values."""
        for value in flat(tree):
            self.use(value, FOREVER, -1)

    def use(self, value: int, point: int, region: int) -> None:
        """The value must stand up to `point`, for code of `region`."""
        self.uses.append(Use(value, point, region))

    def pair(self, source: Tree, target: Tree) -> bool:
        """Two values must share one place; false if either is not a single array."""
        is_pair = isinstance(source, int) and isinstance(target, int) and source != target
        if is_pair:
            self.aliases.append((source, target))
        return is_pair

    def event(
        self, computation: int, ins: Any, kind: str, operands: list[Tree], region: int
    ) -> Event:
        """A new event that reads all leaves of its operands."""
        number = len(self.events)
        event = Event(ins.name, ins, computation, kind, region)
        self.events.append(event)
        for position, (operand, tree) in enumerate(zip(ins.operand_ids, operands, strict=True)):
            held = list(flat(tree))
            self.spend(1 + len(held))
            shape = self.scope.by_id[computation][operand].shape
            spaces = [memory_space(leaf) for _, leaf in leaves(shape)]
            spaces += [0] * (len(held) - len(spaces))
            event.reads += [(position, v, s) for v, s in zip(held, spaces, strict=False)]
            for value in held:
                self.use(value, write_point(number), region)
        return event

    def result(self, event: Event, name: str, shape: Any, part: tuple[int, ...] = ()) -> Tree:
        """New values that the newest event writes."""
        tree = self.define(name, shape, len(self.events) - 1, event.region, part)
        event.writes += flat(tree)
        return tree

    def copy(self, event: Event, label: str, shape: Any, source: int) -> int:
        """The value that the newest event writes is the content of `source`, elsewhere."""
        number = len(self.events) - 1
        value = self.add(label, shape, number, event.region, write_point(number))
        self.values[value].origin, self.values[value].kind = source, COPIED
        event.writes.append(value)
        return value

    def merge(self, label: str, shape: Any, region: int, source: int) -> int:
        """What goes round a loop, or comes out of several branches: first of all `source`."""
        value = self.add(label, shape, -1, region, boundary(len(self.events)))
        self.values[value].origin, self.values[value].kind = source, CARRIED
        return value

    def open(self, name: str, count: float, parent: int, kind: str, is_known: bool) -> int:
        """Begin a region that runs `count` times whenever its parent runs."""
        outer = self.regions[parent].multiplicity if parent >= 0 else 1.0
        if not MAX_TIMES > outer * count > 1 / MAX_TIMES:
            raise ProgramFormatError(f"{self.where}: {name} runs an absurd number of times")
        start = len(self.events)
        self.regions.append(FlowRegion(name, start, start, outer * count, parent, kind, is_known))
        return len(self.regions) - 1

    def close(self, number: int) -> None:
        """End a region here."""
        self.regions[number].end = len(self.events)
