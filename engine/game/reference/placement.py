"""Where a newcomer stands in the reference game, and the write-backs of the ghosts it displaces.

Addresses are granules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from engine.game.moves import (
    BEST_FIT,
    Move,
    goes_high,
)
from engine.game.quantise import TICKS
from engine.game.reference.blocks import (
    FIRST_HORIZON,
    Block,
    Booking,
    Reason,
    Refusal,
    State,
    begins_loop_of,
)

Gap = tuple[int, int]


class Where(Enum):
    """Where a newcomer goes: to its planned place, where the place rule says, or the other end."""

    PLAN = 0
    RULE = 1
    OTHER = 2


@dataclass(frozen=True, slots=True)
class Newcomer:
    """What wants a place: `size` granules in `[lowest, capacity)` from slot `start` on.

    `time`: slot of its move. `rank`: of the touch that it serves, as in `Move`. `is_lasting`: it
    may still stand where kept inputs come back. `at_other_end`: not where the place rule says;
    `is_high`: that is at the high end.
    """

    group: int
    time: int
    rank: int
    size: int
    start: int
    lowest: int
    capacity: int
    is_lasting: bool
    at_other_end: bool = False
    is_high: bool = False

    def overlaps(self, block: Block, offset: int) -> bool:
        """Whether it shares addresses with a block when it stands at `offset`."""
        return block.offset < offset + self.size and offset < block.offset + block.size


def lowest_offset(state: State, move: Move, start: int) -> int:
    """The least offset that is clear of all scratch that the newcomer could meet."""
    reserved = state.facts.numbers.reserved
    if start == FIRST_HORIZON:
        return max(reserved)
    return max(move.reserved_ahead, max(reserved[start : move.time], default=0))


def _newcomer(
    state: State, move: Move, start: int, end: int, *, at_other_end: bool = False
) -> Newcomer:
    rules, capacity = state.facts.rules, state.facts.numbers.fast_granules
    return Newcomer(
        group=move.group,
        time=move.time,
        rank=move.rank,
        size=move.size_granules,
        start=start,
        lowest=lowest_offset(state, move, start),
        capacity=capacity,
        is_lasting=move.is_lasting,
        at_other_end=at_other_end,
        is_high=goes_high(rules, move, capacity) != at_other_end,
    )


def free_gaps(obstacles: Iterable[Block], lowest: int, capacity: int) -> list[Gap]:
    """Free address ranges in `[lowest, capacity)`, from low to high."""
    gaps = []
    low = lowest
    for block in sorted(obstacles, key=lambda b: b.offset):
        if block.offset > low:
            gaps.append((low, min(block.offset, capacity)))
        low = max(low, block.offset + block.size)
    if low < capacity:
        gaps.append((low, capacity))
    return gaps


def choose_offset(
    gaps: Sequence[Gap], size: int, *, is_high: bool, is_best_fit: bool
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


@dataclass(frozen=True, slots=True)
class Place:
    """The offset of a newcomer, the ghosts that it displaces, as they end, and their write-backs.

    `free_since`: the slot from which all that stood there is gone.
    """

    offset: int
    displaced: tuple[Block, ...] = ()
    bookings: tuple[Booking, ...] = ()
    free_since: int = FIRST_HORIZON


@dataclass(frozen=True, slots=True)
class Try:
    """Which ghosts a search for a place spares, and whether the others' write-backs may stall."""

    spares: Callable[[Block, Newcomer], bool]
    may_stall: bool = False


SPARE_ALL = Try(lambda ghost, newcomer: True)
SPARE_MORE_VALUABLE = Try(lambda ghost, newcomer: ghost.next_rank > newcomer.rank)
SPARE_NONE = Try(lambda ghost, newcomer: False)
STALL = Try(SPARE_NONE.spares, may_stall=True)

TRIES = (SPARE_ALL, SPARE_MORE_VALUABLE, SPARE_NONE, STALL)
LAST_TRY = (STALL,)


