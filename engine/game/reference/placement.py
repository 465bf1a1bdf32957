"""Where a newcomer stands in the reference game, and the write-backs of the ghosts it displaces.

`support` and `roomy` try the two ends of every free gap that is large enough. Addresses are
granules. A *giant* is a group of more than half of what the scratch leaves: wherever it stands, it
covers the middle, so a small tensor there keeps it out however much is free on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
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

    `time`: slot of its move. `rank`: of the touch that it serves, as in `Move`. `needed_until`:
    last slot in which it is known to be needed. `is_long`: its group is touched again late enough
    to belong at the high end. `is_lasting`: it may still stand where kept inputs come back.
    `at_other_end`: not where the place rule says; `is_high`: that is at the high end (of rules that
    look ahead: at the other end only).
    """

    group: int
    time: int
    rank: int
    size: int
    start: int
    needed_until: int
    lowest: int
    capacity: int
    is_long: bool
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
    if at_other_end:
        is_high = other_goes_high(rules, move, capacity)
    else:
        is_high = not rules.looks_ahead and goes_high(rules, move, capacity)
    return Newcomer(
        group=move.group,
        time=move.time,
        rank=move.rank,
        size=move.size_granules,
        start=start,
        needed_until=max(end - 1, move.needed_until),
        lowest=lowest_offset(state, move, start),
        capacity=capacity,
        is_long=lives_long(move),
        is_lasting=move.is_lasting,
        at_other_end=at_other_end,
        is_high=is_high,
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


def room_for_giants(newcomer: Newcomer, touches: Sequence[GiantTouch]) -> int:
    """Granules to keep free beside the newcomer: those of the largest giant of another group.

    Only giants count that are touched while the newcomer is needed, or soon after (their copy
    begins before their touch), and that fit beside it. 0 if there is none.
    """
    rest = newcomer.capacity - newcomer.lowest - newcomer.size
    return max(
        (
            t.size
            for t in touches
            if newcomer.start <= t.time <= newcomer.needed_until + NEAR_TOUCH
            and t.group != newcomer.group
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
    below[newcomer.lowest] = above[newcomer.capacity] = newcomer.needed_until

    def cost(place: tuple[int, int]) -> tuple[int, int]:
        offset, neighbour_until = place
        missing = max(0, newcomer.needed_until - neighbour_until)
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
    lasting = [b for b in obstacles if b.standing_until >= newcomer.needed_until]
    room = _room_left(free_gaps(lasting, newcomer.lowest, newcomer.capacity), newcomer.size)
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
    """A place for the newcomer `[start, end)`; under `support`, first above room for giants."""
    if where is Where.PLAN:
        bar = bar_of_planned_place(state, move, start, end)
        return bar or clear_planned_place(state, move, start, end)
    if start < state.horizon:
        return Refusal(Reason.FORGOTTEN, start=state.horizon, end=end)
    newcomer = _newcomer(state, move, start, end, at_other_end=where is Where.OTHER)
    for narrower in _above_room_for_giants(state, newcomer):
        outcome = _in_tries(state, narrower, tries)
        if isinstance(outcome, Place):
            return outcome
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


def _above_room_for_giants(state: State, newcomer: Newcomer) -> Iterator[Newcomer]:
    """The newcomer, confined to addresses above room for giants."""
    if state.facts.rules.place == "support" and not newcomer.at_other_end:
        room = room_for_giants(newcomer, giant_touches(state.facts))
        if room:
            yield replace(newcomer, lowest=newcomer.lowest + room)


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
    yielding = ghosts
    if state.facts.rules.looks_ahead:
        stays = [b.is_dirty and not _fits_before(state, newcomer, b) for b in ghosts]
        solid += [b for b, must_stay in zip(ghosts, stays, strict=True) if must_stay]
        yielding = [b for b, must_stay in zip(ghosts, stays, strict=True) if not must_stay]
    refusal: Refusal | None = None
    for one in tries:
        obstacles = solid + [b for b in yielding if one.spares(b, newcomer)]
        outcome = _try_place(state, newcomer, obstacles, ghosts, one.may_stall)
        if isinstance(outcome, Place):
            return outcome
        refusal = outcome
    assert refusal is not None
    return refusal


def _fits_before(state: State, newcomer: Newcomer, block: Block) -> bool:
    """Whether idle time is left to write the block back before the newcomer, levels apart."""
    begin = max(
        block.written + 1,
        state.ledger.earliest_start(is_prefetch=False),
        newcomer.time - state.facts.rules.look_back,
    )
    return sum(state.ledger.left[begin : newcomer.start]) >= block.work_ticks


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
    place, at_rule = state.facts.rules.place, not newcomer.at_other_end
    if at_rule and place == "support":
        return supported_offset(newcomer, obstacles, gaps)
    if at_rule and place == "roomy":
        return roomiest_offset(newcomer, obstacles, gaps)
    is_best_fit = at_rule and place == BEST_FIT
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
