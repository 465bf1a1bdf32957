"""The position of a JAX game: small, self-contained, fit to be an embedding of a search.

Letters: `K` rows of the block table, `W` slots of look-back. Everything is int32 but the flags. A
position of games side by side (see `engine.game.jaxgame.lanes`) has them in a last axis of each
array; numbers that all share may lack it.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from engine.game.jaxgame.encoding import LEVEL_BITS, EncodedProgram, MoveRow
from engine.game.jaxgame.idle_ledger import Ledger, Waits, Window
from engine.game.jaxgame.lanes import at, beside, rows_of
from engine.game.quantise import TICKS

FIRST_HORIZON = -1
"""`State.horizon` while no block was forgotten."""
FAR = 2**30
"""Offset of empty rows, which keeps them behind all blocks; of closed ones `-FAR`."""
NOBODY = -1
"""Group of empty rows."""
KEPT = -1
"""`Table.written` of cross-program prefetches, which are never written."""
ENDED = -2
"""`Table.rank` of blocks that have ended, and of empty rows."""
CLOSED = -3
"""`Table.rank` of rows that no block may have: the rules give the program fewer."""


def group_and_level_of(group: Array, level: Array) -> Array:
    """The entry of `Table.group_and_level`."""
    return (group << LEVEL_BITS) + (level + 1)


def level_of(group_and_level: Array) -> Array:
    """The level in an entry of `Table.group_and_level`."""
    return jnp.bitwise_and(group_and_level, 2**LEVEL_BITS - 1) - 1


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Table:
    """The blocks, sorted by offset; closed rows in front, empty ones at the end.

    `group_and_level`: the group and the level of the block's start, in one integer. `until`: of an
    ended block its end, of a live one the first slot in which it is only a ghost (`busy + 1`).
    `written`: slot after its last write, 0 if it is clean, `KEPT` of a cross-program prefetch.
    `work`: ticks of one copy of the group at that level. `rank`: of the group's next touch, as in
    `MoveRow.next_rank`; `ENDED` if the block has ended, `CLOSED` in closed rows.
    """

    group_and_level: Array  # [K]
    offset: Array  # [K]
    size: Array  # [K]
    until: Array  # [K]
    written: Array  # [K]
    work: Array  # [K]
    rank: Array  # [K]

    @property
    def group(self) -> Array:
        """Each block's group, `NOBODY` in empty rows, `[K]`."""
        return self.group_and_level >> LEVEL_BITS

    @property
    def is_live(self) -> Array:
        """Whether each block still holds its group's content, `[K]`."""
        return self.rank > ENDED

    @property
    def is_kept(self) -> Array:
        """Whether each block is a cross-program prefetch, to be there again at the end, `[K]`.

        Its row stays when it has ended.
        """
        return self.written == KEPT

    @property
    def can_go(self) -> Array:
        """Whether each row is empty, or of a block that has ended and may be forgotten, `[K]`."""
        return (self.rank == ENDED) & ~self.is_kept

    @property
    def is_dirty(self) -> Array:
        """Whether each block's content is newer than the slow copy, `[K]`."""
        return self.written > 0


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """One position of one game.

    `ledger`: up to slot `t` of the move to be decided. `open_ticks`: idle ticks of slot `t` after
    the moves decided there (may be below zero). `spare`: what the moves left in slot `t` can still
    save together; below zero if those before would have saved more than its floor leaves.
    """

    move: Array  # []
    ledger: Ledger
    open_ticks: Array  # []
    spare: Array  # []
    horizon: Array  # []
    num_stays_before: Array  # []
    is_dead: Array  # []
    table: Table


def initial_state(encoded: EncodedProgram, games: tuple[int, ...] = ()) -> State:
    """The position before the first move, of one game or of games side by side."""
    move = jnp.zeros(encoded.games, jnp.int32)
    row = encoded.row(move)

    def number(value: Array | int) -> Array:
        return jnp.broadcast_to(jnp.asarray(value, jnp.int32), games)

    def column(value: int) -> Array:
        return jnp.full((encoded.num_blocks, *games), value, jnp.int32)

    is_closed = rows_of(column(0)) < encoded.num_blocks - encoded.max_blocks
    idle = encoded.window(row.time)
    idle = beside(idle, games[idle.ndim - 1 :])
    return State(
        move=move,
        ledger=Ledger(
            idle_before=jnp.broadcast_to(idle, (*idle.shape[:1], *games)),
            reads=Waits(*(number(0) for _ in range(5))),
            writes=Waits(*(number(0) for _ in range(5))),
            settled=number(0),
            waited=number(0),
        ),
        open_ticks=number(row.open_ticks),
        spare=number(row.spare),
        horizon=number(FIRST_HORIZON),
        num_stays_before=number(0),
        is_dead=jnp.zeros(games, bool),
        table=Table(
            group_and_level=column(NOBODY << LEVEL_BITS),
            offset=jnp.where(is_closed, -FAR, column(FAR)),
            size=column(0),
            until=column(FIRST_HORIZON),
            written=column(0),
            work=column(0),
            rank=jnp.where(is_closed, CLOSED, column(ENDED)),
        ),
    )


