"""How a group enters fast memory: the place of its block, and the copy that fills it.

Letters as in `engine.game.state`. The conditions skip what no game needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.lanes import numbers_of
from engine.game.ledger import Span
from engine.game.places import NO_PLACE, Taken, Wish, find_place_before, find_places, taken_at
from engine.game.quantise import TICKS
from engine.game.situation import Situation
from engine.game.state import FIRST_HORIZON


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Entry:
    """How the move's group would enter: its block, its copy, and the write-back of taken ghosts.

    The block, which stands at `offset` from `wish.start` on, is of `level` and a ghost from slot
    `until` on. The copy (if the move reads) takes `copy_work` ticks from prefix sum `copy_begin` on
    and stalls for `copy_stall`; the write-back, if `is_saved`, takes `saved_work` from
    `saved_begin` on.
    """

    is_possible: Array
    wish: Wish
    until: Array
    level: Array
    copy_begin: Array
    copy_work: Array
    copy_stall: Array
    offset: Array
    is_saved: Array
    saved_begin: Array
    saved_work: Array


def find_entry(now: Situation) -> Entry:
    """The best way in: in front of the loop if that can be, else at the move itself."""
    may_enter = (now.row.is_sink == 0) & ~now.own.is_resident
    plain = _placed(now, numbers_of(jnp.any(may_enter), lambda: _plain(now)))
    if not now.encoded.has_hoists:
        return plain
    may_hoist = jnp.any(may_enter & (now.row.hoist_start >= 0))
    hoisted = _placed(now, numbers_of(may_hoist, lambda: _hoisted(now)))
    entry: Entry = jax.tree.map(
        lambda one, other: jnp.where(hoisted.is_possible, one, other), hoisted, plain
    )
    return entry


def offset_before(now: Situation) -> Array:
    """Place of a cross-program prefetch, or `NO_PLACE` if there cannot be one."""
    encoded, state, row = now.encoded, now.state, now.row
    none = jnp.full_like(state.open_ticks, NO_PLACE)
    is_left = state.num_stays_before < encoded.max_stays_before
    is_untouched = state.horizon == FIRST_HORIZON
    may_stay = (row.may_stay_before > 0) & is_left & is_untouched & now.has_row

    def find() -> Array:
        wish = _wish(now, jnp.full_like(none, FIRST_HORIZON), encoded.max_reserved)
        offset = find_place_before(state.table, wish, encoded.fast_granules)
        return jnp.where(may_stay, offset, NO_PLACE)

    found: Array = jax.lax.cond(jnp.any(may_stay), find, lambda: none)
    return found


def _plain(now: Situation) -> Entry:
    """At the move: by a Copy that ends there, or as the block that it writes; not placed yet."""
    row, reads = now.row, now.row.reads > 0
    copy = now.ledger.prefetch(row.level, row.time, row.work, _earliest(now))
    is_in_time = jnp.where(reads, copy.is_possible, row.time >= now.state.horizon)
    start = jnp.where(reads, copy.start, row.time)
    return _unplaced(
        now,
        is_possible=is_in_time & (row.work < TICKS) & (row.is_sink == 0),
        start=start,
        until=row.time + 1,
        level=row.level,
        copy_begin=copy.begin,
        copy_work=row.work,
        copy_stall=jnp.maximum(0, row.work - copy.idle),
        reserved=row.reserved_ahead,
    )


def _hoisted(now: Situation) -> Entry:
    """A Copy in front of the loop, whose block stays through the loop; it must not stall."""
    row, work = now.row, now.row.hoist_work
    copy = now.ledger.prefetch(row.hoist_level, row.hoist_start, work, _earliest(now))
    is_possible = (row.hoist_start >= 0) & copy.is_possible & (work < TICKS) & (copy.idle >= work)
    return _unplaced(
        now,
        is_possible=is_possible,
        start=copy.start,
        until=row.hoist_end,
        level=row.hoist_level,
        copy_begin=copy.begin,
        copy_work=work,
        copy_stall=jnp.zeros_like(work),
        reserved=row.hoist_reserved,
    )


def _unplaced(now: Situation, *, is_possible: Array, **numbers: Array) -> Entry:
    """An entry that has no place yet; `floor` takes in the scratch up to the move."""
    none = jnp.zeros_like(now.state.open_ticks)
    is_possible = is_possible & ~now.own.is_resident
    start, reserved = numbers.pop("start"), numbers.pop("reserved")
    floor = jnp.maximum(reserved, now.encoded.most_reserved(start, now.row.time))
    entry = Entry(
        is_possible=is_possible,
        wish=_wish(now, start, floor),
        offset=none + NO_PLACE,
        is_saved=none < 0,
        saved_begin=none,
        saved_work=none,
        **numbers,
    )
    every: Entry = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, none.shape), entry)
    return every


def _earliest(now: Situation) -> Array:
    """First slot in which a prefetch may start, level, barrier and look-back apart."""
    return jnp.maximum(now.state.horizon, jnp.maximum(now.row.slow_valid, now.stood_until))


def _wish(now: Situation, start: Array, floor: Array) -> Wish:
    row = now.row
    return Wish(start, floor, row.size, row.rank, row.is_high > 0, now.encoded.is_best_fit)


def _placed(now: Situation, entry: Entry) -> Entry:
    """The entry with its place, and the write-back of the ghosts that stand there."""
    table, capacity = now.state.table, now.encoded.fast_granules

    def place() -> Entry:
        offsets = find_places(table, entry.wish, capacity)
        is_free = (offsets[0] != NO_PLACE) & now.has_row
        free = replace(entry, is_possible=entry.is_possible & is_free, offset=offsets[0])
        placed: Entry = jax.lax.cond(
            jnp.any(entry.is_possible & ~is_free),
            lambda: _evicting(now, free, is_free, entry.is_possible, offsets[1:]),
            lambda: free,
        )
        return placed

    found: Entry = jax.lax.cond(jnp.any(entry.is_possible), place, lambda: entry)
    return found


def _evicting(
    now: Situation, free: Entry, is_free: Array, may_enter: Array, offsets: Array
) -> Entry:
    """The entry in the first place of `offsets`, `[2]`, for which ghosts can go; unless free."""
    second, third = (_evicting_at(now, free, may_enter, offset) for offset in offsets)

    def pick(is_free_one: Array, one: Array, other: Array) -> Array:
        return jnp.where(is_free, is_free_one, jnp.where(second.is_possible, one, other))

    entry: Entry = jax.tree.map(pick, free, second, third)
    return entry


def _evicting_at(now: Situation, entry: Entry, may_enter: Array, offset: Array) -> Entry:
    """The entry at `offset`, for which ghosts may have to go."""
    wish = entry.wish
    taken = taken_at(now.state.table, wish, offset)
    span = now.ledger.write_back(taken.highest, wish.start, taken.written)
    has_place = (offset != NO_PLACE) & (taken.is_any | now.has_row)
    return replace(
        entry,
        is_possible=may_enter & has_place & _can_be_saved(taken, span),
        offset=offset,
        is_saved=taken.is_dirty,
        saved_begin=span.begin,
        saved_work=taken.work,
    )


def _can_be_saved(taken: Taken, span: Span) -> Array:
    """Whether the dirty ghosts, if any, can be written back together without a stall."""
    is_one_level = taken.lowest == taken.highest
    return ~taken.is_dirty | (span.is_possible & is_one_level & (span.idle >= taken.work))
