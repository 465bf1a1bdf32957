"""What each action would do in a state of the reference game: the rules of `docs/model.md`.

Nothing here changes the state. What has no way in is refused. A hoisted copy is tried before other
ways; one that fails is no refusal.
"""

from __future__ import annotations

from dataclasses import replace

from engine.game.moves import COPY, DROP, KINDS, NO_COPY, Hoist, Move
from engine.game.quantise import TICKS
from engine.game.reference.blocks import (
    FIRST_HORIZON,
    OPEN,
    Block,
    Booking,
    Effect,
    Reason,
    Refusal,
    State,
    outermost_entered,
)
from engine.game.reference.ledger import Run
from engine.game.reference.placement import (
    LAST_TRY,
    TRIES,
    Place,
    clear_place,
    find_place,
    floor_of,
    write_back,
)
from engine.program.floors import above_floor
from engine.program.model import TOP_LEVEL, Program

PLAN, RULE, OTHER = range(3)
"""Where a newcomer goes: to the planned place, that of the place rule, or that of the other end."""


def copied(state: State, move: Move, valid_from: int, where: int) -> Effect:
    """A Copy as late as idle time allows; where no place is free then, later and with a stall."""
    begin = _earliest_start(state, move, valid_from, move.level)
    if begin > move.time:
        return Effect(COPY, Refusal(Reason.NO_START, start=begin, end=move.time))
    if where == PLAN:
        return _copied_to_plan(state, move, begin)
    at_other_end = where == OTHER
    refusal: Refusal | None = None
    for hidden, tries in (
        (move.work_ticks, TRIES),
        (move.work_ticks // 2, LAST_TRY),
        (0, LAST_TRY),
    ):
        run = state.ledger.latest(
            begin, move.time, move.level, move.work_ticks, hidden, is_prefetch=True
        )
        assert run is not None
        place = find_place(state, move, run.start, move.end, tries, at_other_end=at_other_end)
        if isinstance(place, Place):
            prefetch = Booking(move.group, True, move.time, run)
            return arrival(state, move, run.start, place, prefetch=prefetch)
        refusal = refusal or place
    assert refusal is not None
    return Effect(COPY, refusal)


def _copied_to_plan(state: State, move: Move, begin: int) -> Effect:
    """A Copy to the planned place, once what has to stand there is gone."""
    work = move.work_ticks
    run = state.ledger.latest(begin, move.time, move.level, work, work, is_prefetch=True)
    assert run is not None
    return _entered(state, move, run, move.level, move.time, move.end, work)


def _entered(
    state: State, move: Move, run: Run, level: int, deadline: int, end: int, work: int
) -> Effect:
    """The newcomer in its planned place, from where its copy starts or when the place is free."""
    offset = state.facts.planned.offset(move)
    assert offset is not None
    clearing = clear_place(state, move, offset, deadline, end)
    if isinstance(clearing, Refusal):
        return Effect(COPY, clearing)
    if clearing.since > run.start:
        start = min(deadline, state.facts.first_slot(level, clearing.since))
        run = state.ledger.run(start, deadline, work, is_prefetch=True)
    floor = floor_of(state, move, run.start)
    if run.start < state.horizon or not _fits(state, move, offset, floor):
        return Effect(COPY, Refusal(Reason.NO_PLACE, start=run.start, end=end, floor=floor))
    return arrival(
        state, move, run.start, clearing.place, prefetch=Booking(move.group, True, deadline, run)
    )


def _fits(state: State, move: Move, offset: int, floor: int) -> bool:
    return floor <= offset <= state.facts.numbers.fast_granules - move.size_granules


def hoisted(state: State, move: Move, hoist: Hoist, where: int) -> Effect | None:
    """A NoCopy whose copy is in front of the loop, and whose block covers the loop; or None."""
    if hoist.work_ticks >= TICKS or (hoist.is_lasting and must_return(state, move.group)):
        return None
    valid_from = state.valid_from[move.group]
    begin = _earliest_start(state, move, valid_from, hoist.level)
    if begin >= hoist.start:
        return None
    work, level = hoist.work_ticks, hoist.level
    run = state.ledger.latest(begin, hoist.start, level, work, work, is_prefetch=True)
    if run is None or run.stall or run.start >= hoist.start:
        return None
    ahead = replace(move, reserved_ahead=hoist.reserved_ahead, is_lasting=hoist.is_lasting)
    if where == PLAN:
        effect = _entered(state, ahead, run, level, hoist.start, hoist.end, work)
    else:
        place = find_place(state, ahead, run.start, hoist.end, at_other_end=where == OTHER)
        if isinstance(place, Refusal):
            return None
        prefetch = Booking(move.group, True, hoist.start, run)
        effect = arrival(state, move, run.start, place, prefetch=prefetch)
    if effect.block is None or effect.bookings[-1].stall_ticks:
        return None
    if effect.block.start >= hoist.start:
        return None
    block = replace(
        effect.block,
        busy=hoist.end - 1,
        level=hoist.level,
        level_end=state.facts.program.level_end(hoist.level),
        work_ticks=hoist.work_ticks,
    )
    return replace(effect, action=NO_COPY, block=block)


def _place(state: State, move: Move, start: int, end: int, where: int) -> Place | Refusal:
    if where != PLAN:
        return find_place(state, move, start, end, at_other_end=where == OTHER)
    offset = state.facts.planned.offset(move)
    assert offset is not None
    floor = floor_of(state, move, start)
    if start < state.horizon or not _fits(state, move, offset, floor):
        return Refusal(Reason.NO_PLACE, start=start, end=end, floor=floor)
    clearing = clear_place(state, move, offset, start, end)
    return clearing if isinstance(clearing, Refusal) else clearing.place


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
        busy=move.end - 1,
        end=OPEN,
        is_dirty=move.writes,
        written=move.end - 1,
        level=move.level,
        level_end=state.facts.program.level_end(move.level),
        work_ticks=move.work_ticks,
        next_rank=move.next_rank,
        needed_until=move.needed_until,
    )


