"""What is written down while a scheduled HLO module is walked: values, events, regions, uses."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from engine.errors import ProgramFormatError
from engine.program.hlo.alias import (
    BEFORE,
    FOREVER,
    Use,
    boundary,
    in_place_results,
    write_point,
)
from engine.program.hlo.module import Scope
from engine.program.hlo.shape import has_buffer, leaves, memory_space
from engine.program.hlo.tree import Tree, at, flat, nest
from engine.program.validate import MAX_TIMES

MAX_WORK = 600_000
"""Instructions visited, values made and operands read while the calls are inlined."""

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

    @property
    def is_merged(self) -> bool:
        """Whether it is what goes round a loop, or comes out of several branches."""
        return self.event < 0 and self.point != BEFORE


@dataclass(slots=True)
class Event:
    """One instruction in the flat sequence.

    `reads` are (operand number, value, memory space of the operand's shape). `flight`: what goes on
    after it.
    """

    name: str
    instruction: Any
    computation: int
    kind: str
    region: int
    reads: list[tuple[int, int, int]] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    flight: Flight | None = None


@dataclass(slots=True, eq=False)
class Flight:
    """What goes on between the start and the done of an asynchronous operation.

    `region`: of its start. `events`: what it does. `is_elsewhere`: by another thread than the
    schedule's (SparseCore, host), whose reach does not include the fast memory. `ends_as`: kind of
    event that its done is, empty if it is none. `state`: the values that a fused collective hands
    from its start to its done. `done`: the event before which it is over; -1 where the code of
    `region` reaches no done. `next_done`: the same in the next iteration of `region`, a loop.
    `awaited`: the events before which other regions await it, by region.
    """

    region: int
    events: list[Event] = field(default_factory=list)
    is_elsewhere: bool = False
    ends_as: str = ""
    state: set[int] = field(default_factory=set)
    done: int = -1
    next_done: int = -1
    awaited: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class FlowRegion:
    """A while body or conditional branch: events `[start, end)`, total multiplicity.

    `conditional`: of a branch, the region of the first one of its conditional; else -1.
    """

    name: str
    start: int
    end: int
    multiplicity: float
    parent: int
    kind: str
    is_trip_count_known: bool
    conditional: int = -1


class Record:
    """The growing lists; all numbers in them are indices into one another.

    `aliases`: pairs of values that must share a place. `rounds`: of what changes in loops, what
    enters, what is carried and what goes round. `updates`: value -> (what it updates in place,
    bytes written). `open_flights`: those of fused collectives whose done is yet to come.
    """

    def __init__(self, scope: Scope, where: str) -> None:
        self.scope = scope
        self.where = where
        self.values: list[FlowValue] = []
        self.events: list[Event] = []
        self.regions: list[FlowRegion] = []
        self.aliases: list[tuple[int, int]] = []
        self.rounds: list[tuple[int, int, int]] = []
        self.updates: dict[int, tuple[int, int]] = {}
        self.uses: list[Use] = []
        self.open_flights: list[Flight] = []
        self._sources: dict[int, list[int]] = {}
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
        return nest(shape, self._made(name, shape, event, region, part, {}))

    def _made(
        self,
        name: str,
        shape: Any,
        event: int,
        region: int,
        part: tuple[int, ...],
        known: Mapping[tuple[int, ...], int],
    ) -> dict[tuple[int, ...], int]:
        """The value of every array leaf: the `known` ones, else new ones."""
        if has_buffer(shape):
            raise ProgramFormatError(
                f"{self.where}: {name}: it is a buffer, which cannot be imported; compile the"
                " program without the custom calls that pin it"
            )
        point = write_point(event) if event >= 0 else BEFORE
        made = dict(known)
        for index, leaf in leaves(shape):
            if index not in made:
                label = name + "{" + ",".join(map(str, part + index)) + "}"
                made[index] = self.add(label, leaf, event, region, point)
        return made

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
            self._sources.setdefault(target, []).append(source)
        return is_pair

    def update_in_place(
        self, computation: int, ins: Any, operands: list[Tree], results: Tree
    ) -> None:
        """Pair what an instruction updates in place with its results."""
        for update in in_place_results(self.scope, computation, ins):
            source, target = at(operands[update.operand], update.part), at(results, update.index)
            if self.pair(source, target):
                self.updates[target] = (source, update.written)

    def event(
        self,
        computation: int,
        ins: Any,
        kind: str,
        operands: list[Tree],
        region: int,
        unread: Container[int] = (),
    ) -> Event:
        """A new event that reads all leaves of its operands but those `unread`."""
        number = len(self.events)
        event = Event(ins.name, ins, computation, kind, region)
        self.events.append(event)
        for position, (operand, tree) in enumerate(zip(ins.operand_ids, operands, strict=True)):
            held = list(flat(tree))
            self.spend(1 + len(held))
            shape = self.scope.by_id[computation][operand].shape
            spaces = [memory_space(leaf) for _, leaf in leaves(shape)]
            spaces += [0] * (len(held) - len(spaces))
            for value, space in zip(held, spaces, strict=False):
                if value not in unread:
                    event.reads.append((position, value, space))
            for value in held:
                self.use(value, write_point(number), region)
        return event

    def result(
        self,
        event: Event,
        name: str,
        shape: Any,
        part: tuple[int, ...] = (),
        known: Mapping[tuple[int, ...], int] = MappingProxyType({}),
    ) -> Tree:
        """New values that the newest event writes, for all leaves that are not `known`."""
        made = self._made(name, shape, len(self.events) - 1, event.region, part, known)
        event.writes += [value for index, value in sorted(made.items()) if index not in known]
        return nest(shape, made)

    def launch(
        self, first: int, region: int, *, is_elsewhere: bool = False, ends_as: str = ""
    ) -> Flight:
        """Note that all from event `first` on goes on until its done."""
        flight = Flight(region, self.events[first:], is_elsewhere, ends_as)
        for event in flight.events:
            event.flight = flight
        return flight

    def land(self, flight: Flight, region: int) -> None:
        """Note that by now the flight is over, if this is code of its own region.

        Until now what it reads and writes had to stand.
        """
        point = boundary(len(self.events))
        for event in flight.events:
            # The place of an operand that a result takes over is held with the result.
            over = {source for value in event.writes for source in self._sources.get(value, ())}
            read = (v for _, v, _ in event.reads if v not in over)
            for value in (*read, *event.writes):
                self.use(value, point, region)
        if region == flight.region:
            flight.done = len(self.events)
        flight.awaited.setdefault(region, len(self.events))

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
