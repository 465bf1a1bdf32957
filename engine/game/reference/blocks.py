"""What a game knows: blocks in fast memory, booked copies, and what an action would do.

Addresses are granules, times are slots, intervals are half-open, idle time is in ticks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from engine.game.move_list import moves
from engine.game.moves import KINDS, NO_COPY, Move, PlannedPlaces, Rules, table_rows
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
    next touch. `is_kept`: a cross-program prefetch, which must be in its place again at the end of
    the program.
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
    is_kept: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it still holds its group's content."""
        return self.end == OPEN

    def is_ghost(self, slot: int) -> bool:
        """Whether a newcomer that starts at `slot` may take its place."""
        return self.is_live and self.busy < slot

    def may_give_way(self, slot: int, *, is_lasting: bool) -> bool:
        """Whether a newcomer from `slot` on may use its bytes: it has ended, or is a ghost.

        A kept input never yields to a newcomer that may last past the slot in which it comes back.
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


NOT_SET = -1
"""The action of an effect before `effect_of` says whose it is."""


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
    OTHER_BRANCH = "other-branch"
    MUST_BE_SLOW = "must-be-slow"
    STALL = "stall"
    RETURNS = "returns"
    SAME_PLACE = "same-place"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an action is illegal, with what a person needs to see it.

    `start`, `end`: the interval wanted. `blockers`: blocks in the way. `lowest`: the least offset
    that is clear of scratch. `hole`: largest free gap, in granules. `needed_ticks` and
    `free_ticks`: of a write-back that does not fit.
    """

    reason: Reason
    start: int = 0
    end: int = 0
    blockers: tuple[Block, ...] = ()
    lowest: int = 0
    hole: int = 0
    needed_ticks: int = 0
    free_ticks: int = 0


@dataclass(frozen=True, slots=True)
class Effect:
    """What an action would do, or why it is illegal.

    `block`: the group's block as the action leaves it; `dropped`: the group's block as it ends;
    `displaced`: the ghosts whose places it takes, as they end. `bookings` are in order of service.
    """

    action: int = NOT_SET
    refusal: Refusal | None = None
    block: Block | None = None
    is_new: bool = False
    dropped: Block | None = None
    displaced: tuple[Block, ...] = ()
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


FIRST_HORIZON = -1
"""The horizon before any block was forgotten."""


class Facts:
    """The moves, rules and numbers of a game, which never change; shared by all its copies."""

    def __init__(self, program: Program, rules: Rules) -> None:
        """Derive moves and integers of `program`."""
        self.program = program
        self.rules = rules
        self.moves: tuple[Move, ...] = moves(program)
        self.max_blocks = table_rows(rules, self.moves)
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


@dataclass
class State:
    """What the rules know of a game in progress.

    `live`: blocks by group. `ended`: blocks that are still remembered. `ledger`: idle ticks per
    slot, final for slots before the current move's, and waits. `valid_from`: slot from which each
    group's slow copy is valid; void while its block is dirty. `horizon`: nothing starts before it.
    `num_stayed_before`: cross-program prefetches so far. `spare_s`, `spare_ticks`: how much the
    moves of this slot can still save before the instruction takes its least time; negative once
    they have promised more.
    """

    facts: Facts
    ledger: Ledger
    valid_from: list[int]
    live: dict[int, Block] = field(default_factory=dict)
    ended: list[Block] = field(default_factory=list)
    horizon: int = FIRST_HORIZON
    num_stayed_before: int = 0
    spare_s: float = 0.0
    spare_ticks: int = 0

    @classmethod
    def first(cls, facts: Facts) -> State:
        """The first position: an empty memory."""
        numbers = facts.numbers
        idle = [numbers.idle(slot) for slot in range(facts.program.num_slots)]
        return cls(facts, Ledger(idle, numbers.slot_level), list(numbers.valid_from))

    def copy(self) -> State:
        """A state that changes by itself."""
        return replace(
            self,
            ledger=self.ledger.copy(),
            valid_from=list(self.valid_from),
            live=dict(self.live),
            ended=list(self.ended),
        )


def outermost_entered(program: Program, start: int, time: int) -> int:
    """The outermost region that holds slot `time` but not slot `start`, or `TOP_LEVEL`."""
    entered = TOP_LEVEL
    for level in program.outwards(program.level_at(time))[:-1]:
        region = program.regions[level]
        if not region.start <= start < region.end:
            entered = level
    return entered


def begins_loop_of(program: Program, slot: int, time: int) -> bool:
    """Whether a region that holds slot `time` begins at `slot`."""
    around = program.outwards(program.level_at(time))[:-1]
    return any(program.regions[level].start == slot for level in around)


def slots_of_level(numbers: Quantised) -> dict[int, Sequence[int]]:
    """The slots of each level in order; the end of the program, slot `T`, is at the top level."""
    by_level: dict[int, list[int]] = {}
    for slot, level in enumerate(numbers.slot_level):
        by_level.setdefault(level, []).append(slot)
    return {level: tuple(slots) for level, slots in by_level.items()}
