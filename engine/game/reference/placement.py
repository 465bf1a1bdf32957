"""Where a newcomer stands in the reference game, and the write-backs of the ghosts it takes.

Both try the two ends of every free gap that is large enough. Addresses are granules; a time
*until* is the last slot in which something is known to be needed. A *giant* is a group of more
than half of what the scratch leaves: wherever it stands, it covers the middle, so a small tensor
there keeps it out however much is free on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from engine.game.moves import (
    BEST_FIT,
    NEAR_TOUCH,
    PLANNED,
    Move,
    goes_high,
    lives_long,
    other_goes_high,
)
from engine.game.quantise import TICKS
from engine.game.reference.blocks import (
    FIRST_HORIZON,
    Block,
    Booking,
    Facts,
    Reason,
    Refusal,
    State,
    begins_loop_of,
    choose_offset,
    free_gaps,
)

Gap = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Newcomer:
    """What wants a place: `size` granules in `[floor, capacity)` from slot `start` on.

    `until`: last slot in which it is known to be needed; `is_long`: whether its group is touched
    again late enough to belong at the high end. `at_other_end`: not where the place rule says.
    `only_at`: the one offset that will do.
    """

    size: int
    start: int
    until: int
    is_long: bool
    floor: int
    capacity: int
    at_other_end: bool = False
    only_at: int | None = None


@dataclass(frozen=True, slots=True)
class GiantTouch:
    """A touch at slot `time` of a group of `size` granules, more than half of the memory."""

    time: int
    group: int
    size: int


@lru_cache(maxsize=8)
def giant_touches(facts: Facts) -> tuple[GiantTouch, ...]:
    """All touches of giants that fit into the fast memory, in time order."""
    free = facts.numbers.fast_granules - max(facts.numbers.reserved, default=0)
    return tuple(
        GiantTouch(m.time, m.group, m.size_granules)
        for m in facts.moves
        if not m.is_sink and free < 2 * m.size_granules <= 2 * free
    )


def room_for_giants(newcomer: Newcomer, group: int, touches: Sequence[GiantTouch]) -> int:
    """Granules to keep free beside the newcomer of `group`: those of the largest other giant.

    Only giants count that are touched while the newcomer is needed, or soon after (their copy
    begins before their touch), and that fit beside it. 0 if there is none.
    """
    rest = newcomer.capacity - newcomer.floor - newcomer.size
    return max(
        (
            t.size
            for t in touches
            if newcomer.start <= t.time <= newcomer.until + NEAR_TOUCH
            and t.group != group
            and t.size <= rest
        ),
        default=0,
    )


def supported_offset(
    newcomer: Newcomer, obstacles: Sequence[Block], gaps: Sequence[Gap]
) -> int | None:
    """Beside the neighbour that is needed longest, up to as long as the newcomer itself.

    A wall (the scratch, the end of memory) is needed for ever. Among equals: the highest offset
    for a long life, else the lowest. None if no gap is large enough.
    """
    below: dict[int, int] = {}
    above: dict[int, int] = {}
    for block in obstacles:
        end = block.offset + block.size
        below[end] = max(below.get(end, 0), block.standing_until)
        above[block.offset] = max(above.get(block.offset, 0), block.standing_until)
    below[newcomer.floor] = above[newcomer.capacity] = newcomer.until

    def cost(place: tuple[int, int]) -> tuple[int, int]:
        offset, neighbour_until = place
        missing = max(0, newcomer.until - neighbour_until)
        return missing, -offset if newcomer.is_long else offset

    places = []
    for low, high in gaps:
        if high - low >= newcomer.size:
            places += [(low, below[low]), (high - newcomer.size, above[high])]
    return min(places, key=cost)[0] if places else None


def roomiest_offset(
    newcomer: Newcomer, obstacles: Sequence[Block], gaps: Sequence[Gap]
) -> int | None:
    """Where the widest stretch stays free of the newcomer and all that is needed as long as it.

    Among equals the lowest offset. None if no gap is large enough.
    """
    lasting = [b for b in obstacles if b.standing_until >= newcomer.until]
    room = _room_left(free_gaps(lasting, newcomer.floor, newcomer.capacity), newcomer.size)
    offsets = [
        offset
        for low, high in gaps
        if high - low >= newcomer.size
        for offset in (low, high - newcomer.size)
    ]
    return min(offsets, key=lambda offset: (-room(offset), offset)) if offsets else None


def _room_left(holes: Sequence[Gap], size: int) -> Callable[[int], int]:
    """The widest of `holes` after `size` granules were put at an offset inside one of them."""

    def room(offset: int) -> int:
        rest = [
            max(offset - low, high - offset - size) if low <= offset < high else high - low
            for low, high in holes
        ]
        return max(rest)

    return room


@dataclass(frozen=True, slots=True)
class Place:
    """The offset of a newcomer, the ghosts that it takes, as they end, and their write-backs."""

    offset: int
    evicted: tuple[Block, ...] = ()
    bookings: tuple[Booking, ...] = ()


Try = tuple[Callable[[Block, Move], bool], bool]
"""Which ghosts a try spares, and whether the write-back of the others may stall."""


def _all(ghost: Block, newcomer: Move) -> bool:
    return True


def _worthier(ghost: Block, newcomer: Move) -> bool:
    return ghost.next_rank > newcomer.rank


def _none(ghost: Block, newcomer: Move) -> bool:
    return False


LAST_TRY: Sequence[Try] = ((_none, True),)
TRIES: Sequence[Try] = ((_all, False), (_worthier, False), (_none, False), *LAST_TRY)


def find_place(
    state: State,
    move: Move,
    start: int,
    end: int,
    tries: Sequence[Try] = TRIES,
    *,
    at_other_end: bool = False,
) -> Place | Refusal:
    """A place for the newcomer `[start, end)`: as the place rule likes it best, else any."""
    if start < state.horizon:
        return Refusal(Reason.FORGOTTEN, start=state.horizon, end=end)
    newcomer = Newcomer(
        size=move.size_granules,
        start=start,
        until=max(end - 1, move.needed_until),
        is_long=lives_long(move),
        floor=_floor(state, move, start),
        capacity=state.facts.numbers.fast_granules,
        at_other_end=at_other_end,
    )
    for narrower in _narrower(state, move, newcomer):
        outcome = _in_tries(state, move, narrower, tries)
        if isinstance(outcome, Place):
            return outcome
    outcome = _in_tries(state, move, newcomer, tries)
    if isinstance(outcome, Refusal) and outcome.hole < move.size_granules:
        return replace(outcome, start=start, end=end)
    return outcome


def _narrower(state: State, move: Move, newcomer: Newcomer) -> Iterator[Newcomer]:
    """The newcomer, confined to the plan's place, or to addresses above room for giants."""
    if newcomer.at_other_end:
        return
    planned = state.facts.planned_offset(move)
    if planned is not None:
        yield replace(newcomer, only_at=planned)
    if state.facts.rules.place in ("support", PLANNED):
        room = room_for_giants(newcomer, move.group, giant_touches(state.facts))
        if room:
            yield replace(newcomer, floor=newcomer.floor + room)


