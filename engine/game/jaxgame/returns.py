"""How kept inputs that gave up their places are there again at the end. Letters as in `state`."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.jaxgame.encoded import EncodedProgram
from engine.game.jaxgame.idle_ledger import Ledger, book
from engine.game.jaxgame.lanes import at, rows_of
from engine.game.jaxgame.state import State
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
        stalls = (state.read_stalls, state.write_stalls)
        ledger = Ledger(encoded, end, *stalls, state.idle_before)
        earliest = jnp.maximum(state.horizon, _free_from(state, number))
        copy = ledger.prefetch(jnp.asarray(TOP_LEVEL), end, work, earliest)
        state = replace(state, idle_before=book(state.idle_before, copy.begin, work))
        pending = pending & (rows_of(pending) != number)
        return state, pending, stall + jnp.maximum(0, work - copy.idle)

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
