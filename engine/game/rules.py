"""The rules of the mallocGame in JAX: `analyse` finds what each action would do, `apply` plays one.

Pure and total, for one game; vmap outside (see `engine.game.lanes`). Letters as in
`engine.game.state`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.encoded import INT32_MAX, EncodedProgram, MoveRow
from engine.game.lanes import in_lanes, numbers_of, rows_of
from engine.game.ledger import advance, book
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.options import Options, analyse
from engine.game.places import NO_PLACE, is_taken
from engine.game.quantise import TICKS
from engine.game.state import ENDED, FIRST_HORIZON, NOBODY, State, Table, home_of, insert
from engine.program.model import TOP_LEVEL

__all__ = ["Options", "StepOutcome", "analyse", "apply", "nearest_legal", "step"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StepOutcome:
    """What one move did.

    `reward` is `reward_ticks / 2^30`: the saving taken less the stall. `action`: the one played.
    `offset`: in granules, of the group's new block, else -1. `start`: first slot of the new block.
    """

    reward: Array
    reward_ticks: Array
    stall_ticks: Array
    action: Array
    offset: Array
    start: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Effect:
    """What an action does, in numbers.

    `number`: row of the group's own block (none: -1), which gets `until`, `written` and `rank`.
    Ghosts that `[offset, offset + size)` overlaps end at `start` (none do: `size` is far below 0).
    A prefetch takes `copy_work` ticks from `copy_begin` on, write-backs `saved_work` from
    `saved_begin` on. `block`: the newcomer, if `is_new`.
    """

    outcome: StepOutcome
    number: Array
    until: Array
    written: Array
    rank: Array
    start: Array
    offset: Array
    size: Array
    copy_begin: Array
    copy_work: Array
    saved_begin: Array
    saved_work: Array
    block: Table
    is_new: Array
    is_before: Array
    is_dead: Array
    open_ticks: Array


def nearest_legal(options: Options, action: Array) -> Array:
    """The action if legal, else NoCopy if legal, else Drop."""
    other = jnp.where(options.mask[NO_COPY], NO_COPY, DROP)
    return jnp.where(_is_legal(options, action), action, other).astype(jnp.int32)


def _is_legal(options: Options, action: Array) -> Array:
    copy, no_copy, drop = options.mask[COPY], options.mask[NO_COPY], options.mask[DROP]
    return jnp.where(action == COPY, copy, jnp.where(action == NO_COPY, no_copy, drop))


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
    effect = numbers_of(is_running, lambda: _effect(encoded, state, options, action))
    table, forgotten = _next_table(state, row, effect)
    # The copy is the later of the two in time, so booking it first leaves `saved_begin` as it is.
    idle_before = book(state.idle_before, effect.copy_begin, effect.copy_work)
    idle_before = book(idle_before, effect.saved_begin, effect.saved_work)
    # The move's number depends on no action: games of one program can keep in step, unbatched.
    move = jnp.minimum(state.move + 1, encoded.num_moves)
    following = encoded.row(move)
    is_later, stall = following.time > row.time, effect.outcome.stall_ticks
    return State(
        move=move,
        idle_before=advance(encoded, idle_before, effect.open_ticks, row.time, following.time),
        open_ticks=jnp.where(is_later, following.open_ticks, effect.open_ticks),
        barrier=jnp.where(stall > 0, row.time, state.barrier),
        horizon=jnp.maximum(state.horizon, forgotten),
        num_stays_before=state.num_stays_before + effect.is_before,
        is_dead=state.is_dead | effect.is_dead,
        table=table,
    ), effect.outcome


def _effect(encoded: EncodedProgram, state: State, options: Options, action: Array) -> _Effect:
    row, own, games = encoded.row(state.move), options.own, state.open_ticks.shape
    action = nearest_legal(options, action)
    is_on = ~options.is_over & _is_legal(options, action)
    is_fast = is_on & (action != DROP)
    is_new = is_fast & ~own.is_resident
    is_before = is_new & (action == NO_COPY) & (row.reads > 0)
    is_placed = is_new & ~is_before
    is_copy = is_fast & (action == COPY)
    is_dropped = is_on & (action == DROP) & own.is_resident
    saves = options.is_saved & (is_placed | is_dropped)
    until, written, rank = _own_after(row, options, is_dropped)
    is_slow = is_on & (action == DROP)
    open_ticks = state.open_ticks + jnp.where(is_slow, row.slow_ticks, 0)
    block = _new_block(encoded, row, options, is_before)
    stall = jnp.where(is_copy, options.copy_stall, jnp.where(is_dropped, options.sink_stall, 0))
    ticks = jnp.where(is_fast, row.saving, 0) - stall
    effect = _Effect(
        outcome=StepOutcome(
            reward=ticks.astype(jnp.float32) / TICKS,
            reward_ticks=ticks,
            stall_ticks=stall,
            action=action,
            offset=jnp.where(is_new, block.offset, NO_PLACE),
            start=jnp.where(is_before, FIRST_HORIZON, jnp.where(is_new, options.start, row.time)),
        ),
        number=jnp.where(options.is_over, NOBODY, own.number),
        until=until,
        written=written,
        rank=rank,
        start=options.start,
        offset=options.offset,
        size=jnp.where(is_placed, row.size, -TICKS),
        copy_begin=options.copy_begin,
        copy_work=jnp.where(is_copy, options.copy_work, 0),
        saved_begin=options.saved_begin,
        saved_work=jnp.where(saves, options.saved_work, 0),
        block=block,
        is_new=is_new,
        is_before=is_before,
        is_dead=~(is_on | options.is_over),
        open_ticks=jnp.maximum(open_ticks, -TICKS),
    )
    every: _Effect = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, games), effect)
    return every


def _own_after(row: MoveRow, options: Options, is_dropped: Array) -> tuple[Array, Array, Array]:
    """`until`, `written` and `rank` of the group's own block after the move."""
    own, is_touch = options.own, row.is_sink == 0
    is_ended = is_dropped & (is_touch | options.is_saved)
    kept = jnp.where(is_touch, jnp.maximum(own.until, row.busy_after(own.level_start)), own.until)
    end = jnp.where(options.is_saved, options.saved_deadline, own.until)
    written = jnp.where(row.writes > 0, row.time + 1, own.written)
    stays = _stays_live(row, own.level_end, written > 0) & ~is_ended
    return jnp.where(is_ended, end, kept), written, jnp.where(stays, row.next_rank, ENDED)