def _in_tries(
    state: State, move: Move, newcomer: Newcomer, tries: Sequence[Try]
) -> Place | Refusal:
    """A place for the newcomer in some tries, each sparing fewer ghosts."""
    start = newcomer.start
    others = [b for b in (*state.ended, *state.live.values()) if b.is_kept or b.stands_at(start)]
    # The group's own block has left when it is copied in anew.
    others = [b for b in others if not (b.is_live and b.group == move.group)]
    giving = [b.may_give_way(start, is_lasting=move.is_lasting) for b in others]
    solid = [b for b, gives in zip(others, giving, strict=True) if not gives]
    ghosts = [b for b, gives in zip(others, giving, strict=True) if gives and b.is_ghost(start)]
    yielding = ghosts
    if state.facts.rules.looks_ahead and newcomer.only_at is None:
        stays = [b.is_dirty and not _fits_before(state, move, b, start) for b in ghosts]
        solid += [b for b, must_stay in zip(ghosts, stays, strict=True) if must_stay]
        yielding = [b for b, must_stay in zip(ghosts, stays, strict=True) if not must_stay]
    refusal: Refusal | None = None
    for spares, may_stall in tries:
        obstacles = solid + [b for b in yielding if spares(b, move)]
        outcome = _try_place(state, move, newcomer, obstacles, ghosts, may_stall)
        if isinstance(outcome, Place):
            return outcome
        refusal = outcome
    assert refusal is not None
    return refusal


def _floor(state: State, move: Move, start: int) -> int:
    """Granules of scratch at the low end which the newcomer must never touch."""
    reserved = state.facts.numbers.reserved
    if start == FIRST_HORIZON:
        return max(reserved)
    return max(move.reserved_ahead, max(reserved[start : move.time], default=0))


def _fits_before(state: State, move: Move, block: Block, deadline: int) -> bool:
    """Whether idle time is left to write the dirty block back by `deadline`, levels apart."""
    barrier = state.barrier(is_prefetch=False, deadline=deadline)
    begin = max(block.written + 1, barrier, move.time - state.facts.rules.look_back)
    return sum(state.left[begin:deadline]) >= block.work_ticks


