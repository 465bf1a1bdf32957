"""What the local search knows of a program, as arrays for compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.program.model import TOP_LEVEL, Program
from engine.solvers.local.compiled import compiled

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

OUTSIDE = -2
"""No region: the slot is not within the level that was asked about; or no branch."""


class Facts(NamedTuple):
    """The program; never written to.

    `floor_s` `[T]`: seconds that an instruction takes at least. `base_s`, `base_draw` `[T]`: its
    seconds, and bytes that it draws from slow memory, with every candidate in fast memory.
    `reserved` `[T]`: its scratch in granules. `slot_first` `[T + 1]` and `slot_touch` `[N]`: the
    touches of each slot. `may_be_kept` `[G]`: inputs that the run before may leave in place.
    `touch_first` `[G + 1]`: where the touches of a group begin; they are in time order.
    `either_start`, `either_end` `[R + 1]`: the conditional of which a region is a branch, OUTSIDE
    for others.
    `may_be_fast` `[N]`: false for a touch that must be served from slow memory. `over` `[N]`: the
    first slot before which a touch is over. `size` `[G]`: granules; an empty group counts as one.
    """

    num_slots: int
    capacity: int
    max_kept: int
    bandwidth: float
    base_s: Floats
    floor_s: Floats
    base_draw: Floats
    level: Ints
    reserved: Ints
    slot_first: Ints
    slot_touch: Ints
    region_start: Ints
    region_end: Ints
    region_parent: Ints
    either_start: Ints
    either_end: Ints
    multiplicity: Floats
    number: Ints
    size: Ints
    size_bytes: Floats
    born: Ints
    may_be_kept: Flags
    touch_first: Ints
    sink_first: Ints
    touch_index: Ints
    time: Ints
    over: Ints
    group: Ints
    reads: Flags
    writes: Flags
    saving_s: Floats
    slow_bytes: Floats
    may_be_fast: Flags
    sink_time: Ints
    sink_region: Ints


def encode(program: Program) -> Facts:
    """The facts of a program."""
    chosen = _candidates(program)
    touches = [i for g in chosen for i in program.touches_of_group[g]]
    slots = _slots(program, touches)
    columns = slots | _regions(program) | _groups(program, chosen) | _touches(program, touches)
    hardware = program.hardware
    return Facts(
        num_slots=program.num_slots,
        capacity=hardware.fast_bytes // hardware.alignment,
        max_kept=hardware.max_cross_program_prefetches,
        bandwidth=float(hardware.bandwidth),
        group=np.repeat(np.arange(len(chosen)), np.diff(columns["touch_first"])),
        **columns,
    )


def _candidates(program: Program) -> list[int]:
    return [
        number
        for number, group in enumerate(program.groups)
        if group.may_be_fast
        and any(
            program.touches[i].saving_s > 0 or program.touches[i].slow_bytes > 0
            for i in program.touches_of_group[number]
        )
    ]


def _slots(program: Program, touches: list[int]) -> dict[str, Any]:
    num_slots, granule = program.num_slots, program.hardware.alignment
    base_s = np.array([i.fast_s for i in program.instructions], dtype=np.float64)
    base_draw = np.zeros(num_slots)
    members: list[list[int]] = [[] for _ in range(num_slots)]
    for position, index in enumerate(touches):
        members[program.touches[index].time].append(position)
    others = set(range(len(program.touches))).difference(touches)
    for index in sorted(others):
        touch = program.touches[index]
        base_s[touch.time] += touch.saving_s
        base_draw[touch.time] += touch.slow_bytes
    return {
        "base_s": base_s,
        "floor_s": np.array([i.floor_s for i in program.instructions], dtype=np.float64),
        "base_draw": base_draw,
        "level": np.array([*(i.level for i in program.instructions), TOP_LEVEL], dtype=np.int64),
        "reserved": np.array(
            [-(-i.reserved_bytes // granule) for i in program.instructions], np.int64
        ),
        "slot_first": np.cumsum([0, *map(len, members)], dtype=np.int64),
        "slot_touch": np.array([i for some in members for i in some], dtype=np.int64),
    }


def _regions(program: Program) -> dict[str, Any]:
    regions = program.regions
    either = np.full((2, len(regions) + 1), OUTSIDE, dtype=np.int64)
    for conditional in program.conditionals:
        if regions[conditional.branches[0]].kind == "branch":
            either[:, conditional.branches] = [[conditional.start], [conditional.end]]
    return {
        "either_start": either[0],
        "either_end": either[1],
        "region_start": np.array([*(r.start for r in regions), 0], dtype=np.int64),
        "region_end": np.array([*(r.end for r in regions), program.num_slots], dtype=np.int64),
        "region_parent": np.array([*(r.parent for r in regions), TOP_LEVEL], dtype=np.int64),
        "multiplicity": np.array([*(r.multiplicity for r in regions), 1.0], dtype=np.float64),
    }


def _groups(program: Program, chosen: list[int]) -> dict[str, Any]:
    groups = [program.groups[g] for g in chosen]
    sinks: list[list[tuple[int, int]]] = [[] for _ in program.groups]
    for sink in program.sinks:
        sinks[sink.group].append((sink.time, sink.region))
    born = [min(program.values[v].defined for v in group.values) for group in groups]
    granule = program.hardware.alignment
    counts = [len(program.touches_of_group[g]) for g in chosen]
    listed = [sink for g in chosen for sink in sinks[g]]
    return {
        "number": np.array(chosen, dtype=np.int64),
        "size": np.array([max(1, -(-g.size_bytes // granule)) for g in groups], dtype=np.int64),
        "size_bytes": np.array([group.size_bytes for group in groups], dtype=np.float64),
        "born": np.array(born, dtype=np.int64),
        "may_be_kept": np.array([g.is_input and not g.is_written for g in groups], dtype=np.bool_),
        "touch_first": np.cumsum([0, *counts], dtype=np.int64),
        "sink_first": np.cumsum([0, *(len(sinks[g]) for g in chosen)], dtype=np.int64),
        "sink_time": np.array([time for time, _ in listed], dtype=np.int64),
        "sink_region": np.array([region for _, region in listed], dtype=np.int64),
    }


def _touches(program: Program, indices: list[int]) -> dict[str, Any]:
    touches = [program.touches[i] for i in indices]
    return {
        "touch_index": np.array(indices, dtype=np.int64),
        "time": np.array([t.time for t in touches], dtype=np.int64),
        "over": np.array([t.end for t in touches], dtype=np.int64),
        "reads": np.array([t.reads for t in touches], dtype=np.bool_),
        "writes": np.array([t.writes for t in touches], dtype=np.bool_),
        "saving_s": np.array([t.saving_s for t in touches], dtype=np.float64),
        "slow_bytes": np.array([t.slow_bytes for t in touches], dtype=np.float64),
        "may_be_fast": np.array([not t.must_be_slow for t in touches], dtype=np.bool_),
    }


@compiled
def child_at(facts: Facts, home: int, time: int) -> int:
    """The child of `home` that holds `time`; TOP_LEVEL where `home` itself does, or OUTSIDE."""
    level, child = facts.level[time], TOP_LEVEL
    while level != home:
        if level == TOP_LEVEL:
            return OUTSIDE
        child = level
        level = facts.region_parent[level]
    return child


@compiled
def enter(facts: Facts, home: int, time: int) -> int:
    """Where what slot `time` needs must be there: `time`, or the start of the child around it."""
    child = child_at(facts, home, time)
    return facts.region_start[child] if child >= 0 else time


@compiled
def enter_loops(facts: Facts, home: int, time: int) -> int:
    """The same of what slot `time` makes: a place for it may begin within a branch."""
    level, start = facts.level[time], time
    while level != home:
        if level == TOP_LEVEL:
            return time
        if facts.either_start[level] == OUTSIDE:
            start = facts.region_start[level]
        level = facts.region_parent[level]
    return start


@compiled
def leave(facts: Facts, home: int, time: int) -> int:
    """The first slot after `time` and the child around it."""
    child = child_at(facts, home, time)
    return facts.region_end[child] if child >= 0 else time + 1


@compiled
def free_from(facts: Facts, home: int, first: int, last: int) -> int:
    """The first slot after the touches `first … last` of a group, and the child around them."""
    over = 0
    for touch in range(first, last + 1):
        over = max(over, facts.over[touch])
    return int(leave(facts, home, over - 1))


@compiled
def serves_all_ways(facts: Facts, home: int, first: int, last: int, wrote: int) -> bool:
    """Whether a stay that serves `first … last` holds what `wrote` makes, whichever branches run.

    So it is if, of each conditional inside `home` that holds `wrote`, it serves the last touch of
    the group, and the first one or what is before the conditional.
    """
    level, time = facts.level[facts.time[wrote]], facts.time
    group = facts.group[first]
    while level not in (home, TOP_LEVEL):
        if facts.either_start[level] != OUTSIDE:
            if last + 1 < facts.touch_first[group + 1] and time[last + 1] < facts.either_end[level]:
                return False
            if (
                first > facts.touch_first[group]
                and time[first] >= facts.either_start[level]
                and time[first - 1] >= facts.either_start[level]
            ):
                return False
        level = facts.region_parent[level]
    return True


@compiled
def holds(facts: Facts, home: int, time: int) -> bool:
    """Whether slot `time` lies within the level."""
    return facts.region_start[home] <= time < facts.region_end[home]


@compiled
def is_around(facts: Facts, outer: int, level: int) -> bool:
    """Whether `outer` is `level` or a region around it."""
    while level != outer:
        if level == TOP_LEVEL:
            return False
        level = facts.region_parent[level]
    return True


@compiled
def common_level(facts: Facts, first: int, last: int) -> int:
    """The innermost level that holds both slots."""
    level = facts.level[first]
    while level != TOP_LEVEL and not holds(facts, level, last):
        level = facts.region_parent[level]
    return level


@compiled
def interval_level(facts: Facts, start: int, end: int) -> int:
    """The level of slot `start`, leaving regions that begin there and end before `end`."""
    level = facts.level[start] if start >= 0 else TOP_LEVEL
    while level != TOP_LEVEL:
        if facts.region_start[level] < start or end <= facts.region_end[level]:
            break
        level = facts.region_parent[level]
    return level


@compiled
def write_back_level(facts: Facts, start: int, end: int, stay_start: int) -> int:
    """The level at which a write-back of the stay from `stay_start` runs (`docs/model.md`)."""
    if start < end:
        return interval_level(facts, start, end)
    home = facts.level[stay_start] if stay_start >= 0 else TOP_LEVEL
    if home != TOP_LEVEL and facts.region_end[home] == start:
        return home
    return common_level(facts, start, start - 1) if start > 0 else facts.level[start]


@compiled
def is_border(facts: Facts, home: int, time: int) -> bool:
    """Whether `time` lies between two steps of the level: no child is cut in two."""
    if time == facts.region_end[home]:
        return True
    child = child_at(facts, home, time)
    return child == TOP_LEVEL or (child >= 0 and facts.region_start[child] == time)


STEPS = (1750, 701, 301, 132, 57, 23, 10, 4, 1)
"""Ciura, "Best increments for the average case of Shellsort", FCT 2001."""


@compiled
def sort(keys: Ints, num: int) -> None:
    """Sort the first `num` keys upwards (Shell's method: they are few, and often nearly sorted)."""
    for step in STEPS:
        for index in range(step, num):
            key, at = keys[index], index
            while at >= step and keys[at - step] > key:
                keys[at] = keys[at - step]
                at -= step
            keys[at] = key