def _new_block(encoded: EncodedProgram, row: MoveRow, options: Options, is_before: Array) -> Table:
    """The newcomer, as one cell per column of the table."""
    level = jnp.where(is_before, TOP_LEVEL, options.level)
    stays = _stays_live(row, encoded.end_of(level), row.writes > 0)
    return Table(
        home=home_of(row.group, level),
        offset=jnp.where(is_before, options.offset_before, options.offset),
        size=row.size,
        until=jnp.where(is_before, encoded.num_slots, options.until),
        written=jnp.where(row.writes > 0, row.time + 1, 0),
        work=jnp.where(is_before, row.work, options.copy_work),
        rank=jnp.where(stays, row.next_rank, ENDED),
    )


def _stays_live(row: MoveRow, level_end: Array, is_dirty: Array) -> Array:
    """Whether the group's block outlives this move as a ghost: something later can use it."""
    return (row.next_time < level_end) | (is_dirty & (row.is_last == 0))


def _next_table(state: State, row: MoveRow, effect: _Effect) -> tuple[Table, Array]:
    """The table after the move, and the end of the block that was forgotten for it (else -1)."""
    settled = _settled(state.table, effect)
    none = jnp.full_like(state.open_ticks, FIRST_HORIZON)

    def entered() -> tuple[Table, Array]:
        is_full = settled.group[-1] != NOBODY
        # One minimum finds both the earliest end and its row; `encode` sees to it that it fits.
        num_rows = settled.group.shape[0]
        keys = jnp.where(
            settled.rank == ENDED, settled.until * num_rows + rows_of(settled.until), INT32_MAX
        )
        oldest = jnp.min(keys, axis=0)
        victim = jnp.where(is_full, oldest % num_rows, num_rows - 1)
        forgotten = jnp.where(effect.is_new & is_full, oldest // num_rows, none)
        return insert(settled, effect.block, victim, effect.is_new), forgotten

    found: tuple[Table, Array] = jax.lax.cond(
        jnp.any(row.is_sink == 0), entered, lambda: (settled, none)
    )
    return found


def _settled(table: Table, effect: _Effect) -> Table:
    """The table with the group's own block kept or dropped, and the taken ghosts ended."""
    here = rows_of(table.rank) == effect.number
    taken = is_taken(table, effect.start, effect.offset, effect.size)
    return replace(
        table,
        until=jnp.where(here, effect.until, jnp.where(taken, effect.start, table.until)),
        written=jnp.where(here, effect.written, table.written),
        rank=jnp.where(here, effect.rank, jnp.where(taken, ENDED, table.rank)),
    )
