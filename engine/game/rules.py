"""The rules of the mallocGame in JAX: for one game, pure and total; vmap outside.

`docs/model.md` has the rules and `engine.game.moves` says how its open points are read. `analyse`
finds what each action would do, once; `apply` plays one of them. Letters as in
`engine.game.state`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.encode import EncodedProgram, MoveRow
from engine.game.entry import Entry, find_entry
from engine.game.ledger import Span, Window, advance, book, window_of, write_back_span
from engine.game.moves import COPY, DROP, NO_COPY, TICKS
from engine.game.places import NO_PLACE, taken_ghosts
from engine.game.state import FIRST_HORIZON, State, Table, end_blocks, insert, is_over
from engine.program.model import TOP_LEVEL


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Own:
    """The live block of the move's group; meaningless where `is_resident` is false."""

    is_resident: Array
    start: Array
    until: Array
    written: Array
    level: Array
    level_end: Array
    work: Array
    is_dirty: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Options:
    """What each action would do in one position; all scalars but `mask`.

    `mask`: legal actions. A newcomer would stand at `offset` from `start` on (as a cross-program
    prefetch at `offset_before` from -1 on), until `until` and at `level` (which differ from the
    move's where the copy is hoisted out of a loop); its copy takes `copy_work` ticks from the slot
    with prefix sum `copy_begin` on and stalls for `copy_stall`. The write-back that goes before it,
    or with a Drop, takes `saved_work` from `saved_begin` on, until `saved_deadline`.
    """

    mask: Array  # [3]
    is_over: Array
    own: Own
    start: Array
    offset: Array
    offset_before: Array
    until: Array
    level: Array
    copy_begin: Array
    copy_work: Array
    copy_stall: Array
    is_saved: Array
    saved_begin: Array
    saved_work: Array
    saved_deadline: Array
    sink_stall: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StepOutcome:
    """What one move did.

    `reward` is `reward_ticks / 2^30`: the saving taken less the stall. `action`: the one played.
    `offset`: in granules, of the group's new block, else -1. `start`: first slot of the new block.
    """

    reward: Array
    reward_ticks: Array
    stall_ticks: Array
    action: Array
    offset: Array
    start: Array


def analyse(encoded: EncodedProgram, state: State) -> Options:
    """What each action would do now. Once the game is over all actions are legal and do nothing."""
    row = encoded.row(state.move)
    window = window_of(encoded, state, row)
    own = _own_block(encoded, state.table, row)
    over = is_over(encoded, state)
    entry, offset_before = find_entry(encoded, state, row, window)
    saved = _saved(state, row, window, own)
    newcomer = entry.newcomer
    mask, sink_stall = _mask(encoded, state, row, own, entry, offset_before, saved)
    is_sunk = row.is_sink > 0
    return Options(
        # Nothing can go wrong after the end, so searches may step on without special cases.
        mask=mask | over,
        is_over=over,
        own=own,
        start=entry.start,
        offset=newcomer.offset,
        offset_before=offset_before,
        until=entry.until,
        level=entry.level,
        copy_begin=entry.copy_begin,
        copy_work=entry.copy_work,
        copy_stall=entry.copy_stall,
        is_saved=jnp.where(own.is_resident, _needs_saving(row, own), newcomer.is_saved),
        saved_begin=jnp.where(own.is_resident, saved.begin, newcomer.saved_begin),
        saved_work=jnp.where(own.is_resident, own.work, newcomer.saved_work),
        saved_deadline=jnp.where(is_sunk, saved.deadline, jnp.maximum(own.until, saved.done)),
        sink_stall=sink_stall,
    )


def _own_block(encoded: EncodedProgram, table: Table, row: MoveRow) -> Own:
    here = table.is_live & (table.group == row.group)

    def pick(column: Array) -> Array:
        return jnp.sum(jnp.where(here, column, 0), dtype=jnp.int32)

    level = pick(table.level)
    return Own(
        is_resident=jnp.any(here),
        start=pick(table.start),
        until=pick(table.until),
        written=pick(table.written),
        level=level,
        level_end=encoded.level_end[level + 1],
        work=pick(table.work),
        is_dirty=jnp.any(here & table.is_dirty),
    )


