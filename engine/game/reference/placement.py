"""Where a newcomer stands in the reference game, and the write-backs of the ghosts it takes.

`support` and `roomy` try the two ends of every free gap that is large enough. Addresses are
granules; a time *until* is the last slot in which something is known to be needed. A *giant* is a
group of more than half of what the scratch leaves: wherever it stands, it covers the middle, so a
small tensor there keeps it out however much is free on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from engine.game.moves import (
    BEST_FIT,
    NEAR_TOUCH,
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
    """

    size: int
    start: int
    until: int
    is_long: bool
    floor: int
    capacity: int
    at_other_end: bool = False


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
    newcomer = _newcomer(state, move, start, end, at_other_end=at_other_end)
    for narrower in _narrower(state, move, newcomer):
        outcome = _in_tries(state, move, narrower, tries)
        if isinstance(outcome, Place):
            return outcome
    outcome = _in_tries(state, move, newcomer, tries)
    if isinstance(outcome, Refusal) and outcome.hole < move.size_granules:
        return replace(outcome, start=start, end=end)
    return outcome


@dataclass(frozen=True, slots=True)
class Clearing:
    """How a place is cleared: free from slot `since` on, with the ghosts and their write-backs."""

    since: int
    place: Place


def clear_place(state: State, move: Move, offset: int, start: int, end: int) -> Clearing | Refusal:
    """Clear the planned place for a newcomer that comes at slot `start` at the latest.

    All ghosts there go; those that are dirty are written back as early as they can be, and compute
    may wait for it before `start`.
    """
    high = offset + move.size_granules
    here = [
        b
        for b in (*state.ended, *state.live.values())
        if b.offset < high
        and offset < b.offset + b.size
        # The group's own block has left when it is copied in anew.
        and not (b.is_live and b.group == move.group)
    ]
    solid = [b for b in here if not b.may_give_way(start, is_lasting=move.is_lasting)]
    solid = [b for b in solid if b.is_kept or b.stands_at(start)]
    ghosts = sorted((b for b in here if b.is_ghost(start)), key=lambda b: b.offset)
    if solid:
        return Refusal(Reason.NO_PLACE, start=start, end=end, blockers=tuple(solid))
    place = _evict(state, move, move.size_granules, start, ghosts, offset, may_stall=True)
    if isinstance(place, Refusal):
        return place
    ends = [b.end for b in here if not b.is_live] + [b.end for b in place.evicted]
    return Clearing(max(ends, default=FIRST_HORIZON), place)


def _newcomer(
    state: State, move: Move, start: int, end: int, *, at_other_end: bool = False
) -> Newcomer:
    return Newcomer(
        size=move.size_granules,
        start=start,
        until=max(end - 1, move.needed_until),
        is_long=lives_long(move),
        floor=floor_of(state, move, start),
        capacity=state.facts.numbers.fast_granules,
        at_other_end=at_other_end,
    )


def _narrower(state: State, move: Move, newcomer: Newcomer) -> Iterator[Newcomer]:
    """The newcomer, confined to addresses above room for giants."""
    if state.facts.rules.place == "support" and not newcomer.at_other_end:
        room = room_for_giants(newcomer, move.group, giant_touches(state.facts))
        if room:
            yield replace(newcomer, floor=newcomer.floor + room)


def _solid_and_ghosts(state: State, move: Move, start: int) -> tuple[list[Block], list[Block]]:
    """What a newcomer from `start` on must avoid, and the ghosts that it may take."""
    others = [b for b in (*state.ended, *state.live.values()) if b.is_kept or b.stands_at(start)]
    # The group's own block has left when it is copied in anew.
    others = [b for b in others if not (b.is_live and b.group == move.group)]
    giving = [b.may_give_way(start, is_lasting=move.is_lasting) for b in others]
    solid = [b for b, gives in zip(others, giving, strict=True) if not gives]
    ghosts = [b for b, gives in zip(others, giving, strict=True) if gives and b.is_ghost(start)]
    return solid, ghosts


def _in_tries(
    state: State, move: Move, newcomer: Newcomer, tries: Sequence[Try]
) -> Place | Refusal:
    """A place for the newcomer in some tries, each sparing fewer ghosts."""
    start = newcomer.start
    solid, ghosts = _solid_and_ghosts(state, move, start)
    yielding = ghosts
    if state.facts.rules.looks_ahead:
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


def floor_of(state: State, move: Move, start: int) -> int:
    """Granules of scratch at the low end which the newcomer must never touch."""
    reserved = state.facts.numbers.reserved
    if start == FIRST_HORIZON:
        return max(reserved)
    return max(move.reserved_ahead, max(reserved[start : move.time], default=0))


def _fits_before(state: State, move: Move, block: Block, deadline: int) -> bool:
    """Whether idle time is left to write the dirty block back by `deadline`, levels apart."""
    begin = max(
        block.written + 1, state.ledger.barrier(False), move.time - state.facts.rules.look_back
    )
    return sum(state.ledger.left[begin:deadline]) >= block.work_ticks


def _try_place(
    state: State,
    move: Move,
    newcomer: Newcomer,
    obstacles: list[Block],
    ghosts: list[Block],
    may_stall: bool,
) -> Place | Refusal:
    gaps = free_gaps(obstacles, newcomer.floor, newcomer.capacity)
    offset = _choose(state, move, newcomer, obstacles, gaps)
    if offset is None:
        hole = max((high - low for low, high in gaps), default=0)
        return Refusal(Reason.NO_PLACE, blockers=tuple(obstacles), floor=newcomer.floor, hole=hole)
    outcome = _evict(
        state, move, newcomer.size, newcomer.start, ghosts, offset, may_stall=may_stall
    )
    return replace(outcome, floor=newcomer.floor) if isinstance(outcome, Refusal) else outcome


def _evict(
    state: State,
    move: Move,
    size: int,
    start: int,
    ghosts: list[Block],
    offset: int,
    *,
    may_stall: bool,
) -> Place | Refusal:
    """The place at `offset`, where ghosts have to go, dirty ones after a write-back."""
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
        return replace(saved, hole=size)
    done = {b.group: b.deadline for b in saved}
    evicted = tuple(
        replace(b, end=max(b.busy + 1, done.get(b.group, 0)), is_dirty=False) for b in taken
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
    rules = state.facts.rules
    if newcomer.at_other_end:
        is_high = other_goes_high(rules, move, newcomer.capacity)
        return choose_offset(gaps, newcomer.size, is_high=is_high, is_best_fit=False)
    if rules.place == "support":
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

    What idle time does not cover of one is a stall at its deadline, where one is allowed and no
    copy is under way there: none is where the loop begins that the move is in.
    """
    facts = state.facts
    may_wait = may_stall and sum(b.work_ticks for b in blocks) < TICKS
    bookings, after = [], state.ledger.copy()
    for block in sorted(blocks, key=lambda b: (b.written, b.offset)):
        begin = max(block.written + 1, after.barrier(False), move.time - facts.rules.look_back)
        level = block.level
        end = facts.last_deadline(level, deadline)
        run = after.earliest(begin, end, level, block.work_ticks, is_prefetch=False)
        is_quiet = after.settled <= end or begins_loop_of(facts.program, end, move.time)
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
