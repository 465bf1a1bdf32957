"""Which group is placed first: XLA's memory boundedness.

Source: the spec of `GetMemoryBoundedness` and `MemoryBoundednessBufferIntervalComparator`.
"""

from __future__ import annotations

import math

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

    The benefit of an access is the time that its bytes take, with the weight of its loops. XLA's
    own cost model is a roofline, so bytes count and not the compiler's fitted savings; on captured
    programs this gives its order where the savings do not. XLA ranks instructions that are bound
    by compute lower; programs carry no count of operations, so that is left out.
    """
    benefits = [0.0] * len(program.groups)
    for access in program.accesses:
        level = program.instructions[access.time].level
        once_s = access.slow_bytes / program.multiplicity(level) / program.hardware.bandwidth
        benefits[program.values[access.value].group] += once_s * times.weights[level]
    return [
        benefit / math.sqrt(max(1, group.size_bytes))
        for benefit, group in zip(benefits, program.groups, strict=True)
    ]


def _tick_spans(program: Program) -> list[tuple[int, int]]:
    """First and last tick of each group.

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
    return [
        (min(ticks[0, v] for v in group.values), max(ticks[1, v] for v in group.values))
        for group in program.groups
    ]
