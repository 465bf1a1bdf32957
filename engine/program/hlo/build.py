"""A Program from XLA's scheduled HLO.

Feed it a dump compiled with memory-space assignment disabled where there is one: then every
operand is in slow memory, and the schedule is the one the compiler would have used.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.errors import ProgramFormatError
from engine.program.counts import COUNTS, Counts, with_counts
from engine.program.hlo.collective import collective_in
from engine.program.hlo.costs import Work, prior_savings
from engine.program.hlo.demand import Demand, demand_of
from engine.program.hlo.flow import IMPOSSIBLE, Flow
from engine.program.hlo.module import cycles, granted_bytes, scratch_bytes, slow_by_colour
from engine.program.hlo.record import COMPUTE, OWN, Event, Flight
from engine.program.hlo.shape import (
    DEFAULT_SPACE,
    FAST_SPACES,
    HOST_SPACE,
    PLACEABLE_SPACES,
    fast_space,
    is_scalar,
    leaves,
    memory_space,
    shape_text,
    size_bytes,
)
from engine.program.model import (
    INPUT_TIME,
    TOP_LEVEL,
    Access,
    Hardware,
    Instruction,
    Program,
    Region,
    Value,
)
from engine.program.prices import Price
from engine.program.provenance import SCRATCH_REGION
from engine.program.validate import flight_problems, validate

MAX_VALUE_BYTES = 2**45

Pricing = Callable[[Demand], Price]
"""The price of an instruction for which the compiler states no cycles."""

Costs = tuple[float, Sequence[float]]
"""All-fast seconds of one execution, and the saving of each access."""

Roofline = Callable[[float, Sequence[int]], Costs]
"""Costs of an instruction from its operations and the bytes of its accesses, where the dump
states no cycles."""


@dataclass(frozen=True)
class Imported:
    """A program and how it maps to the HLO that it came from.

    `events`: slot -> event number. `value_of`: flow value -> program value. `has_cycles`: whether
    the costs are the compiler's. `prices`: of the slots for which it states no cycles; the program
    does not count them (`engine.program.prices.with_prices`).
    """

    program: Program
    flow: Flow
    events: tuple[int, ...]
    value_of: dict[int, int]
    has_cycles: bool
    prices: Mapping[int, Price] = field(default_factory=dict)

    def with_counts(self, counts: Counts) -> Imported:
        """The same with the costs of given trip counts and shares of branches, as it then says."""
        made = with_counts(self.program, counts)
        given = {COUNTS: counts.to_json()} if counts != Counts() else {}
        return replace(self, program=replace(made, provenance={**made.provenance, **given}))


def build_program(
    module: Any,
    name: str,
    hardware: Hardware,
    where: str,
    *,
    reserved_bytes: int = 0,
    roofline: Roofline | None = None,
    pricing: Pricing | None = None,
) -> Imported:
    """The program of a decoded HLO module.

    `reserved_bytes`: what the compiler keeps for the scratch of every instruction; one that uses or
    was given more reserves that. `roofline` gives costs where the dump states no cycles,
    `pricing` prices of what has none. Raises ProgramFormatError.
    """
    flow = Flow(module, where, keeps_copies=False)
    try:
        imported = _Builder(flow, hardware, reserved_bytes, roofline, pricing).build(name)
    except IMPOSSIBLE as error:
        raise ProgramFormatError(f"{where}: inconsistent module ({error!r:.160})") from error
    validate(imported.program, where)
    return imported


class _Builder:
    def __init__(
        self,
        flow: Flow,
        hardware: Hardware,
        reserved_bytes: int,
        roofline: Roofline | None,
        pricing: Pricing | None,
    ) -> None:
        self.flow = flow
        self.hardware = hardware
        self.reserved_bytes = reserved_bytes
        self.work = Work(flow.scope)
        self.slots: dict[int, int] = {}
        self.slot_from: list[int] = []
        self.value_of: dict[int, int] = {}
        self.values: list[Value] = []
        self.instructions: list[Instruction] = []
        self.accesses: list[Access] = []
        self.prices: dict[int, Price] = {}
        self.cycles = [cycles(e.instruction) for e in flow.events]
        self.roofline = None if any(c is not None for c in self.cycles) else roofline
        self.pricing = pricing

    def build(self, name: str) -> Imported:
        kept = [n for n in range(len(self.flow.events)) if self._is_kept(n)]
        if not kept:
            raise ProgramFormatError(f"{self.flow.where}: the module has no instructions to place")
        has_cycles = any(c is not None for c in self.cycles)
        if not has_cycles and self.roofline is None and self.pricing is None:
            raise ProgramFormatError(
                f"{self.flow.where}: the dump states no cycles; name a hardware preset"
            )
        self.slots = {event: slot for slot, event in enumerate(kept)}
        self.slot_from = [bisect_left(kept, event) for event in range(len(self.flow.events) + 1)]
        regions, region_of = self._regions(kept)
        for number in kept:
            self._add(number, region_of)
        self._add_what_is_kept()
        program = _with_clear_flights(
            Program(
                name=name,
                hardware=self.hardware,
                instructions=tuple(self.instructions),
                values=tuple(self._with_groups()),
                accesses=tuple(
                    sorted(self.accesses, key=lambda a: (a.time, a.is_write, a.operand))
                ),
                regions=tuple(regions),
                provenance=self._untold_region(),
            )
        )
        return Imported(
            program, self.flow, tuple(kept), self.value_of, self.roofline is None, self.prices
        )

    def _untold_region(self) -> dict[str, Any]:
        """The entry for the region for scratch, where no instruction reserves just that."""
        told = min(instruction.reserved_bytes for instruction in self.instructions)
        is_untold = 0 < self.reserved_bytes < told
        return {SCRATCH_REGION: self.reserved_bytes} if is_untold else {}

    def _is_kept(self, number: int) -> bool:
        """Scalar bookkeeping without a cost makes no slot; a collective has one, however small."""
        event = self.flow.events[number]
        if event.kind != COMPUTE:
            return False
        touched = [v for _, v, _ in event.reads] + event.writes
        is_of_arrays = any(not is_scalar(self.flow.values[v].shape) for v in touched)
        if is_of_arrays or self.cycles[number]:
            return True
        found = collective_in(self.flow.scope, event.computation, event.instruction)
        return bool(touched) and found is not None

    def _regions(self, kept: list[int]) -> tuple[list[Region], dict[int, int]]:
        """Regions in slots; those left empty vanish and hand their slots to their parent."""
        regions: list[Region] = []
        region_of = {TOP_LEVEL: TOP_LEVEL}
        for number, region in enumerate(self.flow.regions):
            inside = [self.slots[e] for e in kept if region.start <= e < region.end]
            parent = region_of[region.parent]
            region_of[number] = len(regions) if inside else parent
            if inside:
                regions.append(
                    Region(
                        name=region.name,
                        start=inside[0],
                        end=inside[-1] + 1,
                        multiplicity=region.multiplicity,
                        parent=parent,
                        kind=region.kind,
                        is_trip_count_known=region.is_trip_count_known,
                    )
                )
        return regions, region_of

    def _add(self, number: int, region_of: dict[int, int]) -> None:
        event, ins = self.flow.events[number], self.flow.events[number].instruction
        slot = len(self.instructions)
        times = self.flow.regions[event.region].multiplicity if event.region >= 0 else 1.0
        accesses = self._accesses(event, slot)
        fast_s, savings = self._costs(
            number, [0 if a.must_be_slow else a.slow_bytes for a in accesses]
        )
        self._price(number, slot, accesses)
        self.accesses += [
            replace(a, saving_s=s * times, slow_bytes=int(a.slow_bytes * times))
            for a, s in zip(accesses, savings, strict=True)
        ]
        space = fast_space(self.hardware.fast_name)
        used = min(scratch_bytes(ins, space), self.hardware.fast_bytes)
        kept = max(self.reserved_bytes, granted_bytes(ins, space)) if self.reserved_bytes else 0
        self.instructions.append(
            Instruction(
                name=event.name,
                opcode=ins.opcode,
                fast_s=fast_s * times,
                level=region_of[event.region],
                reserved_bytes=max(used, min(kept, self.hardware.fast_bytes)),
                scratch_bytes=used,
                op_name=ins.metadata.op_name[:160],
                flops=self.work.flops(event.computation, ins) * times,
            )
        )

    def _price(self, number: int, slot: int, accesses: list[Access]) -> None:
        """Note the price of a slot without cycles that moves anything.

        Work of another thread takes no time of the schedule, but for transfers to the host and over
        the links, which others wait for. Copies between HBM and the fast memory have none: what
        they move is counted where it is observed.
        """
        event = self.flow.events[number]
        if self.pricing is None or self.cycles[number] is not None:
            return
        if number in self.flow.real or is_between_memories(self.flow, event):
            return
        if not any(self._moved(event, accesses).values()):
            return
        unknown = self._updated_by_kernel(event)
        known = [access for access in accesses if access.value not in unknown]
        demand = demand_of(self.work, event, self._moved(event, known))
        flight = event.flight
        is_elsewhere = flight is not None and flight.is_elsewhere
        if not is_elsewhere or demand.host_bytes or demand.collective is not None:
            self.prices[slot] = self.pricing(demand)
        if slot in self.prices and flight is not None and flight.done < 0 <= flight.next_done:
            end = self.slot_from[flight.next_done]
            self.prices[slot] = replace(self.prices[slot], next_end=end)

    def _moved(self, event: Event, accesses: list[Access]) -> dict[int, int]:
        """Bytes that one execution reads and writes in each memory."""
        flow = self.flow
        read = {self.value_of[flow.origin(value)]: space for _, value, space in event.reads}
        written = {self.value_of[v]: memory_space(flow.values[v].shape) for v in event.writes}
        moved: dict[int, int] = {}
        for access in accesses:
            space = (written if access.is_write else read)[access.value]
            moved[space] = moved.get(space, 0) + access.slow_bytes
        return moved

    def _updated_by_kernel(self, event: Event) -> set[int]:
        """The values that a kernel updates in place: it does not say how much of them."""
        aliased = event.instruction.output_operand_aliasing
        if not aliased or event.instruction.opcode != "custom-call":
            return set()
        operands = {alias.operand_index for alias in aliased}
        results = {tuple(alias.output_shape_index) for alias in aliased}
        found = {
            self.flow.origin(value) for operand, value, _ in event.reads if operand in operands
        }
        indices = (index for index, _ in leaves(event.instruction.shape))
        found.update(v for v, i in zip(event.writes, indices, strict=False) if i in results)
        return {self.value_of[value] for value in found}

    def _costs(self, number: int, slow_bytes: list[int]) -> Costs:
        """Costs of one execution; without cycles at least one cycle's time."""
        event = self.flow.events[number]
        if self.roofline is not None and event.flight is not None and event.flight.is_elsewhere:
            return 1 / self.hardware.clock_hz, [0.0] * len(slow_bytes)
        if self.roofline is not None:
            flops = self.work.flops(event.computation, event.instruction)
            fast_s, savings = self.roofline(flops, slow_bytes)
            return max(fast_s, 1 / self.hardware.clock_hz), savings
        time_s = (self.cycles[number] or 0.0) / self.hardware.clock_hz
        savings = prior_savings(time_s, slow_bytes, self.hardware.bandwidth)
        return max(0.0, time_s - sum(savings)), savings

    def _accesses(self, event: Event, slot: int) -> list[Access]:
        """Reads of distinct values, then writes; sizes per execution, savings still zero."""
        flow, computation, ins = self.flow, event.computation, event.instruction
        copied_whole = {flow.refused[v] for v in event.writes if v in flow.refused}
        drawn: dict[int, tuple[int, int]] = {}
        spaces: dict[int, int] = {}
        for operand, value, space in event.reads:
            number = self._value(flow.origin(value))
            size = self.values[number].size_bytes
            if value not in copied_whole:
                size = self.work.read_bytes(computation, ins, operand, size)
            first, so_far = drawn.get(number, (operand, 0))
            drawn[number] = (first, max(so_far, size))
            spaces[number] = space
        accesses = [Access(slot, v, False, 0.0, size, op) for v, (op, size) in drawn.items()]
        for result, value in enumerate(event.writes):
            number = self._value(value, slot)
            full = self.values[number].size_bytes
            size = self.work.written_bytes(ins, full, flow.updates.get(value))
            spaces[number] = memory_space(flow.values[value].shape)
            accesses.append(Access(slot, number, True, 0.0, size, result))
        accesses = self._kept_slow(event, accesses, spaces)
        if event.flight is not None:
            accesses = [self._in_flight(a, event.flight, spaces[a.value]) for a in accesses]
        return accesses

    def _kept_slow(
        self, event: Event, accesses: list[Access], spaces: Mapping[int, int]
    ) -> list[Access]:
        """The accesses with those marked that a kernel, or the host, finds in slow memory only.

        What moves between the host and the chip moves by HBM. A value that `send` or `recv` hands
        to the host is never in fast memory (`IsValueAllowedInAlternateMemory`).
        """
        is_of_host = HOST_SPACE in spaces_of(self.flow, event)
        if event.instruction.is_host_transfer:
            for access in accesses:
                value = self.values[access.value]
                self.values[access.value] = replace(value, may_be_fast=False)
        operands, results = slow_by_colour(event.instruction)
        read = {self.flow.origin(value) for operand, value, _ in event.reads if operand in operands}
        written = {a.value for a in accesses if a.is_write and a.operand in results}
        slow = {False: {self.value_of[value] for value in read}, True: written}

        def is_kept_slow(access: Access) -> bool:
            is_moved = is_of_host and spaces[access.value] == DEFAULT_SPACE
            return is_moved or access.value in slow[access.is_write]

        return [
            replace(access, must_be_slow=True) if is_kept_slow(access) else access
            for access in accesses
        ]

    def _in_flight(self, access: Access, flight: Flight, space: int) -> Access:
        """The access as what its instruction starts makes it.

        Another thread finds its operands in slow memory, unless the compiler has them elsewhere.
        """
        value = self.values[access.value]
        if flight.done < 0:
            self.values[access.value] = replace(value, may_be_fast=False)
        over = max(access.time + 1, self.slot_from[max(0, flight.done)])
        return replace(
            access,
            must_be_slow=access.must_be_slow or (flight.is_elsewhere and space == DEFAULT_SPACE),
            in_flight=over - access.time - 1,
        )

    def _value(self, flow_value: int, slot: int = INPUT_TIME) -> int:
        """The program value of a flow value, made on first sight."""
        if flow_value in self.value_of:
            return self.value_of[flow_value]
        known = self.flow.values[flow_value]
        size = size_bytes(known.shape)
        if size > MAX_VALUE_BYTES:
            raise ProgramFormatError(f"{self.flow.where}: {known.label} is absurdly large")
        is_placeable = memory_space(known.shape) in PLACEABLE_SPACES
        self.value_of[flow_value] = len(self.values)
        self.values.append(
            Value(
                name=known.label.removesuffix("{}"),
                shape=shape_text(known.shape),
                size_bytes=size,
                defined=slot,
                group=-1,
                is_live_out=flow_value in self.flow.outputs,
                may_be_fast=is_placeable
                and not is_scalar(known.shape)
                and size <= self.hardware.fast_bytes,
            )
        )
        return self.value_of[flow_value]

    def _add_what_is_kept(self) -> None:
        """Values of inputs that nothing reads, but that are in the place of what is made.

        A branch, or a loop that does not run, hands such an input on.
        """
        made = {self.flow.place_of[value] for value in self.value_of}
        for number, value in enumerate(self.flow.values):
            if value.event < 0 and value.kind == OWN and self.flow.place_of[number] in made:
                self._value(number)

    def _with_groups(self) -> list[Value]:
        """Values of one place form one group."""
        numbers: dict[int, int] = {}
        places = [self.flow.place_of[v] for v in self.value_of]
        return [
            replace(value, group=numbers.setdefault(place, len(numbers)))
            for value, place in zip(self.values, places, strict=True)
        ]


def spaces_of(flow: Flow, event: Event) -> set[int]:
    """The memories that an event reads and writes."""
    written = {memory_space(flow.values[value].shape) for value in event.writes}
    return {space for _, _, space in event.reads} | written


def is_between_memories(flow: Flow, event: Event) -> bool:
    """Whether the event copies from or to the fast memory: the compiler states no cycles then."""
    is_copy = event.instruction.opcode == "copy"
    return is_copy and not spaces_of(flow, event).isdisjoint(FAST_SPACES.values())


def _with_clear_flights(program: Program) -> Program:
    """The program with groups slow whose accesses in flight others would get in the way of.

    The compiler makes no such module.
    """
    barred = {group for group, _ in flight_problems(program)}
    if not barred:
        return program
    is_barred = [value.group in barred for value in program.values]
    return replace(
        program,
        values=tuple(
            replace(value, may_be_fast=value.may_be_fast and not is_out)
            for value, is_out in zip(program.values, is_barred, strict=True)
        ),
        accesses=tuple(
            replace(access, in_flight=0) if is_barred[access.value] else access
            for access in program.accesses
        ),
    )
