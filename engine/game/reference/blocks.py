"""What stands in the fast memory: blocks, booked copies, what an action would do, and free gaps.

Addresses are granules, times are slots, intervals are half-open, idle time is in ticks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from engine.game.move_list import moves
from engine.game.moves import KINDS, NO_COPY, Move, PlannedPlaces, Rules
from engine.game.quantise import Quantised, quantise
from engine.game.reference.ledger import Ledger, Run
from engine.program.model import TOP_LEVEL, Program

OPEN = 2**30
"""End of a live block."""


@dataclass(frozen=True, slots=True)
class Block:
    """A stay of a group, in the making or ended.

    `busy`: last slot in which it certainly must stand. `written`: slot of its last write; of a
    clean block, of its arrival. `level`: of its start; `level_end`: end of that level.
    `work_ticks`: of one copy of the group at that level. `next_rank`: `Move.rank` of the group's
    next touch. `needed_until`: `Move.needed_until` of the group's last touch so far. `is_kept`: a
    cross-program prefetch, which must be in its place again at the end of the program.
    """

    group: int
    offset: int
    size: int
    start: int
    busy: int
    end: int
    is_dirty: bool
    written: int
    level: int
    level_end: int
    work_ticks: int
    next_rank: int
    needed_until: int
    is_kept: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it still holds its group's content."""
        return self.end == OPEN

    @property
    def standing_until(self) -> int:
        """Last slot in which it stands or is known to be needed."""
        return max(self.busy, self.needed_until) if self.is_live else self.end - 1

    def is_ghost(self, slot: int) -> bool:
        """Whether a newcomer that starts at `slot` may take its place."""
        return self.is_live and self.busy < slot

    def may_give_way(self, slot: int, *, is_lasting: bool) -> bool:
        """Whether it is gone by `slot`, or a ghost.

        A kept input needs its place at the end again, so it bars that to a lasting newcomer.
        """
        is_gone = self.is_ghost(slot) or not self.stands_at(slot)
        return is_gone and not (self.is_kept and is_lasting)

    def stands_at(self, slot: int) -> bool:
        """Whether it bars the place to a newcomer that starts at `slot`, ghosts included."""
        return self.end > slot


@dataclass(frozen=True, slots=True)
class Booking:
    """A copy that may use slots `[run.start, deadline)`, and how it runs there."""

    group: int
    is_prefetch: bool
    deadline: int
    run: Run

    @property
    def start(self) -> int:
        """The first slot that it may use."""
        return self.run.start

    @property
    def stall_ticks(self) -> int:
        """Ticks that compute waits because of it."""
        return self.run.stall