def packed(states: State) -> Array:
    """Some games' states `[B, ...]` as a row of int32 each, `[B, S]`: handed over in one piece."""
    leaves = jax.tree.leaves(states)
    return jnp.concatenate([leaf.reshape(len(leaf), -1).astype(jnp.int32) for leaf in leaves], 1)


def unpacked(encoded: EncodedProgram, rows: Array) -> State:
    """The states `[B, ...]` in rows `[B, S]`."""
    leaves, form = jax.tree.flatten(jax.eval_shape(initial_state, encoded))
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
    states: State = jax.tree.unflatten(
        form,
        [
            part.reshape(-1, *leaf.shape).astype(leaf.dtype)
            for part, leaf in zip(jnp.split(rows, ends, axis=1), leaves, strict=True)
        ],
    )
    return states


def is_over(encoded: EncodedProgram, state: State) -> Array:
    """Whether nothing is left to decide: all moves are played, or the game is a dead end."""
    return (state.move >= encoded.num_moves) | state.is_dead


def insert(table: Table, block: Table, victim: Array, is_wanted: Array) -> Table:
    """Put `block` (one cell per column) where the order of offsets wants it, for row `victim`."""
    games = table.offset.shape[1:]
    num_before = jnp.sum(table.offset <= block.offset, axis=0, dtype=jnp.int32)
    place = num_before - (at(table.offset, victim) <= block.offset)
    # Nothing moves where no row is wanted.
    victim = jnp.broadcast_to(jnp.where(is_wanted, victim, NOBODY), games)
    place = jnp.broadcast_to(jnp.where(is_wanted, place, NOBODY), games)
    rows = rows_of(table.offset)

    def put(column: Array, cell: Array) -> Array:
        def moved(some: slice, above: Array, below: Array) -> Array:
            row = rows[some]
            up, down = (row >= victim) & (row < place), (row <= victim) & (row > place)
            kept = jnp.where(up, above, jnp.where(down, below, column[some]))
            return jnp.where(row == place, cell, kept)

        if len(column) == 1:
            return jnp.where(rows == place, cell, column)
        # First and last row apart: so the inner rows are plain slices, which XLA vectorises.
        first = moved(slice(0, 1), column[1:2], column[:1])
        inner = moved(slice(1, -1), column[2:], column[:-2])
        last = moved(slice(-1, None), column[-1:], column[-2:-1])
        return jnp.concatenate([first, inner, last])

    inserted: Table = jax.tree.map(put, table, block)
    return inserted


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Own:
    """The live block of the move's group, in row `number` of the table (none: -1).

    The other fields mean nothing where `is_resident` is false.
    """

    number: Array
    is_resident: Array
    offset: Array
    level_start: Array
    until: Array
    written: Array
    level: Array
    level_end: Array
    work: Array

    @property
    def is_dirty(self) -> Array:
        """Whether its content is newer than the slow copy."""
        return self.written > 0

    @property
    def is_kept(self) -> Array:
        """Whether it is a cross-program prefetch."""
        return self.written == KEPT


@dataclass(frozen=True)
class Situation:
    """A position, seen by the move to be decided.

    `stood_until`: end of the group's latest block, if it has none now, else 0. `must_return`: the
    group is a kept input that gave up its place. `has_row`: whether the table takes a new block, if
    need be in place of one that has ended.
    """

    encoded: EncodedProgram
    state: State
    row: MoveRow
    own: Own
    stood_until: Array
    must_return: Array
    has_row: Array

    @property
    def window(self) -> Window:
        """The idle time that the move may look back on."""
        return Window(self.encoded, self.row.time, self.state.ledger)


def situation(encoded: EncodedProgram, state: State) -> Situation:
    """The situation of the next move in `state`."""
    row, table = encoded.row(state.move), state.table
    # Earlier ends are below 2^30, a live block's row is above: one maximum finds either.
    mine = jnp.where(table.is_live, TICKS + rows_of(table.rank), table.until)
    latest = jnp.max(jnp.where(table.group == row.group, mine, 0), axis=0)
    is_resident = latest >= TICKS
    return Situation(
        encoded=encoded,
        state=state,
        row=row,
        own=_own(encoded, table, jnp.where(is_resident, latest - TICKS, -1)),
        stood_until=jnp.where(is_resident, 0, latest),
        must_return=jnp.any((table.group == row.group) & table.is_kept & ~table.is_live, axis=0),
        has_row=jnp.any(table.can_go, axis=0),
    )


def _own(encoded: EncodedProgram, table: Table, number: Array) -> Own:
    level = level_of(at(table.group_and_level, number))
    return Own(
        number=number,
        is_resident=number >= 0,
        offset=at(table.offset, number),
        level_start=encoded.start_of(level),
        until=at(table.until, number),
        written=at(table.written, number),
        level=level,
        level_end=encoded.end_of(level),
        work=at(table.work, number),
    )
