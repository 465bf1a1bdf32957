"""What each action would do in a state of the reference game: the rules of `docs/model.md`.

These functions do not change the state. They return an `Effect`, with a `refusal` if the action is
illegal; `effect_of` alone says whose action it is. A NoCopy that reads tries a copy in front of the
loop first; if that fails it goes on to a cross-program prefetch.
"""

from __future__ import annotations

from dataclasses import replace

from engine.game.moves import COPY, DROP, KINDS, Hoist, Move
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
    Where,
    bar_of_planned_place,
    clear_planned_place,
    find_place,
    write_back,
)
from engine.program.floors import above_floor
from engine.program.model import TOP_LEVEL, Program


def effect_of(state: State, move: Move, action: int) -> Effect:
    """What `action` would do at `move`; another end may turn out to be the same place.

    Where a newcomer goes:

    | planned place | Copy, NoCopy       | at the other end          |
    |---------------|--------------------|---------------------------|
    | none          | where the rule says| the rule's other end      |
    | can be had    | there              | where the rule says       |
    | is barred     | where the rule says| the rule's other end      |
    """
    return replace(_effect_of(state, move, action), action=action)


def _effect_of(state: State, move: Move, action: int) -> Effect:
    if move.is_sink:
        return _sink(state, move) if action == DROP else _refused(Reason.SINK)
    if action == DROP:
        return _drop(state, move)
    if move.must_be_slow:
        return _refused(Reason.MUST_BE_SLOW)
    is_other = action != KINDS[action]
    enter = _copy if KINDS[action] == COPY else _no_copy
    if state.facts.planned.offset(move) is not None:
        planned = enter(state, move, Where.PLAN)
        if planned.is_legal:
            return enter(state, move, Where.RULE) if is_other else planned
    return enter(state, move, Where.OTHER if is_other else Where.RULE)


def is_same_place(effect: Effect, other: Effect) -> bool:
    """Whether both actions are legal and end with the group's block in one place."""
    if effect.block is None or other.block is None:
        return False
    here, there = effect.block, other.block
    return (here.start, here.offset) == (there.start, there.offset)


def _refused(reason: Reason, start: int = 0, end: int = 0) -> Effect:
    return Effect(refusal=Refusal(reason, start=start, end=end))


def _copy(state: State, move: Move, where: Where) -> Effect:
    """A copy that ends at the move; of a resident, after its block has ended."""
    if not move.reads:
        return _refused(Reason.PURE_WRITE)
    if move.is_lasting and must_return(state, move.group):
        return _refused(Reason.RETURNS)
    if move.work_ticks >= TICKS:
        return _refused(Reason.TOO_LONG)
    leaving, valid_from = None, state.valid_from[move.group]
    if move.group in state.live:
        leaving = _leave(state, move, state.live[move.group])
        if leaving.refusal or leaving.dropped is None:
            return leaving
        valid_from = leaving.dropped.end
    entry = copy_effect(state, move, valid_from, where)
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
        return _refused(Reason.RESIDENT)
    return _drop(state, move)


