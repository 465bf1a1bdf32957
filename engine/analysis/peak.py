"""The fullest slot of a plan: which groups are there, and the cheapest way to make room.

A way to make room is a set of touches that are served from slow memory instead (`Drop` in the
game). Which set is cheapest is estimated from the savings it gives up; what it really costs is
measured: the game is played again with these moves changed, and the resulting plan is timed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from engine.errors import SolverError
from engine.game.replay import replay
from engine.plan.model import BEFORE_START, Plan, Stay
from engine.plan.simulate import simulate
from engine.program.floors import loss_s
from engine.program.model import TOP_LEVEL, Program, Region, Touch
from engine.program.provenance import more_s


@dataclass(frozen=True, slots=True)
class Resident:
    """A group that holds a place at a slot. `stay`: index into the plan's stays.

    `next_use`: slot of the touch in this stay that is under way or next, in a loop also in its next
    run, and of a kept input in the program's; None: it only holds the place.
    `holding`: the touches, as indices, without which it need not be here: those under way, those of
    a loop or branch that the stay must cover for them, else the next one to come, else all
    `touches` of the stay. `saving_s`: what is lost if they are served from slow memory, and
    `uncounted_s` more at most, where no compile has shown it; `stay_saving_s`: if all touches are.
    """

    stay: int
    group: int
    offset: int
    size_bytes: int
    start: int
    end: int
    next_use: int | None
    holding: tuple[int, ...]
    touches: tuple[int, ...]
    saving_s: float
    stay_saving_s: float
    uncounted_s: float


@dataclass(frozen=True)
class Relief:
    """What dropping `dropped` around slot `slot` does, measured by playing the game again.

    What is called `before` is of the plan as it was given, `after` of `plan`, the game with the
    change. `used_before`, `used_after`: bytes taken at the slot, scratch included. `hole_before`,
    `hole_after`: the largest gap. `before_s`, `after_s`: simulated latencies. `game_s`: that of the
    game without the change, which may play the given plan otherwise; where that alone makes the
    room, nothing is dropped.
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
    game_s: float
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


_Choice = tuple[float, int, tuple[int, ...]]
"""A set's cost, its bytes, of those that are wanted, and its members, as indices."""

MOST_CHOICES = 2**13
"""Above it the cheapest cover is approximate. Sets whose cost is nearly proportional to their size
do not undercut one another, and double with each member."""


def cheapest(costs: Sequence[float], sizes: Sequence[int], wanted: int) -> tuple[int, ...] | None:
    """Indices of the set with the smallest total cost whose sizes add up to `wanted` or more.

    A minimum knapsack cover: keeps, for growing sets, those that no other set undercuts in cost at
    the same size or more. Exact, unless more than `MOST_CHOICES` of them are left: then only the
    largest of each of so many equal steps of cost. None if all together are too small.
    """
    front: list[_Choice] = [(0.0, 0, ())]
    for index, (cost, size) in enumerate(zip(costs, sizes, strict=True)):
        grown = [
            (c + cost, min(wanted, s + size), (*chosen, index)) for c, s, chosen in front if size
        ]
        front = _thinned(_undominated([*front, *grown]))
    return front[-1][2] if front[-1][1] >= wanted else None


def relieve(program: Program, plan: Plan, slot: int, wanted: int) -> Relief:
    """The cheapest change found that frees `wanted` bytes of a plan at `slot`, verified by replay.

    The game may hold less there than the plan, or more: it has to free what is wanted besides. If
    nothing is, nothing is dropped; else first only the touches that hold each chosen group there,
    then all of its stay, if that is not enough. Raises SolverError if even dropping everything is
    too little.
    """
    game = replay(program, plan).plan(plan.solver)
    here = residents(program, game, slot)
    possible = sum(r.size_bytes for r in residents(program, plan, slot))
    if wanted > possible:
        raise SolverError(
            f"{program.name}: at most {possible} bytes can be freed in slot {slot},"
            f" {wanted} are asked for"
        )
    rest = wanted - possible + sum(r.size_bytes for r in here)

    def dropping(costs: Sequence[float], touches: Sequence[tuple[int, ...]]) -> Relief:
        chosen = cheapest(costs, [r.size_bytes for r in here], rest) if rest > 0 else ()
        assert chosen is not None
        dropped = [here[i] for i in chosen]
        return _try(program, (plan, game), slot, wanted, dropped, [touches[i] for i in chosen])

    relief = dropping([r.saving_s for r in here], [r.holding for r in here])
    if relief.is_enough:
        return relief
    return dropping([r.stay_saving_s for r in here], [r.touches for r in here])


