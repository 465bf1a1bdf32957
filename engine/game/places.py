"""Where a newcomer can stand: one sweep over the blocks in order of their offsets.

Letters as in `engine.game.state`; `L` tries, which differ in the blocks that they avoid.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.encode import INT32_MAX
from engine.game.state import NOBODY, Table

NO_PLACE = -1
"""Offset where no gap is large enough."""
UNROLL = 16
"""Rows of the table per step of the sweep; more compile slower and run little faster."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Sweep:
    """Above which address is free in each try, and the best place so far."""

    reach: Array  # [L]
    offset: Array  # [L]
    gap: Array  # [L]


def avoided(table: Table, start: Array, rank: Array) -> Array:
    """Which blocks each of the three tries of a newcomer at slot `start` avoids, `[3, K]`."""
    certain = table.until > start
    ghost = table.is_live & ~certain
    return jnp.stack([certain | ghost, certain | (ghost & (table.rank > rank)), certain])


def find_places(
    table: Table,
    is_avoided: Array,
    size: Array,
    floors: Array,
    fast_granules: Array,
    is_high: Array,
    place: str,
) -> Array:
    """Offset of the place in each try, or `NO_PLACE`; `is_avoided` `[L, K]`, `floors` `[L]`.

    Blocks may share addresses (at different times), so the sweep carries the highest end so far.
    """

    def offer(sweep: _Sweep, top: Array, is_edge: Array) -> _Sweep:
        gap = top - sweep.reach
        fits = is_edge & (gap >= size)
        first = fits & (sweep.offset == NO_PLACE)
        if place == "best_fit":
            better, offset = fits & (gap < sweep.gap), sweep.reach
        else:
            better = jnp.where(is_high, fits, first)
            offset = jnp.where(is_high, top - size, sweep.reach)
        return _Sweep(
            reach=sweep.reach,
            offset=jnp.where(better, offset, sweep.offset),
            gap=jnp.where(better, gap, sweep.gap),
        )

    def step(sweep: _Sweep, block: tuple[Array, Array, Array]) -> tuple[_Sweep, None]:
        offset, end, is_here = block
        swept = offer(sweep, offset, is_here)
        reach = jnp.where(is_here, jnp.maximum(swept.reach, end), swept.reach)
        return _Sweep(reach, swept.offset, swept.gap), None

    first = _Sweep(
        reach=floors,
        offset=jnp.full_like(floors, NO_PLACE),
        gap=jnp.full_like(floors, INT32_MAX),
    )
    blocks = (table.offset, table.offset + table.size, is_avoided.T)
    last, _ = jax.lax.scan(step, first, blocks, unroll=UNROLL)
    return offer(last, fast_granules, jnp.bool_(True)).offset


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Taken:
    """The ghosts that newcomers at `L` places would take.

    `is_dirty`: any of them is dirty. `written`, `level`, `work`: of the dirty ones the latest
    `written`, their level, and their summed work; `is_one_level` whether they share it.
    """

    is_any: Array  # [L]
    is_dirty: Array  # [L]
    is_one_level: Array  # [L]
    written: Array  # [L]
    level: Array  # [L]
    work: Array  # [L]


def taken_ghosts(table: Table, start: Array, offset: Array, size: Array) -> Array:
    """Which live blocks a newcomer at `[offset, offset + size)` from slot `start` on takes."""
    overlaps = (table.offset < offset + size) & (table.offset + table.size > offset)
    return table.is_live & overlaps & (table.until <= start)


def taken_at(table: Table, start: Array, offsets: Array, size: Array) -> Taken:
    """What newcomers at each of `offsets` `[L]` would take."""
    return jax.vmap(lambda offset: _taken(table, start, offset, size))(offsets)


def _taken(table: Table, start: Array, offset: Array, size: Array) -> Taken:
    which = taken_ghosts(table, start, offset, size)
    dirty = which & table.is_dirty
    lowest = jnp.min(jnp.where(dirty, table.level, INT32_MAX))
    highest = jnp.max(jnp.where(dirty, table.level, NOBODY - 1))
    return Taken(
        is_any=jnp.any(which),
        is_dirty=highest >= NOBODY,
        is_one_level=lowest == highest,
        written=jnp.max(jnp.where(dirty, table.written, 0)),
        level=highest,
        work=_sum_of_ticks(jnp.where(dirty, table.work, 0)),
    )


def _sum_of_ticks(ticks: Array) -> Array:
    """Their sum, or INT32_MAX (more than is ever idle) where it is 2^30 or more."""
    high = jnp.sum(ticks >> 16, dtype=jnp.int32)
    low = jnp.sum(ticks & 0xFFFF, dtype=jnp.int32)
    high = high + (low >> 16)
    return jnp.where(high < 2**14, (high << 16) + (low & 0xFFFF), INT32_MAX)
