"""The fullest slot of a plan: which groups are there, and the cheapest way to make room.

A way to make room is a set of touches that are served from slow memory instead (`Drop` in the
game). Which set is cheapest is estimated from the savings it gives up; what it really costs is
measured: the game is played again with these moves changed, and the resulting plan is timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.errors import SolverError
from engine.game.replay import replay
from engine.plan.model import Plan, Stay
from engine.plan.simulate import simulate
from engine.program.floors import loss_s
from engine.program.model import Program
from engine.program.provenance import more_s


@dataclass(frozen=True, slots=True)
class Resident:
    """A group that holds a place at a slot. `stay`: index into the plan's stays.

    `next_use`: slot of its next touch in this stay, at this slot or later; None: it only holds the
    place. `saving_s`: what is lost if that touch is served from slow memory, and `uncounted_s` more
    at most, where no compile has shown it; `stay_saving_s`: if all touches of the stay are.
    """

    stay: int
    group: int
    offset: int
    size_bytes: int
    start: int
    end: int
    next_use: int | None
    saving_s: float
    stay_saving_s: float
    uncounted_s: float


@dataclass(frozen=True)
class Relief:
    """What dropping `dropped` around slot `slot` does, measured by playing the game again.

    `used_before`, `used_after`: bytes taken at the slot, scratch included. `hole_before`,
    `hole_after`: the largest gap. `before_s`, `after_s`: simulated latencies of the game without
    and with the change; `plan` is the plan with it.
    """

    slot: int
    wanted_bytes: int
    dropped: tuple[Resident, ...]
    used_before: int
    used_after: int
    hole_before: int
    hole_after: int
    before_s: float
    after_s: float
    plan: Plan

    @property
    def freed_bytes(self) -> int:
        """Bytes that the change frees at the slot."""
        return self.used_before - self.used_after

    @property
    def is_enough(self) -> bool:
        """Whether the replay confirms that the wanted bytes become free."""
        return self.freed_bytes >= self.wanted_bytes


def used_bytes(program: Program, stays: Sequence[Stay]) -> NDArray[np.int64]:
    """`[T]` bytes of fast memory that stays and scratch take in each slot."""
    change = np.zeros(program.num_slots + 1, dtype=np.int64)
    for stay in stays:
        change[max(0, stay.start)] += program.groups[stay.group].size_bytes
        change[stay.end] -= program.groups[stay.group].size_bytes
    scratch = np.array([i.reserved_bytes for i in program.instructions], dtype=np.int64)
    return np.cumsum(change)[:-1] + scratch


def fullest_slot(program: Program, plan: Plan) -> int:
    """The slot in which most bytes are taken; 0 for an empty program."""
    used = used_bytes(program, plan.stays)
    return int(used.argmax()) if len(used) else 0


def residents(program: Program, plan: Plan, slot: int) -> list[Resident]:
    """The groups that are in fast memory during a slot, by address."""
    occupants = [
        _resident(program, plan, index, slot)
        for index, stay in enumerate(plan.stays)
        if stay.start <= slot < stay.end
    ]
    return sorted(occupants, key=lambda r: r.offset)


def largest_hole(program: Program, plan: Plan, slot: int) -> int:
    """Bytes of the largest gap between stays, scratch and the end of the memory in a slot."""
    top, largest = program.instructions[slot].reserved_bytes, 0
    for resident in residents(program, plan, slot):
        largest = max(largest, resident.offset - top)
        top = max(top, resident.offset + resident.size_bytes)
    return max(largest, program.hardware.fast_bytes - top)


def cheapest(costs: Sequence[float], sizes: Sequence[int], wanted: int) -> tuple[int, ...] | None:
    """Indices of the set with the smallest total cost whose sizes add up to `wanted` or more.

    Exact (minimum knapsack cover): keeps, for growing sets, those that no other set undercuts in
    cost at the same size or more. None if all together are too small.
    """
    front: list[tuple[float, int, tuple[int, ...]]] = [(0.0, 0, ())]
    for index, (cost, size) in enumerate(zip(costs, sizes, strict=True)):
        grown = [
            (c + cost, min(wanted, s + size), (*chosen, index)) for c, s, chosen in front if size
        ]
        front = _undominated([*front, *grown])
    return front[-1][2] if front[-1][1] >= wanted else None


def relieve(program: Program, plan: Plan, slot: int, wanted: int) -> Relief:
    """The cheapest change found that frees `wanted` bytes at `slot`, verified by replay.

    First only the next touch of each chosen group is dropped, then all touches of its stay, if the
    rules do not let it leave earlier. Raises SolverError if even dropping everything is too little.
    """
    before = replay(program, plan).plan(plan.solver)
    here = [r for r in residents(program, before, slot) if r.next_use is not None]
    chosen = cheapest([r.saving_s for r in here], [r.size_bytes for r in here], wanted)
    if chosen is None:
        possible = sum(r.size_bytes for r in here)
        raise SolverError(
            f"{program.name}: at most {possible} bytes can be freed in slot {slot},"
            f" {wanted} are asked for"
        )
    dropped = [here[i] for i in chosen]
    relief = _try(program, before, slot, wanted, dropped, is_whole=False)
    if not relief.is_enough:
        chosen = cheapest([r.stay_saving_s for r in here], [r.size_bytes for r in here], wanted)
        dropped = [here[i] for i in chosen or ()]
        relief = _try(program, before, slot, wanted, dropped, is_whole=True)
    return relief


def _resident(program: Program, plan: Plan, index: int, slot: int) -> Resident:
    stay = plan.stays[index]
    touches = [
        program.touches[i]
        for i in program.touches_of_group[stay.group]
        if stay.start <= program.touches[i].time < stay.end
        and plan.is_fast[program.touches[i].accesses[0]]
    ]
    coming = [t for t in touches if t.time >= slot]
    whole_s = sum(loss_s(program, plan.is_fast, t) for t in touches)
    is_whole = not coming or _enters(program, stay, slot)
    lost = touches if is_whole else coming[:1]
    return Resident(
        stay=index,
        group=stay.group,
        offset=stay.offset,
        size_bytes=program.groups[stay.group].size_bytes,
        start=stay.start,
        end=stay.end,
        next_use=coming[0].time if coming else None,
        saving_s=whole_s if is_whole else loss_s(program, plan.is_fast, coming[0]),
        stay_saving_s=whole_s,
        uncounted_s=sum(more_s(program, t) for t in lost),
    )


def _enters(program: Program, stay: Stay, slot: int) -> bool:
    """Whether the slot lies in a loop or branch that the stay must cover whole."""
    levels = program.outwards(program.level_at(slot))[:-1]
    return any(program.regions[level].start > stay.start for level in levels)


def _undominated(
    entries: list[tuple[float, int, tuple[int, ...]]],
) -> list[tuple[float, int, tuple[int, ...]]]:
    """The choices by rising size, without those that another beats or equals in cost and size."""
    kept: list[tuple[float, int, tuple[int, ...]]] = []
    for entry in sorted(entries, key=lambda e: (-e[1], e[0])):
        if not kept or entry[0] < kept[-1][0]:
            kept.append(entry)
    return kept[::-1]


def _try(
    program: Program, before: Plan, slot: int, wanted: int, dropped: list[Resident], is_whole: bool
) -> Relief:
    """Play `before` again with the residents dropped: their next touch only, or all of the stay."""
    is_fast = list(before.is_fast)
    for resident in dropped:
        for index in program.touches_of_group[resident.group]:
            touch = program.touches[index]
            is_in = resident.start <= touch.time < resident.end
            if is_in and (is_whole or touch.time == resident.next_use):
                for access in touch.accesses:
                    is_fast[access] = False
    after = replay(program, replace(before, is_fast=tuple(is_fast))).plan(
        f"{before.solver} relieved"
    )
    return Relief(
        slot=slot,
        wanted_bytes=wanted,
        dropped=tuple(dropped),
        used_before=int(used_bytes(program, before.stays)[slot]),
        used_after=int(used_bytes(program, after.stays)[slot]),
        hole_before=largest_hole(program, before, slot),
        hole_after=largest_hole(program, after, slot),
        before_s=simulate(program, before).latency_s,
        after_s=simulate(program, after).latency_s,
        plan=after,
    )
