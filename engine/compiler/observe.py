"""What one compile with some placement tells about a program: cycles, and what was fast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.program.hlo import Imported
from engine.program.hlo_config import cycles
from engine.program.hlo_flow import Flow
from engine.program.hlo_record import COMPUTE, Event

FAST_SPACES = {"VMEM": 1, "CMEM": 3}
"""The `S(k)` of each kind of fast memory in XLA's layouts."""


@dataclass(frozen=True)
class Observation:
    """One placement of a program's accesses with the compiler's cycles.

    `cycles` `[T]`: per execution, nan where the compile has no such instruction. `is_fast` `[A]`.
    """

    cycles: NDArray[np.float64]
    is_fast: NDArray[np.bool_]


def match_events(imported: Imported, flow: Flow) -> dict[int, int]:
    """Event number in `flow` -> slot, by instruction name within the same computation order."""
    slots = {
        imported.flow.events[event].instruction.name: slot
        for slot, event in enumerate(imported.events)
    }
    return {
        number: slots[event.instruction.name]
        for number, event in enumerate(flow.events)
        if event.kind == COMPUTE and event.instruction.name in slots
    }


def fast_accesses(imported: Imported, flow: Flow, slot: int, event: Event) -> set[int]:
    """Program values that `event` of another compile serves from fast memory at `slot`.

    The two compiles have the same operands in the same order, so they are matched by position.
    A value read through several operands counts as fast only if all of them are.
    """
    space = FAST_SPACES[imported.program.hardware.fast_name]
    own = imported.flow.events[imported.events[slot]]
    fast: set[int] = set()
    slow: set[int] = set()
    for (_, value, _), (_, _, where) in zip(own.reads, event.reads, strict=False):
        number = imported.value_of[imported.flow.origin(value)]
        (fast if where == space else slow).add(number)
    for value, other in zip(own.writes, event.writes, strict=False):
        where = int(flow.values[other].shape.layout.memory_space)
        (fast if where == space else slow).add(imported.value_of[value])
    return fast - slow


def observe(imported: Imported, flow: Flow) -> Observation:
    """Read one placement off the flow of another compile of the same program."""
    program = imported.program
    counts = np.full(program.num_slots, np.nan)
    is_fast = np.zeros(len(program.accesses), dtype=bool)
    accesses_at: dict[int, list[int]] = {}
    for index, access in enumerate(program.accesses):
        accesses_at.setdefault(access.time, []).append(index)
    for number, slot in match_events(imported, flow).items():
        event = flow.events[number]
        stated = cycles(event.instruction)
        counts[slot] = 0.0 if stated is None else stated
        fast = fast_accesses(imported, flow, slot, event)
        for index in accesses_at.get(slot, []):
            is_fast[index] = program.accesses[index].value in fast
    return Observation(counts, is_fast)
