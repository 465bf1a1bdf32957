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
from engine.game.entry import Entry
from engine.game.lanes import in_lanes, numbers_of, rows_of
from engine.game.ledger import advance, book, stalled
from engine.game.moves import COPY, COPY_OTHER, DROP, NO_COPY, NUM_ACTIONS
from engine.game.options import Options, Ways, analyse
from engine.game.places import NO_PLACE, is_taken
from engine.game.quantise import TICKS
from engine.game.returns import return_stall
from engine.game.state import ENDED, FIRST_HORIZON, KEPT, NOBODY, State, Table, home_of, insert
from engine.program.model import TOP_LEVEL

NO_DEADLINE = -1

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
    A prefetch takes `copy_work` ticks from `copy_begin` on and is due at `copy_deadline`, likewise
    the write-backs of what leaves, and of the ghosts taken; -1 stands for no deadline. `block`: the
    newcomer, if `is_new`.
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
    copy_deadline: Array
    copy_stall: Array
    saved_begin: Array
    saved_work: Array
    saved_deadline: Array
    saved_stall: Array
    block: Table
    is_new: Array
    is_before: Array
    is_dead: Array
    open_ticks: Array
    spare: Array


def nearest_legal(options: Options, action: Array) -> Array:
    """The action if legal, else its kind, NoCopy or Drop, the first of them that is."""
    found = jnp.where(options.mask[NO_COPY], NO_COPY, DROP)
    for wanted in (kind_of(action), action):
        found = jnp.where(_is_legal(options, wanted), wanted, found)
    return found.astype(jnp.int32)


def kind_of(action: Array) -> Array:
    """The action of the same kind in the place of the place rule (`engine.game.moves.KINDS`)."""
    return jnp.where(action >= COPY_OTHER, action - COPY_OTHER, action)


def _is_legal(options: Options, action: Array) -> Array:
    legal = [options.mask[known] & (action == known) for known in range(NUM_ACTIONS)]
    return jnp.any(jnp.stack(legal), axis=0)


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
    # What stalls takes no idle time, least of all that after its deadline.
    saved_work = effect.saved_work - effect.saved_stall
    idle_before = book(idle_before, effect.saved_begin, saved_work)
    # The move's number depends on no action: games of one program can keep in step, unbatched.
    move = jnp.minimum(state.move + 1, encoded.num_moves)
    following = encoded.row(move)
    is_later = following.time > row.time
    settled = jnp.maximum(effect.copy_deadline, effect.saved_deadline)
    after = State(
        move=move,
        idle_before=advance(encoded, idle_before, effect.open_ticks, row.time, following.time),
        open_ticks=jnp.where(is_later, following.open_ticks, effect.open_ticks),
        spare=jnp.where(is_later, following.spare, effect.spare),
        read_stalls=stalled(state.read_stalls, effect.copy_deadline, effect.copy_stall),
        write_stalls=stalled(state.write_stalls, effect.saved_deadline, effect.saved_stall),
        settled=jnp.maximum(state.settled, settled),
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
    found: StepOutcome = jax.lax.cond(has_kept, returned, lambda: outcome)
    return found


def _effect(encoded: EncodedProgram, state: State, options: Options, action: Array) -> _Effect:
    row, own, games = encoded.row(state.move), options.own, state.open_ticks.shape
    departure, action = options.departure, nearest_legal(options, action)
    is_on = ~options.is_over & _is_legal(options, action)
    is_fast = is_on & (action != DROP)
    is_copy = is_fast & (kind_of(action) == COPY)
    is_new = is_copy | (is_fast & ~own.is_resident)
    is_elsewhere = is_new & ~is_copy & (row.reads > 0)
    ways = _ways_of(options, action)
    is_hoisted = is_elsewhere & ways.hoisted.is_possible
    is_before = is_elsewhere & ~is_hoisted
    is_placed = is_new & ~is_before
    entry: Entry = jax.tree.map(
        lambda hoisted, plain: jnp.where(is_hoisted, hoisted, plain), ways.hoisted, ways.entry
    )
    is_leaving = is_on & own.is_resident & (is_copy | (action == DROP))
    is_prefetch = is_copy | is_hoisted
    evicts = is_placed & entry.is_saved
    leaves = is_leaving & departure.is_saved
    until, written, rank = _own_after(row, options, is_leaving)
    gain, open_ticks = _served(row, state, is_fast, is_on & (action == DROP))
    block = _new_block(encoded, row, ways.offset_before, entry, is_before)
    copy_stall = jnp.where(is_prefetch, entry.copy_stall, 0)
    saved_stall = jnp.where(leaves, departure.stall, jnp.where(evicts, entry.saved_stall, 0))
    ticks = gain - copy_stall - saved_stall
    start = entry.wish.start
    effect = _Effect(
        outcome=StepOutcome(
            reward=ticks.astype(jnp.float32) / TICKS,
            reward_ticks=ticks,
            stall_ticks=copy_stall + saved_stall,
            action=action,
            offset=jnp.where(is_new, block.offset, NO_PLACE),
            start=jnp.where(is_before, FIRST_HORIZON, jnp.where(is_new, start, row.time)),
        ),
        number=jnp.where(options.is_over, NOBODY, own.number),
        until=until,
        written=written,
        rank=rank,
        start=start,
        offset=entry.offset,
        size=jnp.where(is_placed, row.size, -TICKS),
        copy_begin=entry.copy_begin,
        copy_work=jnp.where(is_prefetch, entry.copy_work, 0),
        copy_deadline=jnp.where(is_prefetch, entry.copy_deadline, NO_DEADLINE),
        copy_stall=copy_stall,
        saved_begin=jnp.where(leaves, departure.begin, entry.saved_begin),
        saved_work=jnp.where(leaves, departure.work, jnp.where(evicts, entry.saved_work, 0)),
        saved_deadline=jnp.where(
            leaves, departure.deadline, jnp.where(evicts, entry.saved_deadline, NO_DEADLINE)
        ),
        saved_stall=saved_stall,
        block=block,
        is_new=is_new,
        is_before=is_before,
        is_dead=~(is_on | options.is_over),
        open_ticks=open_ticks,
        spare=state.spare - gain,
    )
    return _of_every_game(effect, games)


def _ways_of(options: Options, action: Array) -> Ways:
    """The ways in at the end that the action chooses."""
    is_other = action >= COPY_OTHER
    ways: Ways = jax.tree.map(
        lambda rule, other: jnp.where(is_other, other, rule), options.rule, options.other
    )
    return ways


def _served(row: MoveRow, state: State, is_fast: Array, is_slow: Array) -> tuple[Array, Array]:
    """What the move saves, and the idle ticks of its slot then."""
    gain = jnp.where(is_fast, jnp.minimum(row.saving, state.spare), 0)
    # What a floor keeps from being saved, the slot lasts longer than if all were fast.
    unsaved = jnp.where(is_fast, row.saving - gain, 0)
    open_ticks = state.open_ticks + jnp.where(is_slow, row.slow_ticks, unsaved)
    return gain, jnp.maximum(open_ticks, -TICKS)


def _of_every_game(effect: _Effect, games: tuple[int, ...]) -> _Effect:
    every: _Effect = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, games), effect)
    return every