def copy_effect(state: State, move: Move, valid_from: int, where: Where) -> Effect:
    """A Copy as late as idle time allows; where no place is free then, later and with a stall."""
    begin, work = _earliest_start(state, move, valid_from, move.level), move.work_ticks
    if begin > move.time:
        return _refused(Reason.NO_START, begin, move.time)

    def latest(cover: int) -> Run:
        run = state.ledger.latest(begin, move.time, move.level, work, cover, is_prefetch=True)
        assert run is not None
        return run

    if where is Where.PLAN:
        level, time = move.level, move.time
        return enter_planned_place(state, move, latest(work), begin, level, time, move.end, work)
    refusal: Refusal | None = None
    for cover, tries in ((work, TRIES), (work // 2, LAST_TRY), (0, LAST_TRY)):
        run = latest(cover)
        place = find_place(state, move, run.start, move.end, where, tries)
        if isinstance(place, Place):
            prefetch = Booking(move.group, True, move.time, run)
            return arrival_effect(state, move, run.start, place, prefetch)
        refusal = refusal or place
    return Effect(refusal=refusal)


def enter_planned_place(
    state: State, move: Move, run: Run, begin: int, level: int, deadline: int, end: int, work: int
) -> Effect:
    """The newcomer in its planned place: as soon as that is planned and free, or by its copy `run`.

    The place is the newcomer's from then on, so an early copy keeps nobody out, and leaves later
    idle time to others; it comes later where compute would wait longer for it. `begin`: the first
    slot in which the copy may start.
    """
    place = clear_planned_place(state, move, deadline, end)
    if isinstance(place, Refusal):
        return Effect(refusal=place)

    def started(slot: int) -> Run:
        start = min(deadline, state.facts.first_slot(level, slot))
        return state.ledger.run(start, deadline, work, is_prefetch=True)

    if place.free_since > run.start:
        run = started(place.free_since)
    early = started(max(begin, place.free_since, state.facts.planned.since(move)))
    is_early = early.start < run.start and early.stall <= run.stall
    if is_early and bar_of_planned_place(state, move, early.start, end) is None:
        run = early
    bar = bar_of_planned_place(state, move, run.start, end)
    if bar is not None:
        return Effect(refusal=bar)
    prefetch = Booking(move.group, True, deadline, run)
    return arrival_effect(state, move, run.start, place, prefetch)


def arrival_effect(
    state: State, move: Move, start: int, place: Place, prefetch: Booking | None = None
) -> Effect:
    """The newcomer in its place from slot `start` on, copied in or written there."""
    bookings = place.bookings + ((prefetch,) if prefetch else ())
    return Effect(
        block=new_block(state, move, start, place.offset),
        is_new=True,
        displaced=place.displaced,
        bookings=bookings,
        saving_s=gain_s(state, move),
        stall_ticks=sum(b.stall_ticks for b in bookings),
    )


def _no_copy(state: State, move: Move, where: Where) -> Effect:
    block = state.live.get(move.group)
    if block is not None:
        kept = replace(
            block,
            busy=max(block.busy, last_busy(state.facts.program, block.start, move)),
            is_dirty=block.is_dirty or move.writes,
            written=move.end - 1 if move.writes else block.written,
            next_rank=move.next_rank,
        )
        return Effect(block=kept, saving_s=gain_s(state, move))
    if move.reads:
        ahead = move.hoist and hoist_effect(state, move, move.hoist, where)
        return ahead or _stay_before(state, move, where)
    if move.work_ticks >= TICKS:
        return _refused(Reason.TOO_LONG)
    place = find_place(state, move, move.time, move.end, where)
    if isinstance(place, Refusal):
        return Effect(refusal=place)
    return arrival_effect(state, move, move.time, place)


def hoist_effect(state: State, move: Move, hoist: Hoist, where: Where) -> Effect | None:
    """A NoCopy whose copy is in front of the loop, and whose block covers the loop; or None."""
    if hoist.work_ticks >= TICKS or (hoist.is_lasting and must_return(state, move.group)):
        return None
    begin = _earliest_start(state, move, state.valid_from[move.group], hoist.level)
    if begin >= hoist.start:
        return None
    work, level = hoist.work_ticks, hoist.level
    run = state.ledger.latest(begin, hoist.start, level, work, work, is_prefetch=True)
    if run is None or run.stall or run.start >= hoist.start:
        return None
    ahead = replace(move, reserved_ahead=hoist.reserved_ahead, is_lasting=hoist.is_lasting)
    if where is Where.PLAN:
        effect = enter_planned_place(state, ahead, run, begin, level, hoist.start, hoist.end, work)
    else:
        place = find_place(state, ahead, run.start, hoist.end, where)
        if isinstance(place, Refusal):
            return None
        prefetch = Booking(move.group, True, hoist.start, run)
        effect = arrival_effect(state, move, run.start, place, prefetch)
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
    return replace(effect, block=block)


def _stay_before(state: State, move: Move, where: Where) -> Effect:
    """A cross-program prefetch: the previous run left the input in place."""
    program = state.facts.program
    if not move.may_stay_before:
        return _refused(Reason.NOT_THERE)
    if state.num_stayed_before >= program.hardware.max_cross_program_prefetches:
        return _refused(Reason.INPUTS_TAKEN)
    if state.horizon != FIRST_HORIZON:
        return _refused(Reason.FORGOTTEN, state.horizon)
    work = state.facts.numbers.ticks_up(program.groups[move.group].size_bytes)
    if work >= TICKS:
        return _refused(Reason.TOO_LONG)
    place = find_place(state, move, FIRST_HORIZON, program.num_slots, where)
    if isinstance(place, Refusal):
        return Effect(refusal=place)
    block = new_block(state, move, FIRST_HORIZON, place.offset)
    block = replace(
        block,
        busy=last_busy(program, FIRST_HORIZON, move),
        level=TOP_LEVEL,
        level_end=program.num_slots,
        work_ticks=work,
        is_kept=True,
    )
    return Effect(block=block, is_new=True, saving_s=gain_s(state, move))


def _drop(state: State, move: Move) -> Effect:
    block = state.live.get(move.group)
    if block is None:
        return Effect()
    if block.busy >= move.time:
        blockers = Refusal(
            Reason.MUST_STAND, start=block.start, end=block.busy + 1, blockers=(block,)
        )
        return Effect(refusal=blockers)
    if block.is_dirty and state.facts.program.touches[move.touch].is_alternative:
        return _refused(Reason.OTHER_BRANCH)
    if not (block.is_dirty and move.reads):
        is_too_late = block.is_kept and block.busy >= state.facts.numbers.return_slot
        end = state.facts.program.num_slots if is_too_late else block.busy + 1
        return Effect(dropped=replace(block, end=end))
    booked = write_back(state, move.time, (block,), move.time, may_stall=True)
    if isinstance(booked, Refusal):
        return Effect(refusal=booked)
    dropped = replace(block, end=max(block.busy + 1, booked[0].deadline), is_dirty=False)
    return Effect(dropped=dropped, bookings=booked, stall_ticks=booked[0].stall_ticks)


def _sink(state: State, move: Move) -> Effect:
    facts, block = state.facts, state.live.get(move.group)
    region_start = 0 if move.level == TOP_LEVEL else facts.program.regions[move.level].start
    if block is None or not block.is_dirty or block.start < region_start:
        return Effect(block=block)
    earliest = state.ledger.earliest_start(is_prefetch=False)
    begin = max(block.written + 1, earliest, move.time - facts.rules.look_back)
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
        return Effect(refusal=refusal)
    return Effect(
        dropped=replace(block, end=move.time, is_dirty=False),
        bookings=(booking,),
        stall_ticks=booking.stall_ticks,
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
    )


def _earliest_start(state: State, move: Move, valid_from: int, level: int) -> int:
    """The first slot at which a copy of the move's group may start."""
    return max(
        state.horizon,
        state.ledger.earliest_start(is_prefetch=True),
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


def return_copy(state: State, block: Block) -> tuple[Booking, Block]:
    """The copy that brings a kept input back to its place by the end, and the stay that it fills.

    The stay is the block itself, with other slots.
    """
    end = state.facts.program.num_slots
    begin = max(
        state.horizon,
        state.ledger.earliest_start(is_prefetch=True),
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