def _earliest_start(state: State, move: Move, valid_from: int, level: int) -> int:
    """The first slot at which a copy of the move's group may start."""
    return max(
        state.horizon,
        state.ledger.barrier(True),
        move.time - state.facts.rules.look_back,
        valid_from,
        0 if level == TOP_LEVEL else state.facts.program.regions[level].start,
    )


def must_return(state: State, group: int) -> bool:
    """Whether the group is a kept input that has given up its place."""
    return any(b.is_kept and b.group == group for b in state.ended)


def covered_until(program: Program, start: int, time: int) -> int:
    """End of what a block from `start` must cover for slot `time`: the slot, or loops around it."""
    entered = outermost_entered(program, start, time)
    return time + 1 if entered == TOP_LEVEL else program.level_end(entered)


def last_busy(program: Program, start: int, move: Move) -> int:
    """Last slot in which a block from `start` must stand once it has served the move."""
    return max(covered_until(program, start, move.time), move.end) - 1


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
        state.ledger.barrier(True),
        end - state.facts.rules.look_back,
        *(b.end for b in state.ended if b.group == block.group or _share_addresses(b, block)),
    )
    work = block.work_ticks
    run = state.ledger.latest(min(begin, end), end, TOP_LEVEL, work, work, is_prefetch=True)
    assert run is not None
    stay = replace(block, start=min(run.start, state.facts.numbers.return_slot), end=end)
    return Booking(block.group, True, end, run), stay


def _share_addresses(first: Block, second: Block) -> bool:
    return first.offset < second.offset + second.size and second.offset < first.offset + first.size


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
    kind, is_other = KINDS[action], action != KINDS[action]
    enter = _copy if kind == COPY else _no_copy
    where = OTHER if is_other else RULE
    if state.facts.planned.offset(move) is not None:
        planned = enter(state, move, PLAN)
        if planned.is_legal and not is_other:
            return replace(planned, action=action)
        where = RULE if planned.is_legal or not is_other else OTHER
    return replace(enter(state, move, where), action=action)


def is_same_place(effect: Effect, other: Effect) -> bool:
    """Whether both actions are legal and end with the group's block in one place."""
    if effect.block is None or other.block is None:
        return False
    here, there = effect.block, other.block
    return (here.start, here.offset) == (there.start, there.offset)


def _refused(action: int, reason: Reason) -> Effect:
    return Effect(action, Refusal(reason))


def _no_copy(state: State, move: Move, where: int) -> Effect:
    block = state.live.get(move.group)
    if block is not None:
        kept = replace(
            block,
            busy=max(block.busy, last_busy(state.facts.program, block.start, move)),
            is_dirty=block.is_dirty or move.writes,
            written=move.end - 1 if move.writes else block.written,
            next_rank=move.next_rank,
            needed_until=move.needed_until,
        )
        return Effect(NO_COPY, block=kept, saving_s=gain_s(state, move))
    if move.reads:
        ahead = move.hoist and hoisted(state, move, move.hoist, where)
        return ahead or _stay_before(state, move, where)
    if move.work_ticks >= TICKS:
        return _refused(NO_COPY, Reason.TOO_LONG)
    place = _place(state, move, move.time, move.end, where)
    if isinstance(place, Refusal):
        return Effect(NO_COPY, place)
    return arrival(state, move, move.time, place)


def _stay_before(state: State, move: Move, where: int) -> Effect:
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
    place = _place(state, move, FIRST_HORIZON, program.num_slots, where)
    if isinstance(place, Refusal):
        return Effect(NO_COPY, place)
    block = new_block(state, move, FIRST_HORIZON, place.offset)
    block = replace(
        block,
        busy=last_busy(program, FIRST_HORIZON, move),
        level=TOP_LEVEL,
        level_end=program.num_slots,
        work_ticks=work,
        is_kept=True,
    )
    return Effect(NO_COPY, block=block, is_new=True, saving_s=gain_s(state, move))


def _copy(state: State, move: Move, where: int) -> Effect:
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
    entry = copied(state, move, valid_from, where)
    if leaving is None or not entry.is_legal:
        return entry
    return replace(
        entry,
        dropped=leaving.dropped,
        bookings=leaving.bookings + entry.bookings,
        stall_ticks=leaving.stall_ticks + entry.stall_ticks,
    )


def _leave(state: State, move: Move, block: Block) -> Effect:
    """The end of a resident block that is planned elsewhere, or would have to cover a loop."""
    planned = state.facts.planned.offset(move)
    is_elsewhere = planned is not None and planned != block.offset
    is_bound = covered_until(state.facts.program, block.start, move.time) > move.time + 1
    if block.is_kept or not (is_elsewhere or is_bound):
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
    begin = max(block.written + 1, state.ledger.barrier(False), move.time - facts.rules.look_back)
    run = state.ledger.earliest(
        min(begin, move.time), move.time, block.level, move.work_ticks, is_prefetch=False
    )
    assert run is not None
    booking = Booking(move.group, False, move.time, run)
    if booking.stall_ticks and facts.rules.strict:
        refusal = Refusal(
            Reason.STALL,
            start=run.start,
            end=move.time,
            blockers=(block,),
            needed_ticks=move.work_ticks,
            free_ticks=run.idle,
        )
        return Effect(DROP, refusal)
    return Effect(
        DROP,
        dropped=replace(block, end=move.time, is_dirty=False),
        bookings=(booking,),
        stall_ticks=booking.stall_ticks,
    )