class Reason(StrEnum):
    """Why an action is illegal."""

    SINK = "sink"
    RESIDENT = "resident"
    PURE_WRITE = "pure-write"
    FORCED = "forced"
    TOO_LONG = "too-long"
    NO_START = "no-start"
    NOT_THERE = "not-there"
    INPUTS_TAKEN = "inputs-taken"
    FORGOTTEN = "forgotten"
    TABLE_FULL = "table-full"
    NO_PLACE = "no-place"
    NO_TIME = "no-time"
    MUST_STAND = "must-stand"
    MUST_BE_SLOW = "must-be-slow"
    STALL = "stall"
    RETURNS = "returns"
    SAME_PLACE = "same-place"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an action is illegal, with what a person needs to see it.

    `start`, `end`: the interval wanted. `blockers`: blocks in the way. `floor`: granules of scratch
    at the low end. `hole`: largest free gap, in granules. `needed_ticks` and `free_ticks`: of a
    write-back that does not fit.
    """

    reason: Reason
    start: int = 0
    end: int = 0
    blockers: tuple[Block, ...] = ()
    floor: int = 0
    hole: int = 0
    needed_ticks: int = 0
    free_ticks: int = 0


@dataclass(frozen=True, slots=True)
class Effect:
    """What an action would do, or why it is illegal.

    `block`: the group's block as the action leaves it (created, kept, or saved by a sink);
    `dropped`: the group's block as it ends; `evicted`: the ghosts taken, as they end. `bookings`
    are in order of service.
    """

    action: int
    refusal: Refusal | None = None
    block: Block | None = None
    is_new: bool = False
    dropped: Block | None = None
    evicted: tuple[Block, ...] = ()
    bookings: tuple[Booking, ...] = ()
    saving_s: float = 0.0
    stall_ticks: int = 0

    @property
    def is_legal(self) -> bool:
        """Whether the action may be played."""
        return self.refusal is None

    @property
    def is_hoisted(self) -> bool:
        """Whether it is a NoCopy whose content is copied in before the loop."""
        return KINDS[self.action] == NO_COPY and any(b.is_prefetch for b in self.bookings)


def free_gaps(obstacles: Iterable[Block], floor: int, capacity: int) -> list[tuple[int, int]]:
    """Free address ranges in `[floor, capacity)`, from low to high."""
    gaps = []
    low = floor
    for block in sorted(obstacles, key=lambda b: b.offset):
        if block.offset > low:
            gaps.append((low, min(block.offset, capacity)))
        low = max(low, block.offset + block.size)
    if low < capacity:
        gaps.append((low, capacity))
    return gaps


def choose_offset(
    gaps: list[tuple[int, int]], size: int, *, is_high: bool, is_best_fit: bool
) -> int | None:
    """Where `size` granules go, or None if no gap is large enough.

    The high end of the highest gap, the low end of the smallest (best fit), or of the lowest one.
    """
    fitting = [(low, high) for low, high in gaps if high - low >= size]
    if not fitting:
        return None
    if is_best_fit:
        return min(fitting, key=lambda gap: gap[1] - gap[0])[0]
    return fitting[-1][1] - size if is_high else fitting[0][0]


FIRST_HORIZON = -1
"""The horizon before any block was forgotten."""


class Facts:
    """The moves, rules and numbers of a game, which never change; shared by all its copies."""

    def __init__(self, program: Program, rules: Rules) -> None:
        """Derive moves and integers of `program`."""
        self.program = program
        self.rules = rules
        self.moves: tuple[Move, ...] = moves(program)
        self.numbers: Quantised = quantise(program)
        self.level_slots = slots_of_level(self.numbers)
        self.planned = PlannedPlaces(rules, self.numbers.fast_granules)

    def first_slot(self, level: int, begin: int) -> int:
        """First slot of `level` at or after `begin`; past the end if none."""
        slots = self.level_slots[level]
        place = bisect_left(slots, begin)
        return slots[place] if place < len(slots) else self.program.num_slots + 1

    def last_slot(self, level: int, time: int) -> int:
        """Last slot of `level` not after `time`; -1 if none."""
        slots = self.level_slots[level]
        place = bisect_left(slots, time + 1)
        return slots[place - 1] if place else -1

    def last_deadline(self, level: int, time: int) -> int:
        """Latest deadline, not after `time`, of a write-back at `level`; -1 if none.

        Where `time` lies in a loop inside the level, that is where the loop begins.
        """
        if level != TOP_LEVEL and time == self.program.regions[level].end:
            return time
        last = self.last_slot(level, time)
        return last if last in (-1, time) else last + 1


class State(Protocol):
    """The attributes of a game that its rules read."""

    facts: Facts
    live: dict[int, Block]
    ended: list[Block]
    ledger: Ledger
    valid_from: list[int]
    horizon: int
    num_stayed_before: int
    spare_s: float


def outermost_entered(program: Program, start: int, time: int) -> int:
    """The outermost region that holds slot `time` but not slot `start`, or `TOP_LEVEL`."""
    outermost = TOP_LEVEL
    level = program.level_at(time)
    while level != TOP_LEVEL:
        region = program.regions[level]
        if not region.start <= start < region.end:
            outermost = level
        level = region.parent
    return outermost


def begins_loop_of(program: Program, slot: int, time: int) -> bool:
    """Whether a region that holds slot `time` begins at `slot`."""
    level = program.level_at(time)
    while level != TOP_LEVEL:
        if program.regions[level].start == slot:
            return True
        level = program.regions[level].parent
    return False


def slots_of_level(numbers: Quantised) -> dict[int, Sequence[int]]:
    """The slots of each level in order; the end of the program, slot `T`, is at the top level."""
    by_level: dict[int, list[int]] = {}
    for slot, level in enumerate(numbers.slot_level):
        by_level.setdefault(level, []).append(slot)
    return {level: tuple(slots) for level, slots in by_level.items()}