def _try_place(
    state: State,
    move: Move,
    newcomer: Newcomer,
    obstacles: list[Block],
    ghosts: list[Block],
    may_stall: bool,
) -> Place | Refusal:
    size, start = newcomer.size, newcomer.start
    gaps = free_gaps(obstacles, newcomer.floor, newcomer.capacity)
    offset = _choose(state, move, newcomer, obstacles, gaps)
    if offset is None:
        hole = max((high - low for low, high in gaps), default=0)
        return Refusal(Reason.NO_PLACE, blockers=tuple(obstacles), floor=newcomer.floor, hole=hole)
    taken = sorted(
        (b for b in ghosts if b.offset < offset + size and offset < b.offset + b.size),
        key=lambda b: b.group,
    )
    full = len(state.live) + len(state.ended) >= state.facts.rules.max_blocks
    is_freed = not all(b.is_kept for b in taken) or move.group in state.live
    if full and not is_freed and all(b.is_kept for b in state.ended):
        return Refusal(Reason.TABLE_FULL, hole=size)
    dirty = [b for b in taken if b.is_dirty]
    if dirty and move.group in state.live:
        return Refusal(Reason.NO_TIME, start=start, end=move.time, blockers=tuple(dirty), hole=size)
    saved = write_back(state, move, dirty, start, may_stall=may_stall) if dirty else ()
    if isinstance(saved, Refusal):
        return replace(saved, floor=newcomer.floor, hole=size)
    done = saved[0].deadline if saved else 0
    evicted = tuple(
        replace(b, end=max(b.busy + 1, done if b.is_dirty else 0), is_dirty=False) for b in taken
    )
    return Place(offset, evicted, saved)


def _choose(
    state: State,
    move: Move,
    newcomer: Newcomer,
    obstacles: list[Block],
    gaps: list[tuple[int, int]],
) -> int | None:
    """Where the newcomer goes, at the end asked for; None if no gap is large enough."""
    rules, only_at = state.facts.rules, newcomer.only_at
    if only_at is not None:
        end = only_at + newcomer.size
        return only_at if any(low <= only_at and end <= high for low, high in gaps) else None
    if newcomer.at_other_end:
        is_high = other_goes_high(rules, move, newcomer.capacity)
        return choose_offset(gaps, newcomer.size, is_high=is_high, is_best_fit=False)
    if rules.place in ("support", PLANNED):
        return supported_offset(newcomer, obstacles, gaps)
    if rules.place == "roomy":
        return roomiest_offset(newcomer, obstacles, gaps)
    is_high = goes_high(rules, move, newcomer.capacity)
    is_best_fit = rules.place == BEST_FIT
    return choose_offset(gaps, newcomer.size, is_high=is_high, is_best_fit=is_best_fit)


def write_back(
    state: State, move: Move, blocks: Sequence[Block], deadline: int, *, may_stall: bool
) -> tuple[Booking, ...] | Refusal:
    """Book write-backs of dirty `blocks` together, to be complete by `deadline`, or before.

    What idle time does not cover is a stall, where one is allowed and no copy is under way: none is
    where the loop begins that the move is in.
    """
    facts = state.facts
    level = blocks[0].level
    barrier = state.barrier(is_prefetch=False, deadline=deadline)
    written = max(b.written for b in blocks)
    begin = max(written + 1, barrier, move.time - facts.rules.look_back)
    end = facts.last_deadline(level, deadline)
    start = begin if begin > end else min(facts.first_slot(level, begin), end)
    work = sum(b.work_ticks for b in blocks)
    free = sum(state.left[start:end]) if start <= end else -1
    is_quiet = state.settled <= end or begins_loop_of(facts.program, end, move.time)
    can_wait = may_stall and is_quiet and start <= end and work < TICKS
    if (free < work and not can_wait) or any(b.level != level for b in blocks):
        return Refusal(
            Reason.NO_TIME,
            start=begin,
            end=end,
            blockers=tuple(blocks),
            needed_ticks=work,
            free_ticks=max(0, free),
        )
    done, bookings = _done(state, level, start, end, work), []
    for block in blocks:
        stall = max(0, block.work_ticks - free)
        free = max(0, free - block.work_ticks)
        bookings.append(Booking(block.group, False, start, done, block.work_ticks, stall))
    return tuple(bookings)


def _done(state: State, level: int, start: int, end: int, work: int) -> int:
    """The first slot of `level` by which copies of `work` ticks from `start` on are done."""
    missing, slot = work, start
    while slot < end and (missing > 0 or state.facts.numbers.slot_level[slot] != level):
        missing -= state.left[slot]
        slot += 1
    return slot
