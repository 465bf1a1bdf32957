"""Which group is placed first: XLA's memory boundedness.

Source: the spec of `GetMemoryBoundedness` and `MemoryBoundednessBufferIntervalComparator`.
"""

from __future__ import annotations

import math
from itertools import accumulate

from engine.program.model import Program
from engine.solvers.msa_intervals import ElapsedTimes
from engine.solvers.msa_options import MsaOptions


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

    The sum of the positive benefits if there are any, else the largest (least negative) one.
    """
    drawn = [0.0] * program.num_slots
    for access in program.accesses:
        drawn[access.time] += access.slow_bytes
    benefits: list[list[float]] = [[] for _ in program.groups]
    for access in program.accesses:
        level = program.instructions[access.time].level
        multiplicity = program.multiplicity(level)
        if access.saving_s > 0:
            benefit = access.saving_s / multiplicity * times.weights[level]
        else:
            memory_s = drawn[access.time] / multiplicity / program.hardware.bandwidth
            benefit = min(0.0, memory_s - times.once[access.time])
        benefits[program.values[access.value].group].append(benefit)
    return [
        _combined(items) / math.sqrt(max(1, group.size_bytes))
        for items, group in zip(benefits, program.groups, strict=True)
    ]


def _combined(benefits: list[float]) -> float:
    positive = [b for b in benefits if b > 0]
    return sum(positive) if positive else max(benefits, default=0.0)


def _tick_spans(program: Program) -> list[tuple[int, int]]:
    """First and last tick of each group's longest value.

    XLA counts a tick at every allocation and at every release. A program input that is never
    written lives to the end of the program.
    """
    ends = [v.defined for v in program.values]
    for access in program.accesses:
        ends[access.value] = max(ends[access.value], access.time)
    for index, value in enumerate(program.values):
        group = program.groups[value.group]
        if value.is_live_out or (group.is_input and not group.is_written):
            ends[index] = program.num_slots
    events = [0] * (program.num_slots + 2)
    for value, end in zip(program.values, ends, strict=True):
        events[value.defined + 1] += 1
        events[end + 1] += 1
    ticks = list(accumulate(events))
    spans = [(0, 0)] * len(program.groups)
    for value, end in zip(program.values, ends, strict=True):
        span = (ticks[value.defined + 1], ticks[end + 1])
        longest = spans[value.group]
        spans[value.group] = max(longest, span, key=lambda s: (s[1] - s[0], -s[0]))
    return spans
