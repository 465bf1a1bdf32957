"""A Program from XLA's scheduled HLO.

Feed it a dump compiled with memory-space assignment disabled where there is one: then every
operand is in slow memory, and the schedule is the one the compiler would have used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import ProgramFormatError
from engine.program.hlo_costs import accessed_bytes, flops, prior_savings, written_bytes
from engine.program.hlo_flow import COMPUTE, Event, Flow, cycles, scratch_bytes
from engine.program.hlo_shape import is_scalar, shape_text, size_bytes
from engine.program.io import validate
from engine.program.model import (
    INPUT_TIME,
    Access,
    Hardware,
    Instruction,
    Program,
    Region,
    Value,
)

MAX_VALUE_BYTES = 2**45

Roofline = Callable[[float, int], float]
"""All-slow seconds of an instruction from its flops and bytes, for dumps without cycles."""


@dataclass(frozen=True)
class Imported:
    """A program and how it maps to the HLO that it came from.

    `events`: slot -> event number. `value_of`: flow value -> program value.
    """

    program: Program
    flow: Flow
    events: tuple[int, ...]
    value_of: dict[int, int]


def build_program(
    module: Any,
    name: str,
    hardware: Hardware,
    where: str,
    reserved_bytes: int | None = None,
    roofline: Roofline | None = None,
) -> Imported:
    """The program of a decoded HLO module.

    `reserved_bytes`: the compiler's fixed scoped region, if it has one; else each instruction
    reserves what it says it uses. `roofline` gives costs where the dump states no cycles.
    Raises ProgramFormatError.
    """
    flow = Flow(module, where)
    try:
        imported = _Builder(flow, hardware, reserved_bytes, roofline).build(name)
    except (KeyError, IndexError, OverflowError, StopIteration) as error:
        raise ProgramFormatError(f"{where}: inconsistent HLO module ({error!r})") from error
    validate(imported.program, where)
    return imported


class _Builder:
    def __init__(
        self,
        flow: Flow,
        hardware: Hardware,
        reserved_bytes: int | None,
        roofline: Roofline | None,
    ) -> None:
        self.flow = flow
        self.hardware = hardware
        self.reserved_bytes = reserved_bytes
        self.roofline = roofline
        self.slots: dict[int, int] = {}
        self.value_of: dict[int, int] = {}
        self.values: list[Value] = []
        self.instructions: list[Instruction] = []
        self.accesses: list[Access] = []
        self.has_cycles = any(cycles(e.instruction) is not None for e in flow.events)

    def build(self, name: str) -> Imported:
        kept = [n for n, e in enumerate(self.flow.events) if self._is_kept(e)]
        if not kept:
            raise ProgramFormatError(f"{self.flow.where}: the module has no instructions to place")
        self.slots = {event: slot for slot, event in enumerate(kept)}
        regions, region_of = self._regions(kept)
        for event in kept:
            self._add(self.flow.events[event], region_of)
        program = Program(
            name=name,
            hardware=self.hardware,
            instructions=tuple(self.instructions),
            values=tuple(self._with_groups()),
            accesses=tuple(sorted(self.accesses, key=lambda a: (a.time, a.is_write, a.operand))),
            regions=tuple(regions),
        )
        return Imported(program, self.flow, tuple(kept), self.value_of)

    def _is_kept(self, event: Event) -> bool:
        """Scalar bookkeeping without a cost makes no slot."""
        if event.kind != COMPUTE:
            return False
        touched = [v for _, v, _ in event.reads] + event.writes
        if any(not is_scalar(self.flow.values[v].shape) for v in touched):
            return True
        return bool(cycles(event.instruction))

    def _regions(self, kept: list[int]) -> tuple[list[Region], dict[int, int]]:
        """Regions in slots; those left empty vanish and hand their slots to their parent."""
        regions: list[Region] = []
        region_of = {-1: -1}
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
                        multiplicity=float(region.multiplicity),
                        parent=parent,
                        kind=region.kind,
                        is_trip_count_known=region.is_trip_count_known,
                    )
                )
        return regions, region_of

    def _add(self, event: Event, region_of: dict[int, int]) -> None:
        slot = len(self.instructions)
        ins = event.instruction
        times = self.flow.regions[event.region].multiplicity if event.region >= 0 else 1.0
        accesses = self._accesses(event, slot)
        spaces = [space for _, _, space in event.reads if space] if self.has_cycles else []
        slow = [a.slow_bytes for a in accesses]
        time_s = self._time(ins, sum(slow), bool(spaces))
        savings = prior_savings(time_s, slow, self.hardware.bandwidth)
        self.accesses += [
            replace(a, saving_s=s * times, slow_bytes=int(a.slow_bytes * times))
            for a, s in zip(accesses, savings, strict=True)
        ]
        used = scratch_bytes(ins, 1)
        reserved = used if self.reserved_bytes is None else self.reserved_bytes
        self.instructions.append(
            Instruction(
                name=ins.name,
                opcode=ins.opcode,
                fast_s=max(0.0, time_s - sum(savings)) * times,
                level=region_of[event.region],
                reserved_bytes=min(reserved, self.hardware.fast_bytes),
                scratch_bytes=used,
                op_name=ins.metadata.op_name[:160],
            )
        )

    def _time(self, ins: Any, slow_bytes: int, has_fast_operands: bool) -> float:
        """All-slow seconds of one execution."""
        if self.has_cycles:
            return (cycles(ins) or 0.0) / self.hardware.clock_hz
        if self.roofline is None:
            raise ProgramFormatError(
                f"{self.flow.where}: the dump states no cycles; name a hardware preset"
            )
        return self.roofline(flops(self.flow.scope, ins), slow_bytes)

    def _accesses(self, event: Event, slot: int) -> list[Access]:
        """Reads of distinct values, then writes; sizes per execution, savings still zero."""
        scope, ins = self.flow.scope, event.instruction
        drawn: dict[int, tuple[int, int]] = {}
        for operand, value, _ in event.reads:
            number = self._value(self.flow.origin(value))
            size = accessed_bytes(scope, ins, operand, self.values[number].size_bytes)
            first, so_far = drawn.get(number, (operand, 0))
            drawn[number] = (first, max(so_far, size))
        accesses = [Access(slot, v, False, 0.0, size, op) for v, (op, size) in drawn.items()]
        in_place = {b for _, b in self.flow.aliases}
        for result, value in enumerate(event.writes):
            number = self._value(value, slot)
            full = self.values[number].size_bytes
            size = written_bytes(scope, ins, value in in_place, full)
            accesses.append(Access(slot, number, True, 0.0, size, result))
        return accesses

    def _value(self, flow_value: int, slot: int = INPUT_TIME) -> int:
        """The program value of a flow value, made on first sight."""
        if flow_value in self.value_of:
            return self.value_of[flow_value]
        known = self.flow.values[flow_value]
        size = size_bytes(known.shape)
        if size > MAX_VALUE_BYTES:
            raise ProgramFormatError(f"{self.flow.where}: {known.label} is absurdly large")
        self.value_of[flow_value] = len(self.values)
        self.values.append(
            Value(
                name=known.label.removesuffix("{}"),
                shape=shape_text(known.shape),
                size_bytes=size,
                defined=slot,
                group=-1,
                is_live_out=any(self.flow.origin(o) == flow_value for o in self.flow.outputs),
                may_be_fast=not is_scalar(known.shape) and size <= self.hardware.fast_bytes,
            )
        )
        return self.value_of[flow_value]

    def _with_groups(self) -> list[Value]:
        """Number the alias groups; pairs of which one side is never touched say nothing."""
        leader = list(range(len(self.values)))

        def find(number: int) -> int:
            while leader[number] != number:
                leader[number] = leader[leader[number]]
                number = leader[number]
            return number

        for a, b in self.flow.aliases:
            pair = [self.value_of.get(self.flow.origin(v)) for v in (a, b)]
            if pair[0] is not None and pair[1] is not None:
                leader[find(pair[0])] = find(pair[1])
        numbers: dict[int, int] = {}
        return [
            replace(v, group=numbers.setdefault(find(n), len(numbers)))
            for n, v in enumerate(self.values)
        ]