def _own_after(row: MoveRow, options: Options, is_leaving: Array) -> tuple[Array, Array, Array]:
    """`until`, `written` and `rank` of the group's own block after the move."""
    own, departure, is_touch = options.own, options.departure, row.is_sink == 0
    is_ended = is_leaving & (is_touch | departure.is_saved)
    kept = jnp.where(is_touch, jnp.maximum(own.until, row.busy_after(own.level_start)), own.until)
    written = jnp.where(row.writes > 0, row.time + 1, own.written)
    stays = _stays_live(row, own.level_end, written) & ~is_ended
    end = jnp.where(is_ended, departure.end, kept)
    return end, jnp.where(is_ended, own.written, written), jnp.where(stays, row.next_rank, ENDED)


def _new_block(
    encoded: EncodedProgram,
    row: MoveRow,
    offset_before: Array,
    entry: Entry,
    is_before: Array,
) -> Table:
    """The newcomer, as one cell per column of the table."""
    level = jnp.where(is_before, TOP_LEVEL, entry.level)
    written = jnp.where(is_before, KEPT, jnp.where(row.writes > 0, row.time + 1, 0))
    return Table(
        home=home_of(row.group, level),
        offset=jnp.where(is_before, offset_before, entry.offset),
        size=row.size,
        until=jnp.where(is_before, row.busy_after(jnp.asarray(FIRST_HORIZON)), entry.until),
        written=written,
        work=jnp.where(is_before, row.top_work, entry.copy_work),
        rank=jnp.where(_stays_live(row, encoded.end_of(level), written), row.next_rank, ENDED),
    )


def _stays_live(row: MoveRow, level_end: Array, written: Array) -> Array:
    """Whether the group's block outlives this move as a ghost: something later can use it."""
    needs_saving = (written > 0) & (row.is_last == 0)
    return (row.next_time < level_end) | needs_saving | (written == KEPT)


def _next_table(state: State, row: MoveRow, effect: _Effect) -> tuple[Table, Array]:
    """The table after the move, and the end of the block that was forgotten for it (else -1)."""
    settled = _settled(state.table, effect)
    none = jnp.full_like(state.open_ticks, FIRST_HORIZON)

    def entered() -> tuple[Table, Array]:
        is_full = settled.group[-1] != NOBODY
        # One minimum finds both the earliest end and its row; `encode` sees to it that it fits.
        num_rows = settled.group.shape[0]
        keys = jnp.where(
            settled.can_go, settled.until * num_rows + rows_of(settled.until), INT32_MAX
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