def _saved(state: State, row: MoveRow, window: Window, own: Own) -> Span:
    """Where the group's own block can be written back before the move."""
    earliest = jnp.maximum(own.written, state.barrier)
    return write_back_span(window, own.level, own.level_end, earliest, row.time, own.work)


def _needs_saving(row: MoveRow, own: Own) -> Array:
    """Whether a Drop of the resident block needs its content in slow memory."""
    is_sunk = (row.is_sink > 0) & (own.start >= row.region_start)
    return own.is_dirty & ((row.reads > 0) | is_sunk)


def _mask(
    encoded: EncodedProgram,
    state: State,
    row: MoveRow,
    own: Own,
    entry: Entry,
    offset_before: Array,
    saved: Span,
) -> tuple[Array, Array]:
    """The legal actions, and the stall of a sink."""
    is_touch = row.is_sink == 0
    reads = row.reads > 0
    may_enter = is_touch & ~own.is_resident
    enters = entry.is_possible & entry.newcomer.is_possible & (entry.copy_work < TICKS)
    copy_ok = may_enter & reads & enters
    write_ok = may_enter & ~reads & enters & (row.time >= state.horizon)
    before_ok = (
        may_enter
        & (row.may_stay_before > 0)
        & (state.num_stays_before < encoded.max_stays_before)
        & (state.horizon == FIRST_HORIZON)
        & (offset_before != NO_PLACE)
    )
    no_copy_ok = (is_touch & own.is_resident) | write_ok | before_ok
    needs_saving = own.is_resident & _needs_saving(row, own)
    lacking = jnp.where(needs_saving, own.work - jnp.maximum(saved.idle, 0), 0)
    lacking = jnp.maximum(lacking, 0)
    touch_drop_ok = ~own.is_resident | (
        (own.until <= row.time) & ~(needs_saving & ((lacking > 0) | ~saved.is_possible))
    )
    sink_ok = (lacking == 0) | (not encoded.is_strict)
    drop_ok = jnp.where(is_touch, touch_drop_ok, sink_ok)
    return jnp.stack([copy_ok, no_copy_ok, drop_ok]), jnp.where(is_touch, 0, lacking)


def nearest_legal(options: Options, action: Array) -> Array:
    """The action if legal, else NoCopy if legal, else Drop."""
    other = jnp.where(options.mask[NO_COPY], NO_COPY, DROP)
    return jnp.where(options.mask[action], action, other).astype(jnp.int32)


def apply(
    encoded: EncodedProgram, state: State, options: Options, action: Array
) -> tuple[State, StepOutcome]:
    """Play `action` (or the nearest legal one) where `options` is the analysis of `state`.

    A dead end, which only strict sinks know, makes the state dead: from then on moves pass without
    effect, as they do past the last.
    """
    row = encoded.row(state.move)
    action = nearest_legal(options, action)
    is_on = ~options.is_over & options.mask[action]
    is_fast = is_on & (action != DROP)
    is_new = is_fast & ~options.own.is_resident
    is_before = is_new & (action == NO_COPY) & (row.reads > 0)
    is_placed = is_new & ~is_before
    is_copy = is_fast & (action == COPY)
    is_dropped = is_on & (action == DROP) & options.own.is_resident
    stall = jnp.where(is_copy, options.copy_stall, jnp.where(is_dropped, options.sink_stall, 0))
    block = _new_block(encoded, row, options, is_before)
    table, forgotten = _next_table(state, row, options, block, is_placed, is_before, is_dropped)
    saves = options.is_saved & (is_placed | is_dropped)
    saved_work = jnp.where(saves, options.saved_work, 0)
    copy_work = jnp.where(is_copy, options.copy_work, 0)
    # The copy is the later of the two in time, so booking it first leaves `saved_begin` as it is.
    idle_before = book(state.idle_before, options.copy_begin, copy_work)
    idle_before = book(idle_before, options.saved_begin, saved_work)
    is_slow = is_on & (action == DROP)
    open_ticks = state.open_ticks + jnp.where(is_slow, row.slow_ticks, 0)
    open_ticks = jnp.maximum(open_ticks, -TICKS)
    # The move's number depends on no action: games of one program can keep in step, unbatched.
    move = jnp.minimum(state.move + 1, encoded.num_moves)
    following = encoded.row(move)
    next_state = State(
        move=move,
        idle_before=advance(encoded, idle_before, open_ticks, row.time, following.time),
        open_ticks=jnp.where(following.time > row.time, following.open_ticks, open_ticks),
        barrier=jnp.where(stall > 0, row.time, state.barrier),
        horizon=jnp.maximum(state.horizon, forgotten),
        num_stays_before=state.num_stays_before + is_before,
        is_dead=state.is_dead | ~(is_on | options.is_over),
        table=table,
    )
    ticks = jnp.where(is_fast, row.saving, 0) - stall
    return next_state, StepOutcome(
        reward=ticks.astype(jnp.float32) / TICKS,
        reward_ticks=ticks,
        stall_ticks=stall,
        action=action,
        offset=jnp.where(is_new, block.offset, NO_PLACE),
        start=jnp.where(is_new, block.start, row.time),
    )


