"""What the player sees of a position: one vector of float32, laid out as `engine.game.inputs` says.

Letters as in `engine.game.encode`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.encode import EncodedProgram
from engine.game.env import Position
from engine.game.features import Features, squash
from engine.game.inputs import (
    MOVE_FEATURES,
    NUM_AHEAD,
    NUM_BINS,
    PRICE_FEATURES,
    SPANS,
    STATIC_PARTS,
)


def observe(encoded: EncodedProgram, known: Features, position: Position) -> Array:
    """The observation of one position, `[SIZE]`."""
    state = position.state
    ahead = jax.lax.dynamic_slice_in_dim(known.table, state.move + 1, NUM_AHEAD)
    first, last = STATIC_PARTS["prices"].start, STATIC_PARTS["prices"].start + len(PRICE_FEATURES)
    now = jax.lax.dynamic_index_in_dim(known.table, state.move, keepdims=False)
    seen = jnp.concatenate(
        [
            now,
            ahead[:, : len(MOVE_FEATURES)].ravel(),
            ahead[:, first:last].ravel(),
            _residents(encoded, position),
            _options(encoded, known, position),
            _memory(encoded, known, position),
            _ledger(encoded, known, position),
        ]
    )
    return seen * known.shown


def _residents(encoded: EncodedProgram, position: Position) -> Array:
    """Which of the groups of the moves ahead are in fast memory now, and dirty."""
    table, move = position.state.table, position.state.move
    rows = jax.vmap(lambda i: encoded.row(jnp.minimum(i, encoded.moves.shape[0] - 1)).group)(
        move + 1 + jnp.arange(NUM_AHEAD, dtype=jnp.int32)
    )
    here = (rows[:, None] == table.group[None, :]) & table.is_live[None, :]
    is_here = jnp.any(here, axis=1)
    is_dirty = jnp.any(here & table.is_dirty[None, :], axis=1)
    return jnp.concatenate([is_here, is_dirty]).astype(jnp.float32)


def _ghost_points(known: Features, position: Position, time: Array) -> Array:
    """What the next touch of each live block saves, in points, where it is only a ghost; `[K]`."""
    table = position.state.table
    worth = known.density[jnp.clip(table.rank, 0)] * table.size
    return jnp.where(table.is_live & (table.until <= time) & (table.rank >= 0), worth, 0.0)


def _options(encoded: EncodedProgram, known: Features, position: Position) -> Array:
    """What each action would do."""
    options, state = position.options, position.state
    table, row = state.table, encoded.row(state.move)
    fast = encoded.fast_granules.astype(jnp.float32)
    overlaps = (table.offset < options.offset + row.size) & (
        table.offset + table.size > options.offset
    )
    enters = ~options.own.is_resident & (options.mask[0] | options.mask[1]) & (options.offset >= 0)
    taken = table.is_live & overlaps & (table.until <= options.start) & enters
    worth = jnp.where(taken, known.density[jnp.clip(table.rank, 0)] * table.size, 0.0)
    worth = jnp.where(table.rank >= 0, worth, 0.0)
    saved = jnp.where(options.is_saved, options.saved_work, 0) / known.point_ticks
    stall = jnp.where(options.mask[0], options.copy_stall, 0) / known.point_ticks
    cells = jnp.stack(
        [
            options.own.is_resident,
            options.own.is_dirty & options.own.is_resident,
            options.own.is_resident & (options.own.until > row.time),
            enters,
            options.offset_before >= 0,
            jnp.any(taken),
            jnp.any(taken & table.is_dirty),
            options.is_saved,
        ]
    ).astype(jnp.float32)
    amounts = jnp.stack(
        [
            jnp.sum(jnp.where(taken, table.size, 0)) / fast,
            squash(jnp.sum(worth)),
            squash(stall),
            squash(saved),
            squash(options.sink_stall / known.point_ticks),
            jnp.log1p(jnp.maximum(row.time - options.start, 0).astype(jnp.float32)) / 5.0,
            jnp.where(enters, options.offset / fast, 0.0),
            jnp.log1p(jnp.maximum(row.time - state.barrier, 0).astype(jnp.float32)) / 5.0,
        ]
    ).astype(jnp.float32)
    return jnp.concatenate([cells, amounts])


def _memory(encoded: EncodedProgram, known: Features, position: Position) -> Array:
    """Of each part of the address space the share taken for certain, by ghosts, and their worth."""
    table = position.state.table
    time = encoded.row(position.state.move).time
    width = jnp.maximum(1, -(-encoded.fast_granules // NUM_BINS))
    low = width * jnp.arange(NUM_BINS, dtype=jnp.int32)
    shared = jnp.minimum(table.offset + table.size, (low + width)[:, None]) - jnp.maximum(
        table.offset, low[:, None]
    )
    share = jnp.maximum(shared, 0) / width.astype(jnp.float32)
    is_used = table.group >= 0
    certain = is_used & (table.until > time)
    ghost = table.is_live & ~certain
    points = _ghost_points(known, position, time)
    density = jnp.where(ghost, points / jnp.maximum(table.size, 1), 0.0) * width
    return jnp.concatenate(
        [
            jnp.minimum(share @ certain.astype(jnp.float32), 1.0),
            jnp.minimum(share @ ghost.astype(jnp.float32), 1.0),
            squash(share @ density),
        ]
    )


def _ledger(encoded: EncodedProgram, known: Features, position: Position) -> Array:
    """Idle time of the last slots in points and as multiples of this move's copy."""
    before = position.state.idle_before
    row = encoded.row(position.state.move)
    back = jnp.stack([before[max(0, before.shape[0] - 1 - span)] for span in SPANS])
    idle = (before[-1] - back).astype(jnp.float32)
    ratio = idle / jnp.maximum(row.work, 1).astype(jnp.float32)
    now = jnp.maximum(position.state.open_ticks, 0) / known.point_ticks
    return jnp.concatenate(
        [squash(idle / known.point_ticks), jnp.minimum(ratio, 2.0), squash(now)[None]]
    ).astype(jnp.float32)
