"""Which group is placed first: XLA's memory boundedness.

Source: the spec of `GetMemoryBoundedness` and `MemoryBoundednessBufferIntervalComparator`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.hardware.presets import DEVICES
from engine.program.model import Program
from engine.solvers.xla_msa.slots import ElapsedTimes, MsaOptions


def placement_order(program: Program, times: ElapsedTimes, options: MsaOptions) -> list[int]:
    """The groups that may be fast, in the order of placement."""
    score = memory_boundedness(program, times)
    spans = _tick_spans(program)
    touches = program.touches_of_group
    candidates = [
        g
        for g, group in enumerate(program.groups)
        if group.may_be_fast and group.size_bytes and touches[g]
    ]

    def key(group: int) -> tuple[float, ...]:
        start, end = spans[group]
        return (
            options.priorities.get(group, 0),
            -score[group],
            -program.groups[group].size_bytes,
            start - end,
            program.touches[touches[group][-1]].time,
            start,
            group,
        )

    return sorted(candidates, key=key)


def memory_boundedness(program: Program, times: ElapsedTimes) -> list[float]:
    """Per group: the benefits of its accesses over the square root of its size.

    The benefit of an access of an instruction that is bound by memory is the time that its bytes
    take, with the weight of its loops; of one that is bound by compute, the memory's time less the
    compute time, which counts only for groups without any other. XLA's own cost model is a
    roofline, so bytes count and not the compiler's fitted savings; on captured programs this gives
    its order where the savings do not.
    """
    spare = _spare_compute_s(program)
    benefits: list[list[float]] = [[] for _ in program.groups]
    for access in program.accesses:
        level = program.instructions[access.time].level
        once_s = access.slow_bytes / program.multiplicity(level) / program.hardware.bandwidth
        benefits[program.values[access.value].group].append(
            once_s * times.weights[level] if spare[access.time] <= 0 else -spare[access.time]
        )
    return [
        _together(of_group) / math.sqrt(max(1, group.size_bytes))
        for of_group, group in zip(benefits, program.groups, strict=True)
    ]


def _together(benefits: Sequence[float]) -> float:
    """The sum of positive benefits, or the largest if there are none."""
    positive = [b for b in benefits if b > 0]
    return sum(positive) if positive else max(benefits, default=0.0)


def _spare_compute_s(program: Program) -> list[float]:
    """Per instruction, how much longer it computes than it moves bytes, once; negative if less.

    Nothing computes where operations are not counted, or the device is none of ours.
    """
    device = DEVICES.get(program.hardware.name)
    peak = device.peak_flops if device else math.inf
    moved_s = [0.0] * program.num_slots
    for access in program.accesses:
        moved_s[access.time] += access.slow_bytes / program.hardware.bandwidth
    return [
        (instruction.flops / peak - memory_s) / program.multiplicity(instruction.level)
        for instruction, memory_s in zip(program.instructions, moved_s, strict=True)
    ]


def _tick_spans(program: Program) -> list[tuple[int, int]]:
    """First and last tick of each group.

    XLA counts a tick at every allocation and, after those of the same slot, at every release. A
    program input that is never written lives to the end of the program.
    """
    ends = [v.defined for v in program.values]
    for access in program.accesses:
        ends[access.value] = max(ends[access.value], access.end - 1)
    for index, value in enumerate(program.values):
        group = program.groups[value.group]
        if value.is_live_out or (group.is_input and not group.is_written):
            ends[index] = program.num_slots
    values = range(len(program.values))
    events = [(program.values[v].defined, 0, v) for v in values]
    events += [(ends[v], 1, v) for v in values]
    ticks = {(kind, v): tick for tick, (_, kind, v) in enumerate(sorted(events))}
    return [
        (min(ticks[0, v] for v in group.values), max(ticks[1, v] for v in group.values))
        for group in program.groups
    ]
