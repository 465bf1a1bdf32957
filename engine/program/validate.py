"""What must hold of a program so that plans of it can be judged."""

from __future__ import annotations

import math
from collections.abc import Iterator

from engine.errors import ProgramFormatError
from engine.program.model import TOP_LEVEL, Program, Touch

ROUNDING = 1e-9
"""Room for rounding in sums of times, as a share of what is added."""
MAX_BYTES = 2**53
"""Most bytes of one access over a whole run: what a file's numbers can say exactly."""
MAX_TIMES = 1e15
"""No instruction runs more often than this, nor more rarely than one in so many runs."""
MOST_S = 1e200
"""No run takes longer than this, nor less than one in so many seconds, but for none at all."""
LEAST_BANDWIDTH = 1e-15
"""Bytes per second: what moves fewer would take longer than any run."""
MOST_COSTS = 0.5
"""Most that all negative savings may come to, as a share of the all-slow latency: the mallocGame
counts seconds in integers (`engine.game.quantise`)."""


def validate(program: Program, where: str) -> None:
    """Raise ProgramFormatError unless indices, times, sizes and regions make sense."""
    problem = _first_problem(program)
    if problem:
        raise ProgramFormatError(f"{where}: {problem}")


def _first_problem(program: Program) -> str:
    hardware = program.hardware
    if not (0 < hardware.alignment <= 2**24 and 0 < hardware.fast_bytes <= 2**40):
        return "hardware has an impossible alignment or fast_bytes"
    if not (LEAST_BANDWIDTH < hardware.bandwidth < math.inf and 0 < hardware.clock_hz < math.inf):
        return "hardware has no bandwidth or clock"
    if not 0 <= hardware.max_cross_program_prefetches <= 1000:
        return "hardware has an impossible max_cross_program_prefetches"
    return (
        _region_problem(program)
        or _instruction_problem(program)
        or _value_problem(program)
        or _access_problem(program)
        or next((message for _, message in flight_problems(program)), "")
        or _time_problem(program)
    )


def _region_problem(program: Program) -> str:
    innermost = [TOP_LEVEL] * program.num_slots
    for index, region in enumerate(program.regions):
        if not (0 <= region.start < region.end <= program.num_slots):
            return f"region {index} has an impossible interval"
        if not (1 / MAX_TIMES < region.multiplicity < MAX_TIMES and -1 <= region.parent < index):
            return f"region {index} has an impossible multiplicity or parent"
        held = set(innermost[region.start : region.end])
        if len(held) > 1:
            return f"region {index} overlaps another"
        if held != {region.parent}:
            return f"region {index} names a parent that is not the innermost region around it"
        innermost[region.start : region.end] = [index] * (region.end - region.start)
    for time, instruction in enumerate(program.instructions):
        if instruction.level != innermost[time]:
            return f"instruction {time} names a level that is not its innermost region"
    return ""


def _instruction_problem(program: Program) -> str:
    for time, instruction in enumerate(program.instructions):
        numbers = (instruction.fast_s, instruction.reserved_bytes, instruction.scratch_bytes)
        if min(*numbers, instruction.flops, instruction.floor_s, instruction.priced_s) < 0:
            return f"instruction {time} has a negative time, scratch or count of operations"
        if not math.isfinite(instruction.floor_s + instruction.flops):
            return f"instruction {time} has no finite floor or count of operations"
        if instruction.priced_s > instruction.fast_s * (1 + ROUNDING):
            return f"instruction {time} has a price above its time with all accesses fast"
        reserved, used = instruction.reserved_bytes, instruction.scratch_bytes
        if program.hardware.holds_scratch and reserved < used:
            return f"instruction {time} reserves {reserved} bytes of the {used} that it uses"
    return ""


def _value_problem(program: Program) -> str:
    groups = {v.group for v in program.values}
    if groups != set(range(len(groups))):
        return "alias groups are not numbered 0, 1, …"
    for index, value in enumerate(program.values):
        if not 0 <= value.size_bytes <= 2**50 or not -1 <= value.defined < program.num_slots:
            return f"value {index} has an impossible size or defining time"
    return ""


def _access_problem(program: Program) -> str:
    last = (-1, False)
    unwritten = {i for i, value in enumerate(program.values) if not value.is_input}
    for index, access in enumerate(program.accesses):
        if not 0 <= access.value < len(program.values):
            return f"access {index} names an unknown value"
        value = program.values[access.value]
        if not max(0, value.defined) <= access.time < program.num_slots:
            return f"access {index} is before its value's definition or past the end"
        if access.is_write and access.time != value.defined:
            return f"access {index} writes a value that another instruction defines"
        if min(access.slow_bytes, access.uncertainty_s, access.in_flight) < 0:
            return f"access {index} has a negative uncertainty, size or number of slots in flight"
        if not math.isfinite(access.uncertainty_s):
            return f"access {index} has no finite uncertainty"
        if access.slow_bytes > MAX_BYTES:
            return f"access {index} moves {access.slow_bytes} bytes in one run, which is absurd"
        if access.saving_s < 0 and not access.is_write:
            return f"access {index} is a read with a negative saving"
        if access.must_be_slow and access.saving_s != 0:
            return f"access {index} must be slow, but has a saving"
        if (access.time, access.is_write) < last:
            return f"access {index} is out of order"
        last = (access.time, access.is_write)
        if access.is_write:
            unwritten.discard(access.value)
    return f"value {min(unwritten)} is no input, and no access writes it" if unwritten else ""


def flight_problems(program: Program) -> Iterator[tuple[int, str]]:
    """The groups whose accesses in flight end at another level or meet others; and how they do."""
    last: dict[int, Touch] = {}
    for touch in program.touches:
        level = program.level_at(touch.time)
        if touch.is_in_flight and not program.ends_at_level(touch.time, touch.end, level):
            yield touch.group, f"an access in flight at slot {touch.time} ends at another level"
        before = last.get(touch.group)
        if before is not None and touch.time < before.end and (before.writes or touch.writes):
            message = f"group {touch.group} is accessed at slot {touch.time} while it is written"
            yield touch.group, message
        if before is None or touch.end > before.end:
            last[touch.group] = touch


def _time_problem(program: Program) -> str:
    slow_s = [instruction.fast_s for instruction in program.instructions]
    total_s = sum(slow_s) + sum(abs(access.saving_s) for access in program.accesses)
    if total_s and not 1 / MOST_S < total_s < MOST_S:
        return f"its times come to {total_s:g} seconds in one run, which is absurd"
    costs_s = sum(slow_s) - sum(program.fastest_s)
    room_s = [ROUNDING * seconds for seconds in slow_s]
    for access in program.accesses:
        slow_s[access.time] += access.saving_s
        room_s[access.time] += ROUNDING * abs(access.saving_s)
    for time, instruction in enumerate(program.instructions):
        if instruction.floor_s > slow_s[time] + room_s[time]:
            return f"instruction {time} has a floor above its time with all accesses slow"
        if program.fastest_s[time] < -room_s[time]:
            return f"instruction {time} takes less than no time without what its writes cost"
    if costs_s > MOST_COSTS * sum(slow_s) + sum(room_s):
        return "writes into fast memory cost more than half of what the program takes without it"
    return ""