def find_place(
    state: State,
    move: Move,
    start: int,
    end: int,
    where: Where,
    tries: Sequence[Try] = TRIES,
) -> Place | Refusal:
    """A place for the newcomer `[start, end)`."""
    if where is Where.PLAN:
        bar = bar_of_planned_place(state, move, start, end)
        return bar or clear_planned_place(state, move, start, end)
    if start < state.horizon:
        return Refusal(Reason.FORGOTTEN, start=state.horizon, end=end)
    newcomer = _newcomer(state, move, start, end, at_other_end=where is Where.OTHER)
    outcome = _in_tries(state, newcomer, tries)
    if isinstance(outcome, Refusal) and outcome.hole < newcomer.size:
        return replace(outcome, start=start, end=end)
    return outcome


def clear_planned_place(state: State, move: Move, start: int, end: int) -> Place | Refusal:
    """Clear the planned place for a newcomer that comes at slot `start` at the latest.

    All ghosts there go; those that are dirty are written back as early as they can be, and compute
    may wait for it before `start`.
    """
    offset = state.facts.planned.offset(move)
    assert offset is not None
    newcomer = _newcomer(state, move, start, end)
    here = [b for b in _others(state, newcomer) if newcomer.overlaps(b, offset)]
    solid, ghosts = _solid_and_ghosts(newcomer, here)
    if solid:
        return Refusal(Reason.NO_PLACE, start=start, end=end, blockers=tuple(solid))
    place = _displace(state, newcomer, ghosts, offset, may_stall=True)
    if isinstance(place, Refusal):
        return place
    ends = [b.end for b in here if not b.is_live] + [b.end for b in place.displaced]
    return replace(place, free_since=max(ends, default=FIRST_HORIZON))


def bar_of_planned_place(state: State, move: Move, start: int, end: int) -> Refusal | None:
    """What bars the planned place to a newcomer from `start` on, whatever stands there.

    Scratch, the end of the memory, or a start before the horizon.
    """
    offset, highest = state.facts.planned.offset(move), state.facts.numbers.fast_granules
    assert offset is not None
    lowest = lowest_offset(state, move, start)
    if start >= state.horizon and lowest <= offset <= highest - move.size_granules:
        return None
    return Refusal(Reason.NO_PLACE, start=start, end=end, lowest=lowest)


def _others(state: State, newcomer: Newcomer) -> list[Block]:
    """All blocks but the group's own live one, which has left when it is copied in anew."""
    every = (*state.ended, *state.live.values())
    return [b for b in every if not (b.is_live and b.group == newcomer.group)]


def _solid_and_ghosts(
    newcomer: Newcomer, blocks: Iterable[Block]
) -> tuple[list[Block], list[Block]]:
    """Of these blocks, what the newcomer must avoid, and the ghosts that it may displace."""
    solid, ghosts = [], []
    for block in blocks:
        if not block.may_give_way(newcomer.start, is_lasting=newcomer.is_lasting):
            solid.append(block)
        elif block.is_ghost(newcomer.start):
            ghosts.append(block)
    return solid, ghosts


def _in_tries(state: State, newcomer: Newcomer, tries: Sequence[Try]) -> Place | Refusal:
    """A place for the newcomer in some tries, each sparing fewer ghosts."""
    solid, ghosts = _solid_and_ghosts(newcomer, _others(state, newcomer))
    refusal: Refusal | None = None
    for one in tries:
        obstacles = solid + [b for b in ghosts if one.spares(b, newcomer)]
        outcome = _try_place(state, newcomer, obstacles, ghosts, one.may_stall)
        if isinstance(outcome, Place):
            return outcome
        refusal = outcome
    assert refusal is not None
    return refusal


