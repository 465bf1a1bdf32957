"""Where a newcomer can stand: free gaps between blocks that are sorted by their offsets.

Letters as in `engine.game.jaxgame.state`; `L` tries, which differ in the ghosts that they spare:
all, those worth more than the newcomer, none. As the blocks are sorted, the address above which a
gap begins is a running maximum of their ends; so a try costs a few passes over the table, and no
pairs of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.jaxgame.encoding import INT32_MAX
from engine.game.jaxgame.lanes import beside
from engine.game.jaxgame.state import ENDED, NOBODY, Table

NO_PLACE = -1
"""Offset where no gap is large enough."""
STRIDE = 8
"""Rows that a running maximum takes together."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Newcomer:
    """A newcomer that wants a place: from slot `start` on, at or above address `lowest`.

    `reserved`: the scratch that it must be clear of wherever it starts.
    `is_lasting`: it may have to stand where kept inputs come back. `is_high`: whether the place
    rule puts it at the high end of the highest gap, and the other end is the low one of the lowest.
    `is_best_fit`: the rule takes the tightest gap instead, and the other end is the high one.
    """

    start: Array
    lowest: Array
    reserved: Array
    size: Array
    rank: Array
    is_lasting: Array
    is_high: Array
    is_best_fit: bool = field(metadata={"static": True})


Ends = tuple[Array, Array]
"""Offsets of the place that the place rule chooses, and of the one at the other end."""


def find_places(table: Table, newcomer: Newcomer, capacity: Array) -> Ends:
    """Offsets of the places in each try, or `NO_PLACE`, each `[L]`."""
    tries = beside(jnp.arange(3, dtype=jnp.int32), table.rank.shape[1:])
    spare_above = jnp.where(tries == 0, ENDED, jnp.where(tries == 1, newcomer.rank, INT32_MAX))
    certain = is_certain(table, newcomer)[:, None]
    return _find(table, certain | (table.rank[:, None] > spare_above), newcomer, capacity)


def find_last_places(table: Table, newcomer: Newcomer, capacity: Array) -> Ends:
    """Offsets of the places that spare no ghost, or `NO_PLACE`."""
    rule, other = _find(table, is_certain(table, newcomer)[:, None], newcomer, capacity)
    return rule[0], other[0]


def is_certain(table: Table, newcomer: Newcomer) -> Array:
    """Which blocks a newcomer must avoid, `[K]`; the other ones are ghosts or gone."""
    return (table.until > newcomer.start) | (table.is_kept & newcomer.is_lasting)


def find_places_before(table: Table, newcomer: Newcomer, capacity: Array) -> Ends:
    """Offsets of places that no block ever had, or `NO_PLACE`; for cross-program prefetches."""
    rule, other = _find(table, (table.group != NOBODY)[:, None], newcomer, capacity)
    return rule[0], other[0]


def _find(table: Table, is_here: Array, newcomer: Newcomer, capacity: Array) -> Ends:
    """Offsets of places that are clear of the blocks `is_here`, `[K, L]`, in each try."""
    offset = table.offset[:, None]
    ends = jnp.where(is_here, offset + table.size[:, None], 0)
    low, top = _running_max(ends, jnp.broadcast_to(newcomer.lowest, ends.shape[1:]))
    gap = offset - low
    fits = is_here & (gap >= newcomer.size)
    last = capacity - top
    # The upper end of the highest gap between blocks that is large enough.
    gap_end = jnp.max(jnp.where(fits, offset, NO_PLACE), axis=0)
    has_gap, fits_last = gap_end > NO_PLACE, last >= newcomer.size
    has_place = has_gap | fits_last
    highest = jnp.where(
        has_place, jnp.where(fits_last, capacity, gap_end) - newcomer.size, NO_PLACE
    )
    if newcomer.is_best_fit:
        least = jnp.min(jnp.where(fits, gap, INT32_MAX), axis=0)
        first = jnp.min(jnp.where(fits & (gap == least), low, INT32_MAX), axis=0)
        is_last = fits_last & (last < least)
        return jnp.where(is_last, top, jnp.where(has_gap, first, NO_PLACE)), highest
    first = jnp.min(jnp.where(fits, low, INT32_MAX), axis=0)
    lowest = jnp.where(has_gap, first, jnp.where(fits_last, top, NO_PLACE))
    is_high = newcomer.is_high
    return jnp.where(is_high, highest, lowest), jnp.where(is_high, lowest, highest)


def _running_max(ends: Array, lowest: Array) -> tuple[Array, Array]:
    """The largest entry before each row, at least `lowest`; and the largest of all.

    Within groups of rows first, then across groups: a chain of all rows is slow on a CPU.
    """
    num_rows = ends.shape[0]
    blank = -num_rows % STRIDE
    padded = jnp.pad(ends, [(0, blank)] + [(0, 0)] * (ends.ndim - 1)) if blank else ends
    groups = padded.reshape(-1, STRIDE, *ends.shape[1:])
    within = [groups[:, 0]]
    for row in range(1, STRIDE):
        within.append(jnp.maximum(within[-1], groups[:, row]))
    across = [lowest]
    for group in range(groups.shape[0]):
        across.append(jnp.maximum(across[-1], within[-1][group]))
    base = jnp.stack(across[:-1])
    low = jnp.stack([base, *(jnp.maximum(base, row) for row in within[:-1])], axis=1)
    return low.reshape(padded.shape)[:num_rows], across[-1]


def fits_at(newcomer: Newcomer, offset: Array, capacity: Array) -> Array:
    """Whether the newcomer at `offset` is clear of scratch and inside the memory."""
    return (offset >= newcomer.lowest) & (offset + newcomer.size <= capacity)


def overlaps(table: Table, offset: Array, size: Array) -> Array:
    """Which blocks, ended ones too, share bytes with `[offset, offset + size)`, `[K]`."""
    return (table.offset < offset + size) & (table.offset + table.size > offset)


def is_taken(table: Table, start: Array, offset: Array, size: Array) -> Array:
    """Which live blocks a newcomer at `[offset, offset + size)` from slot `start` on takes."""
    return table.is_live & overlaps(table, offset, size) & (table.until <= start)


def sum_of_ticks(ticks: Array) -> Array:
    """The sum of `ticks`, or `INT32_MAX` where it is 2^30 or more."""
    high = jnp.sum(ticks >> 16, axis=0, dtype=jnp.int32)
    low = jnp.sum(ticks & 0xFFFF, axis=0, dtype=jnp.int32)
    high = high + (low >> 16)
    return jnp.where(high < 2**14, (high << 16) + (low & 0xFFFF), INT32_MAX)
