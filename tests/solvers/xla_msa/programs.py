"""Small programs for the tests of the XLA-like solver: a byte a second, slots of 30 s or more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.program.model import Access, Hardware, Instruction, Program, Region, Value
from engine.program.validate import validate

COMPUTE_S = 30.0
"""What every slot computes; it lasts longer only if it draws more than 30 bytes."""


@dataclass(frozen=True)
class Tensor:
    """A value, its touches as (time, kind, saving in seconds); kind is "r", "w" or "rw".

    Each access draws `drawn` times the size from slow memory.
    """

    size_bytes: int
    touches: Sequence[tuple[int, str, float]]
    is_input: bool = False
    is_live_out: bool = False
    drawn: float = 1.0


def program_of(
    tensors: Sequence[Tensor],
    num_slots: int,
    regions: Sequence[Region] = (),
    fast_bytes: int = 100,
    reserved: Sequence[int] = (),
    max_cross_program: int = 0,
) -> Program:
    """A program in which tensor `i` is group `i`."""
    levels = [-1] * num_slots
    for index, region in enumerate(regions):
        levels[region.start : region.end] = [index] * (region.end - region.start)
    times = [1.0 if level < 0 else regions[level].multiplicity for level in levels]
    values: list[Value] = []
    accesses: list[Access] = []
    for group, tensor in enumerate(tensors):
        if tensor.is_input:
            values.append(Value(f"in{group}", "", tensor.size_bytes, -1, group))
        for time, kind, saving in tensor.touches:
            size = round(tensor.size_bytes * tensor.drawn * times[time])
            total = saving * times[time]
            if "r" in kind:
                accesses.append(Access(time, len(values) - 1, False, total, size))
            if "w" in kind:
                live_out = tensor.is_live_out and (time, kind, saving) == tensor.touches[-1]
                values.append(Value(f"v{time}", "", tensor.size_bytes, time, group, live_out))
                accesses.append(Access(time, len(values) - 1, True, total, size))
        if tensor.is_live_out and not values[-1].is_live_out:
            last = values[-1]
            values[-1] = Value(last.name, "", last.size_bytes, last.defined, group, True)
    program = Program(
        name="small",
        hardware=Hardware("test", fast_bytes, 1, 1.0, 1.0, "fast", max_cross_program),
        instructions=tuple(
            Instruction(
                f"i{t}",
                "fusion",
                COMPUTE_S * times[t],
                levels[t],
                reserved[t] if reserved else 0,
            )
            for t in range(num_slots)
        ),
        values=tuple(values),
        accesses=tuple(sorted(accesses, key=lambda a: (a.time, a.is_write))),
        regions=tuple(regions),
    )
    validate(program, "small program")
    return program
