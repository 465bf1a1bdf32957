"""Cross-program prefetch: inputs that the previous run of the program leaves in fast memory.

Source: the spec of XLA's cross-program prefetch candidates and their freeing.
"""

from __future__ import annotations

import re

from engine.plan.model import BEFORE_START, Copy
from engine.program.model import INPUT_TIME, TOP_LEVEL, Program
from engine.solvers.xla_msa.bookings import Bookings, Run
from engine.solvers.xla_msa.heap import Block


def candidates(program: Program) -> list[int]:
    """Read-only inputs, in XLA's order: largest first, then those with the largest users' results.

    Inputs that look like activations are left out.
    """
    written = [0] * program.num_slots
    for access in program.accesses:
        if access.is_write:
            written[access.time] += program.values[access.value].size_bytes

    def key(group: int) -> tuple[int, ...]:
        times = [program.touches[k].time for k in program.touches_of_group[group]]
        results = sum(written[t] for t in times)
        return -program.groups[group].size_bytes, -results, times[-1], group

    fit = [
        g
        for g, group in enumerate(program.groups)
        if group.is_input
        and group.may_be_fast
        and not (group.is_written or group.is_live_out)
        and program.touches_of_group[g]
        and not any(program.touches[k].must_be_slow for k in program.touches_of_group[g])
        and group.size_bytes
        and not _looks_like_activation(program, g)
    ]
    return sorted(fit, key=key)


def _looks_like_activation(program: Program, group: int) -> bool:
    """Whether a loop or branch uses the input, or its first dimension is the batch.

    XLA looks for the data side of dots and convolutions, also inside fused computations, and takes
    every operand of a loop for one. A program does not hold the fused computations, but its
    provenance may state the batch.
    """
    times = [program.touches[k].time for k in program.touches_of_group[group]]
    if any(program.level_at(t) != TOP_LEVEL for t in times):
        return True
    batch = program.provenance.get("batch")
    first = program.values[program.groups[group].values[0]]
    match = re.search(r"\[(\d+)[],]", first.shape)
    return match is not None and batch not in (None, 1) and int(match[1]) == batch


def place_cross_program(bookings: Bookings) -> list[Run]:
    """Book the cross-program prefetches; the stays, with those that bring a freed one back."""
    program = bookings.program
    runs: list[Run] = []
    for group in candidates(program)[: program.hardware.max_cross_program_prefetches]:
        size = program.groups[group].size_bytes
        offset = bookings.heap.place(size, (BEFORE_START, program.num_slots))
        if offset is None:
            continue
        runs.extend(_place(bookings, group, offset))
    return runs


def _place(bookings: Bookings, group: int, offset: int) -> list[Run]:
    program, heap = bookings.program, bookings.heap
    size, end = program.groups[group].size_bytes, program.num_slots
    touches = list(program.touches_of_group[group])
    used_until = program.touches[touches[-1]].time + 1
    start = _return_start(bookings, group, used_until)
    if start is None:
        number = heap.add(Block(BEFORE_START, end, offset, size))
        return [Run(group, number, touches=touches)]
    number = heap.add(Block(BEFORE_START, used_until, offset, size))
    back = heap.add(Block(start + 1, end, offset, size))
    heap.followers[number] = back
    bookings.prefetches.book(start, end, 0.0)
    return [
        Run(group, number, touches=touches),
        Run(group, back, prefetch=Copy(group, True, start + 1, end)),
    ]


def _return_start(bookings: Bookings, group: int, used_until: int) -> int | None:
    """Exclusive start of the copy that brings a freed input back; None if it should stay."""
    program, options, times = bookings.program, bookings.options, bookings.times
    end = program.num_slots
    wanted = sum(g.size_bytes for g in program.groups if g.may_be_fast)
    if not options.frees_cross_program_prefetch or wanted <= program.hardware.fast_bytes:
        return None
    copy_s = program.groups[group].size_bytes / program.hardware.bandwidth
    starts = bookings.picker.starts(used_until - 1, end, TOP_LEVEL, copy_s, 0.0)
    if not starts:
        return None
    start = starts[bookings.picker.preferred(starts, end, TOP_LEVEL, copy_s)]
    total = times.between(INPUT_TIME, end, TOP_LEVEL)
    occupied = times.between(INPUT_TIME, used_until, TOP_LEVEL)
    occupied += times.between(start, end, TOP_LEVEL)
    is_worth = total > 0 and occupied / total < options.max_occupied_ratio
    return start if is_worth and start >= used_until else None
