"""How a group comes into fast memory: where its copy runs, and the block that it gets there.

Nothing here changes the state. What has no way in is refused; a hoisted copy is tried before other
ways, so that it has none of its own to refuse.
"""

from __future__ import annotations

from dataclasses import replace

from engine.game.moves import COPY, NO_COPY, Hoist, Move
from engine.game.quantise import TICKS
from engine.game.reference.blocks import OPEN, Block, Booking, Effect, Reason, Refusal
from engine.game.reference.context import State, outermost_entered
from engine.game.reference.placement import LAST_TRY, TRIES, Place, find_place
from engine.program.floors import above_floor
from engine.program.model import TOP_LEVEL, Program


def copied(state: State, move: Move, valid_from: int, at_other_end: bool) -> Effect:
    """A Copy as late as idle time allows; where no place is free then, later and with a stall."""
    begin = _earliest_start(state, move, valid_from, move.level, move.time)
    if begin > move.time:
        return Effect(COPY, Refusal(Reason.NO_START, start=begin, end=move.time))
    refusal: Refusal | None = None
    for hidden, tries in (
        (move.work_ticks, TRIES),
        (move.work_ticks // 2, LAST_TRY),
        (0, LAST_TRY),
    ):
        start, _ = latest_start(state, begin, move.time, move.level, hidden)
        place = find_place(state, move, start, move.time + 1, tries, at_other_end=at_other_end)
        if isinstance(place, Place):
            stall = max(0, move.work_ticks - sum(state.left[start : move.time]))
            prefetch = Booking(move.group, True, start, move.time, move.work_ticks, stall)
            return arrival(state, move, start, place, prefetch=prefetch)
        refusal = refusal or place
    assert refusal is not None
    return Effect(COPY, refusal)


def hoisted(state: State, move: Move, hoist: Hoist, at_other_end: bool) -> Effect | None:
    """A NoCopy whose copy is in front of the loop, and whose block covers the loop; or None."""
    if hoist.work_ticks >= TICKS or (hoist.is_lasting and must_return(state, move.group)):
        return None
    valid_from = state.valid_from[move.group]
    begin = _earliest_start(state, move, valid_from, hoist.level, hoist.start)
    if begin >= hoist.start:
        return None
    start, shortfall = latest_start(state, begin, hoist.start, hoist.level, hoist.work_ticks)
    if shortfall or start >= hoist.start:
        return None
    ahead = replace(move, reserved_ahead=hoist.reserved_ahead, is_lasting=hoist.is_lasting)
    place = find_place(state, ahead, start, hoist.end, at_other_end=at_other_end)
    if isinstance(place, Refusal):
        return None
    prefetch = Booking(move.group, True, start, hoist.start, hoist.work_ticks)
    effect = arrival(state, move, start, place, prefetch=prefetch)
    assert effect.block is not None
    block = replace(
        effect.block,
        busy=hoist.end - 1,
        level=hoist.level,
        level_end=state.facts.program.level_end(hoist.level),
        work_ticks=hoist.work_ticks,
    )
    return replace(effect, action=NO_COPY, block=block)


def arrival(
    state: State, move: Move, start: int, place: Place, *, prefetch: Booking | None = None
) -> Effect:
    bookings = place.bookings + ((prefetch,) if prefetch else ())
    return Effect(
        COPY if prefetch else NO_COPY,
        block=new_block(state, move, start, place.offset),
        is_new=True,
        evicted=place.evicted,
        bookings=bookings,
        saving_s=gain_s(state, move),
        stall_ticks=sum(b.stall_ticks for b in bookings),
    )


def new_block(state: State, move: Move, start: int, offset: int) -> Block:
    return Block(
        group=move.group,
        offset=offset,
        size=move.size_granules,
        start=start,
        busy=move.time,
        end=OPEN,
        is_dirty=move.writes,
        written=move.time,
        level=move.level,
        level_end=state.facts.program.level_end(move.level),
        work_ticks=move.work_ticks,
        next_rank=move.next_rank,
        needed_until=move.needed_until,
    )


def _earliest_start(state: State, move: Move, valid_from: int, level: int, deadline: int) -> int:
    """The first slot at which a copy of the move's group may start."""
    return max(
        state.horizon,
        state.barrier(is_prefetch=True, deadline=deadline),
        move.time - state.facts.rules.look_back,
        valid_from,
        0 if level == TOP_LEVEL else state.facts.program.regions[level].start,
    )


def latest_start(
    state: State, begin: int, deadline: int, level: int, work_ticks: int
) -> tuple[int, int]:
    """Latest slot of the level whence the copy fits, else the earliest and the shortfall."""
    left, level_of = state.left, state.facts.numbers.slot_level
    start, missing = deadline, work_ticks
    shortfall = missing
    for slot in range(deadline - 1, begin - 1, -1):
        if shortfall <= 0:
            break
        missing -= left[slot]
        if level_of[slot] == level:
            start, shortfall = slot, missing
    return start, max(0, shortfall)


def must_return(state: State, group: int) -> bool:
    """Whether the group is a kept input that has given up its place."""
    return any(b.is_kept and b.group == group for b in state.ended)


def last_busy(program: Program, start: int, time: int) -> int:
    entered = outermost_entered(program, start, time)
    return time if entered == TOP_LEVEL else program.level_end(entered) - 1


def gain_s(state: State, move: Move) -> float:
    """What the move saves: less than `saving_s` where the instruction's floor is reached."""
    return float(above_floor(move.saving_s, state.spare_s))


def returned(state: State, block: Block) -> tuple[Booking, Block]:
    """The copy that brings a kept input back to its place by the end, and the stay that it fills.

    The stay is the block itself, with other slots.
    """
    end = state.facts.program.num_slots
    begin = max(
        state.horizon,
        state.barrier(is_prefetch=True, deadline=end),
        end - state.facts.rules.look_back,
        *(b.end for b in state.ended if b.group == block.group or _share_addresses(b, block)),
    )
    start, shortfall = latest_start(state, begin, end, TOP_LEVEL, block.work_ticks)
    booking = Booking(block.group, True, start, end, block.work_ticks, shortfall)
    return booking, replace(block, start=min(start, state.facts.numbers.return_slot), end=end)


def _share_addresses(first: Block, second: Block) -> bool:
    return first.offset < second.offset + second.size and second.offset < first.offset + first.size
