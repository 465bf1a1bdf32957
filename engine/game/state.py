"""The position of a JAX game: small, self-contained, fit to be an embedding of a search.

Letters: `K` rows of the block table, `W` slots of look-back. Everything is int32 but the flags.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.encode import EncodedProgram

FIRST_HORIZON = -1
"""`State.horizon` while no block was forgotten."""
FAR = 2**30
"""Offset of empty rows, which keeps them behind all blocks."""
NOBODY = -1
"""Group of empty rows."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Table:
    """The blocks, sorted by offset; empty rows at the end.

    `until`: of an ended block its end, of a live one the first slot in which it is only a ghost
    (`busy + 1`). `written`: slot after its last write. `level`, `work`: level of the block's start,
    and ticks of one copy of its group there. `rank`: of the group's next touch, as in
    `MoveRow.next_rank`.
    """

    group: Array  # [K]
    offset: Array  # [K]
    size: Array  # [K]
    start: Array  # [K]
    until: Array  # [K]
    written: Array  # [K]
    level: Array  # [K]
    work: Array  # [K]
    rank: Array  # [K]
    is_live: Array  # [K]
    is_dirty: Array  # [K]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """One position of one game.

    `idle_before`: of the slots `[t - W, t]`, `t` being the slot of the move to be decided, the idle
    ticks of all earlier slots that no copy uses (a prefix sum, so that a copy changes it by one
    comparison). `open_ticks`: idle ticks of slot `t` after the moves decided there (may be below
    zero).
    """

    move: Array  # []
    idle_before: Array  # [W + 1]
    open_ticks: Array  # []
    barrier: Array  # []
    horizon: Array  # []
    num_stays_before: Array  # []
    is_dead: Array  # []
    table: Table


def initial_state(encoded: EncodedProgram) -> State:
    """The position before the first move."""
    row = encoded.row(jnp.int32(0))
    return State(
        move=jnp.int32(0),
        idle_before=encoded.window(encoded.idle_before, row.time),
        open_ticks=row.open_ticks,
        barrier=jnp.int32(0),
        horizon=jnp.int32(FIRST_HORIZON),
        num_stays_before=jnp.int32(0),
        is_dead=jnp.bool_(False),
        table=_empty_table(encoded.num_blocks),
    )


def _empty_table(num_blocks: int) -> Table:
    zeros = jnp.zeros(num_blocks, jnp.int32)
    no = jnp.zeros(num_blocks, bool)
    return Table(
        group=jnp.full(num_blocks, NOBODY, jnp.int32),
        offset=jnp.full(num_blocks, FAR, jnp.int32),
        size=zeros,
        start=zeros,
        until=jnp.full(num_blocks, FIRST_HORIZON, jnp.int32),
        written=zeros,
        level=zeros,
        work=zeros,
        rank=zeros,
        is_live=no,
        is_dirty=no,
    )


def is_over(encoded: EncodedProgram, state: State) -> Array:
    """Whether nothing is left to decide: all moves are played, or the game is a dead end."""
    return (state.move >= encoded.num_moves) | state.is_dead


def insert(table: Table, block: Table, victim: Array, is_wanted: Array) -> Table:
    """Put `block` (scalars) in its place in the order of offsets, instead of row `victim`."""
    rows = jnp.arange(table.offset.shape[0], dtype=jnp.int32)
    before = jnp.sum((table.offset <= block.offset) & (rows != victim), dtype=jnp.int32)
    from_above = is_wanted & (rows >= victim) & (rows < before)
    from_below = is_wanted & (rows <= victim) & (rows > before)
    is_new = is_wanted & (rows == before)

    def put(column: Array, cell: Array) -> Array:
        above = jnp.concatenate([column[1:], column[-1:]])
        below = jnp.concatenate([column[:1], column[:-1]])
        moved = jnp.where(from_above, above, jnp.where(from_below, below, column))
        return jnp.where(is_new, cell, moved)

    inserted: Table = jax.tree.map(put, table, block)
    return inserted


def end_blocks(table: Table, which: Array, until: Array) -> Table:
    """End the live blocks `which` at `until`."""
    return replace(
        table,
        until=jnp.where(which, until, table.until),
        is_live=table.is_live & ~which,
    )
