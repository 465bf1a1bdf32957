"""What one compile with some placement tells: its cycles, what was fast, how long it waits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.compiler.reading.matching import Matching
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.hlo.build import Imported, is_between_memories
from engine.program.hlo.flow import Flow
from engine.program.hlo.module import cycles
from engine.program.hlo.record import Event
from engine.program.hlo.shape import fast_space, memory_space, size_bytes
from engine.program.model import Hardware, Program


@dataclass(frozen=True)
class Observation:
    """One placement of a program's accesses with the compiler's cycles.

    `cycles` `[T]`: per execution, nan where the compile has no such instruction. `is_fast` `[A]`.
    """

    cycles: NDArray[np.float64]
    is_fast: NDArray[np.bool_]


def fast_accesses(imported: Imported, flow: Flow, slot: int, event: Event) -> set[int]:
    """Program values that `event` of another compile serves from fast memory at `slot`.

    The two compiles have the same operands in the same order, so they are matched by position.
    A value read through several operands counts as fast only if all of them are.
    """
    space = fast_space(imported.program.hardware.fast_name)
    own = imported.flow.events[imported.events[slot]]
    fast: set[int] = set()
    slow: set[int] = set()
    for (_, value, _), (_, _, where) in zip(own.reads, event.reads, strict=True):
        number = imported.value_of[imported.flow.origin(value)]
        (fast if where == space else slow).add(number)
    for value, other in zip(own.writes, event.writes, strict=True):
        where = memory_space(flow.values[other].shape)
        (fast if where == space else slow).add(imported.value_of[value])
    return fast - slow


def cycles_of(flow: Flow, event: Event, hardware: Hardware) -> float:
    """Cycles of one execution of an event of a compile, as the compiler states them.

    For a copy between the two memories it states none, but the bytes have to be moved: what is slow
    of them takes its time by the bandwidth.
    """
    stated = cycles(event.instruction)
    if stated is not None or not is_between_memories(flow, event):
        return stated or 0.0
    touched = [value for _, value, _ in event.reads] + event.writes
    shapes = [flow.values[value].shape for value in touched]
    space = fast_space(hardware.fast_name)
    moved = sum(size_bytes(shape) for shape in shapes if memory_space(shape) != space)
    return moved / hardware.bandwidth * hardware.clock_hz


def observe(imported: Imported, flow: Flow) -> Observation:
    """Read one placement off the flow of another compile of the same program.

    A copy of the program that the compile makes in flight takes no cycles of the schedule.
    """
    program = imported.program
    counts = np.full(program.num_slots, np.nan)
    is_fast = np.zeros(len(program.accesses), dtype=bool)
    accesses_at: dict[int, list[int]] = {}
    for index, access in enumerate(program.accesses):
        accesses_at.setdefault(access.time, []).append(index)
    matching = Matching(imported, flow)
    for number, slot in matching.slot_of.items():
        event = flow.events[number]
        counts[slot] = cycles_of(flow, event, program.hardware)
        fast = fast_accesses(imported, flow, slot, event)
        for index in accesses_at.get(slot, []):
            is_fast[index] = program.accesses[index].value in fast
    for number, slot in matching.copies.items():
        counts[slot] = 0.0
        to_fast = matching.is_in_fast_memory(flow.events[number].writes[0])
        for index in accesses_at[slot]:
            is_fast[index] = to_fast and program.accesses[index].is_write
    return Observation(counts, is_fast)


def _often(program: Program, slot: int) -> float:
    """How often the instruction of a slot runs in one run of the program."""
    return program.multiplicity(program.instructions[slot].level)


def stall_cycles(imported: Imported, plan: Plan, seen: Observation) -> float:
    """Cycles of one run in which a compile waits for its copies.

    `plan`: as it was read off the compile, valid or not. Each instruction takes the cycles that the
    compile states, whatever the program's costs are, or its price.
    """
    program = imported.program
    clock = program.hardware.clock_hz
    counts = np.nan_to_num(seen.cycles)
    times = [_often(program, slot) for slot in range(program.num_slots)]
    instructions = tuple(
        replace(ins, fast_s=float(count) * often / clock + ins.priced_s, floor_s=0.0)
        for ins, count, often in zip(program.instructions, counts, times, strict=True)
    )
    accesses = tuple(replace(access, saving_s=0.0) for access in program.accesses)
    as_compiled = replace(program, instructions=instructions, accesses=accesses)
    return simulate(as_compiled, plan).stall_s * clock


def total_text(cycles: float, stall_cycles: float, priced_cycles: float) -> str:
    """The total of a whole compile in words: the compiler's cycles, stalls and prices together.

    >>> total_text(900.0, 100.0, 0.0)
    'total 1,000 cycles, 100 of them stalls'
    """
    prices = f", {priced_cycles:,.0f} prices" if priced_cycles else ""
    total = cycles + stall_cycles + priced_cycles
    return f"total {total:,.0f} cycles, {stall_cycles:,.0f} of them stalls{prices}"
