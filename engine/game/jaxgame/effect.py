"""What an action of the JAX game does to the block table and the ledgers, in numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.jaxgame.encoding import EncodedProgram, MoveRow
from engine.game.jaxgame.idle_ledger import Run, Window
from engine.game.jaxgame.lanes import at, rows_of
from engine.game.jaxgame.options import Entry, Options, Ways, gained
from engine.game.jaxgame.placement import NO_PLACE
from engine.game.jaxgame.state import (
    ENDED,
    FIRST_HORIZON,
    KEPT,
    NOBODY,
    State,
    Table,
    group_and_level_of,
)
from engine.game.moves import COPY, COPY_OTHER, DROP, NO_COPY, NUM_ACTIONS
from engine.game.quantise import TICKS
from engine.program.model import TOP_LEVEL

_Carry = tuple[State, Array, Array]


def return_stall(encoded: EncodedProgram, state: State) -> Array:
    """Ticks that the end of the program waits for cross-program prefetches to be in place again.

    `state`: after the last move. Each is copied back at the end of the program, as late as idle
    time allows, but not before its place is free.
    """
    table, end = state.table, encoded.num_slots
    pending = table.is_kept & ~table.is_live & (table.until < end)

    def bring_back(carry: _Carry) -> _Carry:
        state, pending, stall = carry
        number = jnp.argmax(pending, axis=0)
        is_any = jnp.any(pending, axis=0)
        work = jnp.where(is_any, at(table.work, number), 0)
        earliest = jnp.minimum(jnp.maximum(state.horizon, _free_from(state, number)), end)
        window = Window(encoded, end, state.ledger)
        copy = window.latest(jnp.asarray(TOP_LEVEL), end, work, work, earliest).only(is_any)
        ledger = window.booked(copy, end, is_prefetch=True).ledger
        pending = pending & (rows_of(pending) != number)
        return replace(state, ledger=ledger), pending, stall + copy.stall

    first = (state, pending, jnp.zeros_like(state.open_ticks))
    _, _, stall = jax.lax.while_loop(lambda carry: jnp.any(carry[1]), bring_back, first)
    return stall


def _free_from(state: State, number: Array) -> Array:
    """First slot from which nothing stands in the place of a row, nor its group elsewhere."""
    table = state.table
    low, size = at(table.offset, number), at(table.size, number)
    meets = (table.offset < low + size) & (low < table.offset + table.size)
    meets |= table.group == at(table.group, number)
    return jnp.max(jnp.where(meets & ~table.is_live, table.until, 0), axis=0)


NO_DEADLINE = -1


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


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Effect:
    """What an action does, in numbers.

    `number`: row of the group's own block (none: -1), which gets `until`, `written` and `rank`, and
    is written back in the run `departure` until `departure_deadline`. Ghosts that
    `[offset, offset + size)` overlaps at `displaced_by` end (none do: `size` is far below 0), dirty
    ones when they are written back. The `copy` of the newcomer is due at `copy_deadline`. -1 stands
    for no deadline. `block`: the newcomer, if `is_new`.
    """

    outcome: StepOutcome
    number: Array
    until: Array
    written: Array
    rank: Array
    departure: Run
    departure_deadline: Array
    displaced_by: Array
    offset: Array
    size: Array
    copy: Run
    copy_deadline: Array
    block: Table
    is_new: Array
    is_before: Array
    is_dead: Array
    open_ticks: Array
    spare: Array


def effect_of(encoded: EncodedProgram, state: State, options: Options, action: Array) -> Effect:
    row, own, games = encoded.row(state.move), options.own, state.open_ticks.shape
    departure, action = options.departure, nearest_legal(options, action)
    is_on = ~options.is_over & _is_legal(options, action)
    is_fast = is_on & (action != DROP)
    is_copy = is_fast & (kind_of(action) == COPY)
    is_new = is_copy | (is_fast & ~own.is_resident)
    is_elsewhere = is_new & ~is_copy & (row.reads > 0)
    ways = _ways_of(options, action)
    is_hoisted = is_elsewhere & ways.hoisted.is_possible
    is_before = is_elsewhere & ~is_hoisted
    is_placed = is_new & ~is_before
    entry: Entry = jax.tree.map(
        lambda hoisted, plain: jnp.where(is_hoisted, hoisted, plain), ways.hoisted, ways.entry
    )
    is_leaving = is_on & own.is_resident & (is_copy | (action == DROP))
    is_prefetch = is_copy | is_hoisted
    displaces = is_placed & entry.writes_back
    leaves = is_leaving & departure.writes_back
    until, written, rank = _own_after(row, options, is_leaving)
    gain, open_ticks = _served(row, state, is_fast, is_on & (action == DROP))
    block = _new_block(encoded, row, ways.offset_before, entry, is_before)
    copy, departs = entry.copy.only(is_prefetch), departure.run.only(leaves)
    stall = copy.stall + departs.stall + jnp.where(displaces, entry.write_back_stall, 0)
    ticks = gain - stall
    start = entry.newcomer.start
    effect = Effect(
        outcome=StepOutcome(
            reward=ticks.astype(jnp.float32) / TICKS,
            reward_ticks=ticks,
            stall_ticks=stall,
            action=action,
            offset=jnp.where(is_new, block.offset, NO_PLACE),
            start=jnp.where(is_before, FIRST_HORIZON, jnp.where(is_new, start, row.time)),
        ),
        number=jnp.where(options.is_over, NOBODY, own.number),
        until=until,
        written=written,
        rank=rank,
        departure=departs,
        departure_deadline=jnp.where(leaves, departure.deadline, NO_DEADLINE),
        displaced_by=entry.displaced_by,
        offset=entry.offset,
        size=jnp.where(is_placed, row.size, -TICKS),
        copy=copy,
        copy_deadline=jnp.where(is_prefetch, entry.deadline, NO_DEADLINE),
        block=block,
        is_new=is_new,
        is_before=is_before,
        is_dead=~(is_on | options.is_over),
        open_ticks=open_ticks,
        spare=state.spare - jnp.where(is_fast, row.saving, 0),
    )
    return _of_every_game(effect, games)


def nearest_legal(options: Options, action: Array) -> Array:
    """The action if legal, else its kind, NoCopy or Drop, the first of them that is."""
    nearest = jnp.where(options.mask[NO_COPY], NO_COPY, DROP)
    for wanted in (kind_of(action), action):
        nearest = jnp.where(_is_legal(options, wanted), wanted, nearest)
    return nearest.astype(jnp.int32)


def kind_of(action: Array) -> Array:
    """The action of the same kind in the place of the place rule (`engine.game.moves.KINDS`)."""
    return jnp.where(action >= COPY_OTHER, action - COPY_OTHER, action)


def _is_legal(options: Options, action: Array) -> Array:
    legal = [options.mask[known] & (action == known) for known in range(NUM_ACTIONS)]
    return jnp.any(jnp.stack(legal), axis=0)


def _ways_of(options: Options, action: Array) -> Ways:
    """The ways in at the end that the action chooses."""
    is_other = action >= COPY_OTHER
    ways: Ways = jax.tree.map(
        lambda rule, other: jnp.where(is_other, other, rule), options.rule, options.other
    )
    return ways


def _served(row: MoveRow, state: State, is_fast: Array, is_slow: Array) -> tuple[Array, Array]:
    """What the move saves, and the idle ticks of its slot then."""
    gain = jnp.where(is_fast, gained(row, state.spare), 0)
    # What a floor keeps from being saved, the slot lasts longer than if all were fast.
    unsaved = jnp.where(is_fast, row.saving - gain, 0)
    open_ticks = state.open_ticks + jnp.where(is_slow, row.slow_ticks, unsaved)
    return gain, jnp.maximum(open_ticks, -TICKS)


def _of_every_game(effect: Effect, games: tuple[int, ...]) -> Effect:
    every: Effect = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, games), effect)
    return every


def _own_after(row: MoveRow, options: Options, is_leaving: Array) -> tuple[Array, Array, Array]:
    """`until`, `written` and `rank` of the group's own block after the move."""
    own, departure, is_touch = options.own, options.departure, row.is_sink == 0
    is_ended = is_leaving & (is_touch | departure.writes_back)
    kept = jnp.where(is_touch, jnp.maximum(own.until, row.busy_after(own.level_start)), own.until)
    written = jnp.where(row.writes > 0, row.end, own.written)
    stays = _stays_live(row, own.level_end, written) & ~is_ended
    end = jnp.where(is_ended, departure.end, kept)
    return end, jnp.where(is_ended, own.written, written), jnp.where(stays, row.next_rank, ENDED)


def _new_block(
    encoded: EncodedProgram,
    row: MoveRow,
    offset_before: Array,
    entry: Entry,
    is_before: Array,
) -> Table:
    """The newcomer, as one cell per column of the table."""
    level = jnp.where(is_before, TOP_LEVEL, entry.level)
    written = jnp.where(is_before, KEPT, jnp.where(row.writes > 0, row.end, 0))
    return Table(
        group_and_level=group_and_level_of(row.group, level),
        offset=jnp.where(is_before, offset_before, entry.offset),
        size=row.size,
        until=jnp.where(is_before, row.busy_after(jnp.asarray(FIRST_HORIZON)), entry.until),
        written=written,
        work=jnp.where(is_before, row.top_work, entry.work),
        rank=jnp.where(_stays_live(row, encoded.end_of(level), written), row.next_rank, ENDED),
    )


def _stays_live(row: MoveRow, level_end: Array, written: Array) -> Array:
    """Whether the group's block outlives this move as a ghost: something later can use it."""
    needs_saving = (written > 0) & (row.is_last == 0)
    return (row.next_time < level_end) | needs_saving | (written == KEPT)
