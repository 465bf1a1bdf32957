"""How a group enters fast memory: the place of its block, and the copy that fills it.

Letters as in `engine.game.state`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.encode import EncodedProgram, MoveRow
from engine.game.ledger import Span, Window, latest_start, write_back_span
from engine.game.moves import TICKS
from engine.game.places import NO_PLACE, Taken, avoided, find_places, taken_at
from engine.game.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Newcomer:
    """The place of a new block and the write-back of the ghosts that it takes."""

    is_possible: Array
    offset: Array
    is_saved: Array
    saved_begin: Array
    saved_work: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Entry:
    """How the group would enter fast memory: its block, and the copy if the move reads."""

    is_possible: Array
    start: Array
    until: Array
    level: Array
    copy_begin: Array
    copy_work: Array
    copy_stall: Array
    newcomer: Newcomer


def find_entry(
    encoded: EncodedProgram, state: State, row: MoveRow, window: Window
) -> tuple[Entry, Array]:
    """The best way in, and the offset of a cross-program prefetch."""
    earliest = _earliest_copy(state, row)
    copy = latest_start(window, row.time, row.level, row.work, earliest)
    start = jnp.where(row.reads > 0, copy.start, row.time)
    newcomer, offset_before = _newcomer(encoded, state, row, window, start)
    plain = Entry(
        is_possible=(row.reads == 0) | copy.is_possible,
        start=start,
        until=row.time + 1,
        level=row.level,
        copy_begin=copy.begin,
        copy_work=row.work,
        copy_stall=jnp.maximum(0, row.work - copy.idle),
        newcomer=newcomer,
    )
    if not encoded.has_hoists:
        return plain, offset_before
    hoisted = _hoisted(encoded, state, row, window, earliest)
    is_better = hoisted.is_possible & hoisted.newcomer.is_possible
    chosen: Entry = jax.tree.map(lambda a, b: jnp.where(is_better, a, b), hoisted, plain)
    return chosen, offset_before


def _hoisted(
    encoded: EncodedProgram, state: State, row: MoveRow, window: Window, earliest: Array
) -> Entry:
    """A Copy in front of the loop, whose block stays through the loop; it must not stall."""
    outside = replace(
        row,
        time=row.hoist_start,
        level=row.hoist_level,
        work=row.hoist_work,
        reserved_ahead=row.hoist_reserved,
    )
    copy = latest_start(window, outside.time, outside.level, outside.work, earliest)
    newcomer, _ = _newcomer(encoded, state, outside, window, copy.start)
    is_possible = (row.hoist_start >= 0) & (row.hoist_work < TICKS) & copy.is_possible
    return Entry(
        is_possible=is_possible & (copy.idle >= row.hoist_work),
        start=copy.start,
        until=row.hoist_end,
        level=row.hoist_level,
        copy_begin=copy.begin,
        copy_work=row.hoist_work,
        copy_stall=jnp.zeros_like(row.work),
        newcomer=newcomer,
    )


def _earliest_copy(state: State, row: MoveRow) -> Array:
    """First slot in which a prefetch for `row` may start, look-back and levels apart."""
    table = state.table
    stood_until = jnp.where((table.group == row.group) & ~table.is_live, table.until, 0)
    valid = jnp.maximum(row.slow_valid, jnp.max(stood_until))
    return jnp.maximum(jnp.maximum(state.horizon, state.barrier), jnp.maximum(valid, 0))


def _newcomer(
    encoded: EncodedProgram, state: State, row: MoveRow, window: Window, start: Array
) -> tuple[Newcomer, Array]:
    """Where a block from `start` on can stand, and where one from -1 on."""
    table = state.table
    scratch = jnp.max(jnp.where(window.slot >= start, window.reserved, 0))
    floor = jnp.maximum(row.reserved_ahead, scratch)
    is_avoided = jnp.concatenate([avoided(table, start, row.rank), table.group[None] >= 0])
    offsets = find_places(
        table,
        is_avoided,
        row.size,
        jnp.stack([floor, floor, floor, encoded.max_reserved]),
        encoded.fast_granules,
        row.is_high > 0,
        encoded.place,
    )
    taken = taken_at(table, start, offsets[:3], row.size)
    spans = _eviction_spans(encoded, state, window, start, taken)
    saves = spans.is_possible & taken.is_one_level & (spans.idle >= taken.work)
    has_row = (table.group[-1] < 0) | jnp.any((table.group >= 0) & ~table.is_live)
    fits = (offsets[:3] != NO_PLACE) & (~taken.is_dirty | saves) & (has_row | taken.is_any)
    best = jnp.where(fits[0], 0, jnp.where(fits[1], 1, 2))
    newcomer = Newcomer(
        is_possible=jnp.any(fits),
        offset=_pick(offsets, best),
        is_saved=_pick(taken.is_dirty, best),
        saved_begin=_pick(spans.begin, best),
        saved_work=_pick(taken.work, best),
    )
    return newcomer, jnp.where(has_row, offsets[3], NO_PLACE)


def _pick(of_tries: Array, best: Array) -> Array:
    return jnp.where(best == 0, of_tries[0], jnp.where(best == 1, of_tries[1], of_tries[2]))


def _eviction_spans(
    encoded: EncodedProgram, state: State, window: Window, start: Array, taken: Taken
) -> Span:
    """Where the dirty ghosts of each try can be written back together, before `start`."""

    def span(written: Array, level: Array, work: Array) -> Span:
        earliest = jnp.maximum(written, state.barrier)
        return write_back_span(window, level, encoded.level_end[level + 1], earliest, start, work)

    return jax.vmap(span)(taken.written, taken.level, taken.work)
