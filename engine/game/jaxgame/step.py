"""The rules of the mallocGame in JAX: `analyse` finds what each action would do, `apply` plays one.

Pure and total, for one game; vmap outside (see `engine.game.jaxgame.lanes`). Letters as in
`engine.game.jaxgame.state`.
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.jaxgame.effect import Effect, StepOutcome, effect_of, nearest_legal, return_stall
from engine.game.jaxgame.encoding import INT32_MAX, EncodedProgram, MoveRow
from engine.game.jaxgame.idle_ledger import Window, advance
from engine.game.jaxgame.lanes import in_lanes, numbers_of, rows_of
from engine.game.jaxgame.options import Options, analyse, write_back_ghosts
from engine.game.jaxgame.placement import is_taken
from engine.game.jaxgame.state import ENDED, FIRST_HORIZON, NOBODY, State, Table, insert
from engine.game.quantise import TICKS

__all__ = ["Options", "StepOutcome", "analyse", "apply", "nearest_legal", "step"]


def step(encoded: EncodedProgram, state: State, action: Array) -> tuple[State, StepOutcome]:
    """Play `action` (or the nearest legal one)."""
    return apply(encoded, state, analyse(encoded, state), action)


@in_lanes
def apply(
    encoded: EncodedProgram, state: State, options: Options, action: Array
) -> tuple[State, StepOutcome]:
    """Play `action` (or the nearest legal one) where `options` is the analysis of `state`.

    A dead end, which only strict sinks know, makes the state dead: from then on moves pass without
    effect, as they do past the last.
    """
    row = encoded.row(state.move)
    is_running = jnp.any(state.move < encoded.num_moves)
    effect = numbers_of(is_running, lambda: effect_of(encoded, state, options, action))
    taken = is_taken(state.table, effect.displaced_by, effect.offset, effect.size)
    taken &= rows_of(taken) != effect.number
    written_back = write_back_ghosts(encoded, row, state, taken, effect.displaced_by, True)
    table, forgotten = _next_table(written_back.table, state, row, effect, taken)
    window = Window(encoded, row.time, written_back.ledger)
    window = window.booked(effect.departure, effect.departure_deadline, is_prefetch=False)
    ledger = window.booked(effect.copy, effect.copy_deadline, is_prefetch=True).ledger
    # The move's number depends on no action: games of one program can keep in step, unbatched.
    move = jnp.minimum(state.move + 1, encoded.num_moves)
    following = encoded.row(move)
    is_later = following.time > row.time
    idle_before = advance(encoded, ledger.idle_before, effect.open_ticks, row.time, following.time)
    after = State(
        move=move,
        ledger=replace(ledger, idle_before=idle_before),
        open_ticks=jnp.where(is_later, following.open_ticks, effect.open_ticks),
        spare=jnp.where(is_later, following.spare, effect.spare),
        horizon=jnp.maximum(state.horizon, forgotten),
        num_stays_before=state.num_stays_before + effect.is_before,
        is_dead=state.is_dead | effect.is_dead,
        table=table,
    )
    is_last = is_running & (move >= encoded.num_moves)
    return after, _with_returns(encoded, after, effect.outcome, is_last)


def _with_returns(
    encoded: EncodedProgram, state: State, outcome: StepOutcome, is_last: Array
) -> StepOutcome:
    """The outcome of the last move, with the stalls of kept inputs that come back."""

    def returned() -> StepOutcome:
        stall = jnp.where(is_last, return_stall(encoded, state), 0)
        ticks = outcome.reward_ticks - stall
        return replace(
            outcome,
            reward=ticks.astype(jnp.float32) / TICKS,
            reward_ticks=ticks,
            stall_ticks=outcome.stall_ticks + stall,
        )

    has_kept = jnp.any(is_last & (state.num_stays_before > 0))
    final: StepOutcome = jax.lax.cond(has_kept, returned, lambda: outcome)
    return final


def _next_table(
    table: Table, state: State, row: MoveRow, effect: Effect, taken: Array
) -> tuple[Table, Array]:
    """The table after the move, and the end of the block that was forgotten for it (else -1).

    `table`: with the ends of the ghosts `taken`.
    """
    settled = _settled(table, effect, taken)
    none = jnp.full_like(state.open_ticks, FIRST_HORIZON)

    def entered() -> tuple[Table, Array]:
        is_full = settled.group[-1] != NOBODY
        # One minimum finds both the earliest end and its row; `encoding` sees to it that it fits.
        num_rows = settled.group.shape[0]
        keys = jnp.where(
            settled.can_go, settled.until * num_rows + rows_of(settled.until), INT32_MAX
        )
        oldest = jnp.min(keys, axis=0)
        victim = jnp.where(is_full, oldest % num_rows, num_rows - 1)
        forgotten = jnp.where(effect.is_new & is_full, oldest // num_rows, none)
        return insert(settled, effect.block, victim, effect.is_new), forgotten

    table, end = jax.lax.cond(jnp.any(row.is_sink == 0), entered, lambda: (settled, none))
    return table, end


def _settled(table: Table, effect: Effect, taken: Array) -> Table:
    """The table with the group's own block kept or dropped, and the taken ghosts ended."""
    here = rows_of(table.rank) == effect.number
    return replace(
        table,
        until=jnp.where(here, effect.until, table.until),
        written=jnp.where(here, effect.written, table.written),
        rank=jnp.where(here, effect.rank, jnp.where(taken, ENDED, table.rank)),
    )