def _resident(program: Program, plan: Plan, index: int, slot: int) -> Resident:
    stay = plan.stays[index]
    since, numbers = stay.start, _served(program, plan, stay)
    if not numbers:
        # It brings a kept input back for the next run, and is there for what that run touches.
        kept = [s for s in plan.stays if s.group == stay.group and s.start == BEFORE_START]
        since, numbers = BEFORE_START, [n for first in kept for n in _served(program, plan, first)]
    covered = _covered(program, stay, slot)
    holding = [
        n
        for n in numbers
        if program.touches[n].time <= slot < program.touches[n].end
        or (covered is not None and covered.start <= program.touches[n].time < covered.end)
    ]
    coming = [n for n in numbers if program.touches[n].time >= slot]
    holding = holding or coming[:1] or numbers
    return Resident(
        stay=index,
        group=stay.group,
        offset=stay.offset,
        size_bytes=program.groups[stay.group].size_bytes,
        start=stay.start,
        end=stay.end,
        next_use=_next_use(program, [program.touches[n] for n in numbers], since, slot),
        holding=tuple(holding),
        touches=tuple(numbers),
        saving_s=sum(loss_s(program, plan.is_fast, program.touches[n]) for n in holding),
        stay_saving_s=sum(loss_s(program, plan.is_fast, program.touches[n]) for n in numbers),
        uncounted_s=sum(more_s(program, program.touches[n]) for n in holding),
    )


def _served(program: Program, plan: Plan, stay: Stay) -> list[int]:
    """The touches that a stay serves, as indices in time order."""
    return [
        index
        for index in program.touches_of_group[stay.group]
        if stay.start <= program.touches[index].time < stay.end
        and plan.is_fast[program.touches[index].accesses[0]]
    ]


def _covered(program: Program, stay: Stay, slot: int) -> Region | None:
    """The outermost loop or branch around the slot that began after the stay."""
    levels = program.outwards(program.level_at(slot))[:-1]
    inside = [level for level in levels if program.regions[level].start > stay.start]
    return program.regions[inside[-1]] if inside else None


def _next_use(program: Program, touches: Sequence[Touch], since: int, slot: int) -> int | None:
    """The slot of the touch, of those of a stay that begins at `since`, that is under way or next.

    The loops that it covers run again, and so does the program for a kept input.
    """
    for level in program.outwards(program.level_at(slot)):
        if level == TOP_LEVEL:
            start, end, is_again = 0, program.num_slots, True
        else:
            region = program.regions[level]
            start, end, is_again = region.start, region.end, region.kind != "branch"
        coming = [t.time for t in touches if slot < t.end and t.time < end]
        if not coming and is_again and since < start:
            coming = [t.time for t in touches if start <= t.time]
        if coming:
            return coming[0]
    return None


def _undominated(entries: list[_Choice]) -> list[_Choice]:
    """The choices by rising size, without those that another beats or equals in cost and size."""
    kept: list[_Choice] = []
    for entry in sorted(entries, key=lambda e: (-e[1], e[0])):
        if not kept or entry[0] < kept[-1][0]:
            kept.append(entry)
    return kept[::-1]


def _thinned(front: list[_Choice]) -> list[_Choice]:
    """At most `MOST_CHOICES` of what no other beats, the largest of all among them."""
    if len(front) <= MOST_CHOICES:
        return front
    least, most = front[0][0], front[-1][0]
    steps = (int((MOST_CHOICES - 1) * ((cost - least) / (most - least))) for cost, _, _ in front)
    return list(dict(zip(steps, front, strict=True)).values())


def _try(
    program: Program,
    before: tuple[Plan, Plan],
    slot: int,
    wanted: int,
    dropped: Sequence[Resident],
    touches: Iterable[Iterable[int]],
) -> Relief:
    """Play the game again with these touches, as indices, of the residents dropped.

    `before`: the plan as it was given, and as the game plays it.
    """
    plan, game = before
    is_fast = list(game.is_fast)
    for index in chain.from_iterable(touches):
        for access in program.touches[index].accesses:
            is_fast[access] = False
    after = replay(program, replace(game, is_fast=tuple(is_fast))).plan(f"{plan.solver} relieved")
    return Relief(
        slot=slot,
        wanted_bytes=wanted,
        dropped=tuple(dropped),
        used_before=int(used_bytes(program, plan.stays)[slot]),
        used_after=int(used_bytes(program, after.stays)[slot]),
        hole_before=largest_hole(program, plan, slot),
        hole_after=largest_hole(program, after, slot),
        before_s=simulate(program, plan).latency_s,
        after_s=simulate(program, after).latency_s,
        game_s=simulate(program, game).latency_s,
        plan=after,
    )
