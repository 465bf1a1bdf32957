"""A solver in a package of its own: what saves most per byte is fast for all of its life."""

from __future__ import annotations

import time
from dataclasses import replace

import mallocmuzero
from mallocmuzero import Budget, Plan, Program, Stay


def solve(program: Program, budget: Budget) -> Plan:
    """Everything slow, and then one group after another whole in fast memory, where that is valid.

    The checker says what is valid, and the simulator what pays, so no rule is written down here.
    """
    end_s = time.monotonic() + budget.seconds
    plan = mallocmuzero.solve(program, "all_slow")
    latency_s = mallocmuzero.simulate(program, plan).latency_s
    groups = sorted(range(len(program.groups)), key=lambda group: -_worth(program, group))
    for number, group in enumerate(groups):
        go_on = budget.progress(number / len(groups), f"{latency_s * 1e6:.0f} us")
        if not go_on or time.monotonic() >= end_s or _worth(program, group) <= 0:
            break
        tried = _with(program, plan, group)
        if tried is not None and mallocmuzero.check(program, tried):
            tried_s = mallocmuzero.simulate(program, tried).latency_s
            if tried_s < latency_s:
                plan, latency_s = tried, tried_s
    return plan


def _worth(program: Program, group: int) -> float:
    """Seconds that the group saves in fast memory, per byte."""
    saving_s = sum(program.touches[t].saving_s for t in program.touches_of_group[group])
    return saving_s / max(1, program.groups[group].size_bytes)


def _with(program: Program, plan: Plan, group: int) -> Plan | None:
    """The plan with a stay of the group from its first touch to its last; None without a place."""
    touches = [program.touches[t] for t in program.touches_of_group[group]]
    start, end = touches[0].time, touches[-1].time + 1
    offset = _lowest_place(program, plan, program.groups[group].size_bytes, start, end)
    if offset is None:
        return None
    served = {access for touch in touches for access in touch.accesses}
    is_fast = tuple(flag or access in served for access, flag in enumerate(plan.is_fast))
    return replace(plan, is_fast=is_fast, stays=(*plan.stays, Stay(group, offset, start, end)))


def _lowest_place(program: Program, plan: Plan, size: int, start: int, end: int) -> int | None:
    """The lowest offset that is free in the slots `[start, end)`, above their scratch."""
    taken = [(0, max(program.instructions[slot].reserved_bytes for slot in range(start, end)))]
    for stay in plan.stays:
        if stay.start < end and start < stay.end:
            taken.append((stay.offset, stay.offset + program.groups[stay.group].size_bytes))
    offset = 0
    for low, high in sorted(taken):
        if offset + size <= low:
            break
        offset = max(offset, -(-high // program.hardware.alignment) * program.hardware.alignment)
    return offset if offset + size <= program.hardware.fast_bytes else None
