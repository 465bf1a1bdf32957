"""The situation of a move: its row, its group's own block, the ledger, and room in the table.

Letters as in `engine.game.jaxgame.state`.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.jaxgame.encoded import EncodedProgram, MoveRow
from engine.game.jaxgame.idle_ledger import Ledger
from engine.game.jaxgame.lanes import at, rows_of
from engine.game.jaxgame.state import KEPT, State, Table, level_of
from engine.game.quantise import TICKS


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Own:
    """The live block of the move's group, in row `number` of the table (none: -1).

    The other fields mean nothing where `is_resident` is false.
    """

    number: Array
    is_resident: Array
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
    def ledger(self) -> Ledger:
        """The idle time that the move may look back on."""
        state = self.state
        stalls = (state.read_stalls, state.write_stalls)
        return Ledger(self.encoded, self.row.time, *stalls, state.idle_before)


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
        level_start=encoded.start_of(level),
        until=at(table.until, number),
        written=at(table.written, number),
        level=level,
        level_end=encoded.end_of(level),
        work=at(table.work, number),
    )