def _try_place(
    state: State,
    newcomer: Newcomer,
    obstacles: list[Block],
    ghosts: list[Block],
    may_stall: bool,
) -> Place | Refusal:
    gaps, lowest = free_gaps(obstacles, newcomer.lowest, newcomer.capacity), newcomer.lowest
    offset = _choose(state, newcomer, obstacles, gaps)
    if offset is None:
        hole = max((high - low for low, high in gaps), default=0)
        return Refusal(Reason.NO_PLACE, blockers=tuple(obstacles), lowest=lowest, hole=hole)
    outcome = _displace(state, newcomer, ghosts, offset, may_stall=may_stall)
    return replace(outcome, lowest=lowest) if isinstance(outcome, Refusal) else outcome


def _displace(
    state: State, newcomer: Newcomer, ghosts: list[Block], offset: int, *, may_stall: bool
) -> Place | Refusal:
    """The place at `offset`, where ghosts have to go, dirty ones after a write-back."""
    size, is_resident = newcomer.size, newcomer.group in state.live
    taken = sorted((b for b in ghosts if newcomer.overlaps(b, offset)), key=lambda b: b.group)
    full = len(state.live) + len(state.ended) >= state.facts.max_blocks
    is_freed = not all(b.is_kept for b in taken) or is_resident
    if full and not is_freed and all(b.is_kept for b in state.ended):
        return Refusal(Reason.TABLE_FULL, hole=size)
    dirty = [b for b in taken if b.is_dirty]
    if dirty and is_resident:
        return Refusal(
            Reason.NO_TIME,
            start=newcomer.start,
            end=newcomer.time,
            blockers=tuple(dirty),
            hole=size,
        )
    bookings: tuple[Booking, ...] | Refusal = ()
    if dirty:
        bookings = write_back(state, newcomer.time, dirty, newcomer.start, may_stall=may_stall)
    if isinstance(bookings, Refusal):
        return replace(bookings, hole=size)
    done = {b.group: b.deadline for b in bookings}
    displaced = tuple(
        replace(b, end=max(b.busy + 1, done.get(b.group, 0)), is_dirty=False) for b in taken
    )
    return Place(offset, displaced, bookings)


def _choose(
    state: State, newcomer: Newcomer, obstacles: list[Block], gaps: list[Gap]
) -> int | None:
    """Where the newcomer goes, at the end asked for; None if no gap is large enough."""
    is_best_fit = state.facts.rules.place == BEST_FIT and not newcomer.at_other_end
    return choose_offset(gaps, newcomer.size, is_high=newcomer.is_high, is_best_fit=is_best_fit)


def write_back(
    state: State, time: int, blocks: Sequence[Block], deadline: int, *, may_stall: bool
) -> tuple[Booking, ...] | Refusal:
    """Book write-backs of dirty `blocks` together, to be complete by `deadline`, or before.

    `time`: slot of the move. What idle time does not cover of one is a stall at its deadline, where
    one is allowed and no copy is under way there: none is where the loop begins that the move is
    in.
    """
    facts = state.facts
    may_wait = may_stall and sum(b.work_ticks for b in blocks) < TICKS
    bookings, after = [], state.ledger.copy()
    for block in sorted(blocks, key=lambda b: (b.written, b.offset)):
        begin = max(
            block.written + 1,
            after.earliest_start(is_prefetch=False),
            time - facts.rules.look_back,
        )
        level = block.level
        end = facts.last_deadline(level, deadline)
        run = after.earliest(begin, end, level, block.work_ticks, is_prefetch=False)
        is_quiet = after.settled <= end or begins_loop_of(facts.program, end, time)
        if run is None or (run.stall > 0 and not (may_wait and is_quiet)):
            return Refusal(
                Reason.NO_TIME,
                start=begin,
                end=end,
                blockers=tuple(blocks),
                needed_ticks=block.work_ticks,
                free_ticks=run.idle if run else 0,
            )
        done = min(facts.first_slot(level, run.done), end)
        run = after.run(run.start, done, block.work_ticks, is_prefetch=False)
        after.book(run, done, is_prefetch=False)
        bookings.append(Booking(block.group, False, done, run))
    return tuple(bookings)
