"""What each action would do in a state of the reference game: the rules of `docs/model.md`.

Nothing here changes the state. `effect_of` is total: an illegal action gets a refusal.
"""

from __future__ import annotations

from dataclasses import replace

from engine.game.moves import COPY, DROP, KINDS, NO_COPY, Move
from engine.game.quantise import TICKS
from engine.game.reference.arrival import (
    arrival,
    copied,
    gain_s,
    hoisted,
    last_busy,
    must_return,
    new_block,
)
from engine.game.reference.blocks import Block, Booking, Effect, Reason, Refusal
from engine.game.reference.context import FIRST_HORIZON, State
from engine.game.reference.placement import find_place, write_back
from engine.program.model import TOP_LEVEL


def effect_of(state: State, move: Move, action: int) -> Effect:
    """What `action` would do at `move`; another end may turn out to be the same place."""
    if move.is_sink:
        if action != DROP:
            return _refused(action, Reason.SINK)
        return _sink(state, move)
    if action == DROP:
        return _drop(state, move)
    if move.must_be_slow:
        return _refused(action, Reason.MUST_BE_SLOW)
    kind, at_other_end = KINDS[action], action != KINDS[action]
    enter = _copy if kind == COPY else _no_copy
    return replace(enter(state, move, at_other_end), action=action)


def is_same_place(effect: Effect, other: Effect) -> bool:
    """Whether both actions are legal and end with the group's block in one place."""
    if effect.block is None or other.block is None:
        return False
    here, there = effect.block, other.block
    return (here.start, here.offset) == (there.start, there.offset)


def _refused(action: int, reason: Reason) -> Effect:
    return Effect(action, Refusal(reason))


def _no_copy(state: State, move: Move, at_other_end: bool) -> Effect:
    block = state.live.get(move.group)
    if block is not None:
        kept = replace(
            block,
            busy=max(block.busy, last_busy(state.facts.program, block.start, move.time)),
            is_dirty=block.is_dirty or move.writes,
            written=move.time if move.writes else block.written,
            next_rank=move.next_rank,
            needed_until=move.needed_until,
        )
        return Effect(NO_COPY, block=kept, saving_s=gain_s(state, move))
    if move.reads:
        ahead = move.hoist and hoisted(state, move, move.hoist, at_other_end)
        return ahead or _stay_before(state, move, at_other_end)
    if move.work_ticks >= TICKS:
        return _refused(NO_COPY, Reason.TOO_LONG)
    place = find_place(state, move, move.time, move.time + 1, at_other_end=at_other_end)
    if isinstance(place, Refusal):
        return Effect(NO_COPY, place)
    return arrival(state, move, move.time, place)


def _stay_before(state: State, move: Move, at_other_end: bool) -> Effect:
    """A cross-program prefetch: the previous run left the input in place."""
    program = state.facts.program
    if not move.may_stay_before:
        return _refused(NO_COPY, Reason.NOT_THERE)
    if state.num_stayed_before >= program.hardware.max_cross_program_prefetches:
        return _refused(NO_COPY, Reason.INPUTS_TAKEN)
    if state.horizon != FIRST_HORIZON:
        return Effect(NO_COPY, Refusal(Reason.FORGOTTEN, start=state.horizon))
    work = state.facts.numbers.ticks_up(program.groups[move.group].size_bytes)
    if work >= TICKS:
        return _refused(NO_COPY, Reason.TOO_LONG)
    place = find_place(state, move, FIRST_HORIZON, program.num_slots, at_other_end=at_other_end)
    if isinstance(place, Refusal):
        return Effect(NO_COPY, place)
    block = new_block(state, move, FIRST_HORIZON, place.offset)
    block = replace(
        block,
        busy=last_busy(program, FIRST_HORIZON, move.time),
        level=TOP_LEVEL,
        level_end=program.num_slots,
        work_ticks=work,
        is_kept=True,
    )
    return Effect(NO_COPY, block=block, is_new=True, saving_s=gain_s(state, move))


def _copy(state: State, move: Move, at_other_end: bool) -> Effect:
    """A copy that ends at the move; of a resident, after its block has ended."""
    if not move.reads:
        return _refused(COPY, Reason.PURE_WRITE)
    if move.is_lasting and must_return(state, move.group):
        return _refused(COPY, Reason.RETURNS)
    if move.work_ticks >= TICKS:
        return _refused(COPY, Reason.TOO_LONG)
    leaving, valid_from = None, state.valid_from[move.group]
    if move.group in state.live:
        leaving = _leave(state, move, state.live[move.group])
        if leaving.refusal or leaving.dropped is None:
            return leaving
        valid_from = leaving.dropped.end
    entry = copied(state, move, valid_from, at_other_end)
    if leaving is None or not entry.is_legal:
        return entry
    return replace(
        entry,
        dropped=leaving.dropped,
        bookings=leaving.bookings + entry.bookings,
        stall_ticks=leaving.stall_ticks + entry.stall_ticks,
    )


def _leave(state: State, move: Move, block: Block) -> Effect:
    """The end of a resident block which would else have to cover the loop that the move is in."""
    is_bound = last_busy(state.facts.program, block.start, move.time) > move.time
    if not is_bound or block.is_kept:
        return _refused(COPY, Reason.RESIDENT)
    return replace(_drop(state, move), action=COPY)


def _drop(state: State, move: Move) -> Effect:
    block = state.live.get(move.group)
    if block is None:
        return Effect(DROP)
    if block.busy >= move.time:
        blockers = Refusal(
            Reason.MUST_STAND, start=block.start, end=block.busy + 1, blockers=(block,)
        )
        return Effect(DROP, blockers)
    if not (block.is_dirty and move.reads):
        is_too_late = block.is_kept and block.busy >= state.facts.numbers.return_slot
        end = state.facts.program.num_slots if is_too_late else block.busy + 1
        return Effect(DROP, dropped=replace(block, end=end))
    saved = write_back(state, move, (block,), move.time, may_stall=True)
    if isinstance(saved, Refusal):
        return Effect(DROP, saved)
    dropped = replace(block, end=max(block.busy + 1, saved[0].deadline), is_dirty=False)
    return Effect(DROP, dropped=dropped, bookings=saved, stall_ticks=saved[0].stall_ticks)


def _sink(state: State, move: Move) -> Effect:
    facts, block = state.facts, state.live.get(move.group)
    region_start = 0 if move.level == TOP_LEVEL else facts.program.regions[move.level].start
    if block is None or not block.is_dirty or block.start < region_start:
        return Effect(DROP, block=block)
    barrier = state.barrier(is_prefetch=False, deadline=move.time)
    begin = max(block.written + 1, barrier, move.time - facts.rules.look_back)
    start = min(move.time, facts.first_slot(block.level, begin))
    free = sum(state.left[start : move.time])
    booking = Booking(
        move.group, False, start, move.time, move.work_ticks, max(0, move.work_ticks - free)
    )
    if booking.stall_ticks and facts.rules.strict:
        refusal = Refusal(
            Reason.STALL,
            start=start,
            end=move.time,
            blockers=(block,),
            needed_ticks=move.work_ticks,
            free_ticks=free,
        )
        return Effect(DROP, refusal)
    return Effect(
        DROP,
        dropped=replace(block, end=move.time, is_dirty=False),
        bookings=(booking,),
        stall_ticks=booking.stall_ticks,
    )
