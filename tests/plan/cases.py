"""Programs for tests, in a few words: a buffer is its size and its touches, such as `w1 r3 r5`.

A touch that stays in flight for two more slots is written `r3+2`.

Every instruction takes `fast_s` seconds, slow memory moves one byte per second, an access draws
its value's bytes and saves as many seconds (loops multiplied out).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.plan.model import Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import TOP_LEVEL, Access, Hardware, Instruction, Program, Region, Value
from engine.program.validate import validate

HARDWARE = Hardware("test", fast_bytes=1408, alignment=128, bandwidth=1.0, clock_hz=1.0)


@dataclass(frozen=True)
class Buffer:
    """An alias group; each `w` defines a new value in it, `is_input` one before the start."""

    size: int
    touches: str
    is_input: bool = False
    is_live_out: bool = False
    may_be_fast: bool = True

    def events(self) -> list[tuple[int, bool, int]]:
        """(time, is_write, slots in flight) in the order of the program's accesses."""
        words = [word.partition("+") for word in self.touches.split()]
        return sorted((int(touch[1:]), touch[0] == "w", int(more or 0)) for touch, _, more in words)


def program_of(
    buffers: Sequence[Buffer],
    slots: int = 10,
    regions: Sequence[Region] = (),
    *,
    reserved: Mapping[int, int] | None = None,
    fast_s: Sequence[float] | float = 0.0,
    hardware: Hardware = HARDWARE,
) -> Program:
    """A valid program of these buffers; buffer `i` is group `i`."""
    levels = [
        max((i for i, r in enumerate(regions) if r.start <= t < r.end), default=TOP_LEVEL)
        for t in range(slots)
    ]
    times = [1.0 if level == TOP_LEVEL else regions[level].multiplicity for level in levels]
    values, accesses = _tables(buffers, times)
    seconds = [fast_s] * slots if isinstance(fast_s, float) else fast_s
    program = Program(
        name="test",
        hardware=hardware,
        instructions=tuple(
            Instruction(f"i{t}", "fusion", seconds[t], levels[t], (reserved or {}).get(t, 0))
            for t in range(slots)
        ),
        values=values,
        accesses=accesses,
        regions=tuple(regions),
    )
    validate(program, "test program")
    return program


def _tables(
    buffers: Sequence[Buffer], times: Sequence[float]
) -> tuple[tuple[Value, ...], tuple[Access, ...]]:
    values, accesses = [], []
    for group, buffer in enumerate(buffers):
        defined = [-1] * buffer.is_input + [t for t, is_write, _ in buffer.events() if is_write]
        numbers = {time: len(values) + i for i, time in enumerate(defined)}
        for time in defined:
            is_out = buffer.is_live_out and time == defined[-1]
            values.append(
                Value(
                    f"g{group}@{time}",
                    f"u8[{buffer.size}]",
                    buffer.size,
                    time,
                    group,
                    is_out,
                    buffer.may_be_fast,
                )
            )
        for time, is_write, more in buffer.events():
            last = max(d for d in defined if (d <= time if is_write else d < time))
            total = times[time] * buffer.size
            access = Access(time, numbers[last], is_write, total, int(total), in_flight=more)
            accesses.append(access)
    accesses.sort(key=lambda a: (a.time, a.is_write))
    return tuple(values), tuple(accesses)


def with_slow_writes(program: Program, *times: int) -> Program:
    """The program whose writes at these times must be slow, and so save nothing."""
    accesses = (
        replace(a, saving_s=0.0, must_be_slow=True) if a.is_write and a.time in times else a
        for a in program.accesses
    )
    program = replace(program, accesses=tuple(accesses))
    validate(program, "test program")
    return program


def plan_of(
    program: Program,
    fast: str = "",
    stays: Sequence[tuple[int, int, int, int]] = (),
    copies: Sequence[tuple[int, str, int, int]] = (),
) -> Plan:
    """A plan; `fast` lists touches as `group@time`, copies are (group, "in"/"out", start, end)."""
    chosen = {tuple(int(part) for part in word.split("@")) for word in fast.split()}
    flags = [(program.values[a.value].group, a.time) in chosen for a in program.accesses]
    return Plan(
        content_hash(program),
        "test",
        tuple(flags),
        tuple(Stay(*stay) for stay in stays),
        tuple(Copy(group, way == "in", start, end) for group, way, start, end in copies),
    )
