"""Which group is placed first: XLA's memory boundedness.

Source: the spec of `GetMemoryBoundedness` and `MemoryBoundednessBufferIntervalComparator`.
"""

from __future__ import annotations

import math

from engine.program.model import Program
from engine.solvers.msa_intervals import ElapsedTimes
from engine.solvers.msa_options import MsaOptions

MIN_MEMORY_SHARE = 0.02
"""An instruction counts as bound by memory if fast memory could save this share of its time."""


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
    benefits: list[list[float]] = [[] for _ in program.groups]
    for access, benefit in zip(program.accesses, _benefits(program, times), strict=True):
        benefits[program.values[access.value].group].append(benefit)
    return [
        _combined(items) / math.sqrt(max(1, group.size_bytes))
        for items, group in zip(benefits, program.groups, strict=True)
    ]


def _combined(benefits: list[float]) -> float:
    positive = [b for b in benefits if b > 0]
    return sum(positive) if positive else max(benefits, default=0.0)


def _benefits(program: Program, times: ElapsedTimes) -> list[float]:
    """Benefit of each access: the time its bytes take, if its instruction is bound by memory.

    XLA's own cost model is a roofline, so bytes count and not the compiler's fitted savings: on
    captured programs this gives XLA's order where the savings do not. Whether an instruction is
    bound by memory is read off the savings, since programs carry no count of operations.
    """
    saved = [0.0] * program.num_slots
    drawn = [0] * program.num_slots
    for access in program.accesses:
        saved[access.time] += access.saving_s
        drawn[access.time] += access.slow_bytes
    benefits = []
    for access in program.accesses:
        instruction = program.instructions[access.time]
        runs, bandwidth = program.multiplicity(instruction.level), program.hardware.bandwidth
        total_s = instruction.fast_s + saved[access.time]
        if saved[access.time] > MIN_MEMORY_SHARE * total_s:
            weight = times.weights[instruction.level]
            benefits.append(access.slow_bytes / runs / bandwidth * weight)
        else:
            benefits.append(min(0.0, (drawn[access.time] / bandwidth - total_s) / runs))
    return benefits


def _tick_spans(program: Program) -> list[tuple[int, int]]:
    """First and last tick of each group's longest value.

    XLA counts a tick at every allocation and, after those of the same slot, at every release. A
    program input that is never written lives to the end of the program.
    """
    ends = [v.defined for v in program.values]
    for access in program.accesses:
        ends[access.value] = max(ends[access.value], access.time)
    for index, value in enumerate(program.values):
        group = program.groups[value.group]
        if value.is_live_out or (group.is_input and not group.is_written):
            ends[index] = program.num_slots
    values = range(len(program.values))
    events = [(program.values[v].defined, 0, v) for v in values]
    events += [(ends[v], 1, v) for v in values]
    ticks = {(kind, v): tick for tick, (_, kind, v) in enumerate(sorted(events))}
    spans = [(0, 0)] * len(program.groups)
    for index, value in enumerate(program.values):
        span = (ticks[0, index], ticks[1, index])
        spans[value.group] = max(spans[value.group], span, key=lambda s: (s[1] - s[0], -s[0]))
    return spans