def step(encoded: EncodedProgram, state: State, action: Array) -> tuple[State, StepOutcome]:
    """Play `action` (or the nearest legal one)."""
    return apply(encoded, state, analyse(encoded, state), action)


def _new_block(encoded: EncodedProgram, row: MoveRow, options: Options, is_before: Array) -> Table:
    """The newcomer, as one row (scalars) of the table."""
    level = jnp.where(is_before, TOP_LEVEL, options.level)
    stays, dirty = _stays_live(row, encoded.level_end[level + 1], row.writes > 0), row.writes > 0
    return Table(
        group=row.group,
        offset=jnp.where(is_before, options.offset_before, options.offset),
        size=row.size,
        start=jnp.where(is_before, -1, options.start),
        until=jnp.where(is_before, encoded.num_slots, options.until),
        written=row.time + 1,
        level=level,
        work=jnp.where(is_before, row.work, options.copy_work),
        rank=row.next_rank,
        is_live=stays,
        is_dirty=dirty,
    )


def _stays_live(row: MoveRow, level_end: Array, is_dirty: Array) -> Array:
    """Whether the group's block outlives this move as a ghost: something later can use it."""
    return (row.next_time < level_end) | (is_dirty & (row.is_last == 0))


def _next_table(
    state: State,
    row: MoveRow,
    options: Options,
    block: Table,
    is_placed: Array,
    is_before: Array,
    is_dropped: Array,
) -> tuple[Table, Array]:
    """The table after the move, and the end of the block that was forgotten for it (else -1)."""
    table = _touched(state.table, row, options, is_dropped)
    taken = is_placed & taken_ghosts(table, options.start, options.offset, row.size)
    table = end_blocks(table, taken, options.start)
    is_full = table.group[-1] >= 0
    ended = jnp.where((table.group >= 0) & ~table.is_live, table.until, jnp.int32(TICKS))
    oldest = jnp.argmin(ended).astype(jnp.int32)
    victim = jnp.where(is_full, oldest, table.group.shape[0] - 1)
    is_new = is_placed | is_before
    forgotten = jnp.where(is_new & is_full, jnp.min(ended), FIRST_HORIZON)
    return insert(table, block, victim, is_new), forgotten


def _touched(table: Table, row: MoveRow, options: Options, is_dropped: Array) -> Table:
    """The table with the group's own block kept or dropped; unchanged if it has none."""
    own = options.own
    here = table.is_live & (table.group == row.group) & ~options.is_over
    is_touch = row.is_sink == 0
    is_ended = is_dropped & (is_touch | options.is_saved)
    until = jnp.where(is_touch, jnp.maximum(own.until, row.busy_after(own.start)), own.until)
    dirty = own.is_dirty | (row.writes > 0)
    stays = _stays_live(row, own.level_end, dirty) & ~is_ended
    end = jnp.where(options.is_saved, options.saved_deadline, own.until)
    return replace(
        table,
        until=jnp.where(here, jnp.where(is_ended, end, until), table.until),
        written=jnp.where(here & (row.writes > 0), row.time + 1, table.written),
        rank=jnp.where(here, row.next_rank, table.rank),
        is_live=table.is_live & (~here | stays),
        is_dirty=jnp.where(here, dirty, table.is_dirty),
    )
