"""What the player sees of a position: one vector of float32, laid out as `layout` says.

It is the outlook, which depends on the move alone, and the view of how the memory stands. Letters
as in `engine.game.jaxgame.encoding`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.jaxgame.encoding import EncodedProgram, MoveRow
from engine.game.jaxgame.env import Position
from engine.game.jaxgame.lanes import in_lanes
from engine.game.jaxgame.options import Entry, earning, gained
from engine.game.jaxgame.placement import is_taken
from engine.game.jaxgame.state import Table
from engine.game.moves import COPY, DROP, NO_COPY, NUM_ACTIONS
from engine.game.observation.layout import NUM_AHEAD, NUM_BINS, NUM_OUTLOOK, SPANS
from engine.game.observation.static import NO_WISH, Features, squash


def observe(encoded: EncodedProgram, known: Features, position: Position) -> Array:
    """The observation of one position, `[SIZE]`."""
    return jnp.concatenate([known.outlook[position.state.move], view(encoded, known, position)])


def view(encoded: EncodedProgram, known: Features, position: Position) -> Array:
    """The part of the observation that the actions have a say in, `[NUM_VIEW]`."""
    table, move = position.state.table, position.state.move
    worth = jnp.where(table.rank >= 0, known.density[jnp.clip(table.rank, 0)], 0.0)
    seen = jnp.concatenate(
        [
            _residents(encoded, table, move),
            _options(encoded, known, position),
            _memory(encoded, table, encoded.row(move).time, worth),
            _ledger(encoded, known, position),
            plain_choice(encoded, known, position),
        ]
    )
    return seen * known.shown[NUM_OUTLOOK:]


def plain_choice(encoded: EncodedProgram, known: Features, position: Position) -> Array:
    """What the draft wants here, as far as it can be had, as a policy that is sure, `[A]`.

    Without a draft it is what a greedy player would do. As `engine.game.replay` follows a plan: a
    Copy that costs more than it saves is not played, and NoCopy never where it would mean a
    cross-program prefetch that is not wanted.
    """
    state, options = position.state, position.options
    row, mask = encoded.row(state.move), options.mask
    wish = known.wish[state.move]
    earned = earning(options, row, state.spare)
    entry, own = options.rule.entry, options.own
    leaving = jnp.where(own.is_resident, options.departure.stall, 0)
    stall = entry.copy.stall + entry.write_back_stall + leaving
    pays = mask[COPY] & (stall <= gained(row, state.spare))
    hoists = options.rule.hoisted.is_possible | (row.reads == 0)
    may_stay = mask[NO_COPY] & (own.is_resident | hoists | (known.may_keep[state.move] > 0))
    drops = jnp.where(mask[DROP], DROP, NO_COPY)
    served = jnp.where(pays, COPY, drops)
    followed = jnp.where(
        wish == NO_COPY,
        jnp.where(may_stay, NO_COPY, served),
        jnp.where(
            wish == COPY,
            jnp.where(pays, COPY, jnp.where(own.is_resident & may_stay, NO_COPY, drops)),
            drops,
        ),
    )
    return jax.nn.one_hot(jnp.where(wish == NO_WISH, earned, followed), NUM_ACTIONS)


def seen_wish(known: Features, move: Array, seen: Array) -> Array:
    """The part of views `[B, NUM_VIEW]` that says what the draft wants; zeros without a draft."""
    has_wish = known.wish[move] != NO_WISH
    return seen[:, -NUM_ACTIONS:] * has_wish[..., None]


def imagined_wish(known: Features, move: Array) -> Array:
    """What the draft wants at moves whose position is only imagined, `[..., A]`."""
    return jax.nn.one_hot(known.wish[move], NUM_ACTIONS)


@in_lanes
def _residents(encoded: EncodedProgram, table: Table, move: Array) -> Array:
    """Which of the groups of the moves ahead are in fast memory now, and dirty; `[2 H]`."""
    ahead = [encoded.group_at(move + 1 + i) for i in range(NUM_AHEAD)]
    # 0: away, 1: here, 2: here and dirty, so that one pass over the blocks finds both.
    kind = jnp.where(table.is_live, 1 + table.is_dirty, 0)
    kinds = jnp.stack([jnp.max(jnp.where(table.group == g, kind, 0), axis=0) for g in ahead])
    return jnp.concatenate([kinds > 0, kinds > 1]).astype(jnp.float32)


def _options(encoded: EncodedProgram, known: Features, position: Position) -> Array:
    """Features of what each action would do, `[NUM_OPTION]`."""
    options, state = position.options, position.state
    table, row = state.table, encoded.row(state.move)
    fast = jnp.maximum(1, encoded.fast_granules).astype(jnp.float32)
    entry, departure = options.rule.entry, options.departure
    enters = ~options.own.is_resident & entry.is_possible
    enters_other = ~options.own.is_resident & options.other.entry.is_possible
    # Where nothing enters, `start` means nothing: the search for one just stopped there.
    early = jnp.where(enters, jnp.maximum(row.time - entry.newcomer.start, 0), 0)
    here = _arrival(known, table, row, entry, enters, fast)
    there = _arrival(known, table, row, options.other.entry, enters_other, fast)
    is_there = options.own.is_resident
    writes_back = jnp.where(is_there, departure.writes_back, entry.writes_back)
    ticks = jnp.where(is_there, departure.work, entry.write_back_work) / known.point_ticks
    stall = jnp.where(options.mask[0], entry.copy.stall, 0) / known.point_ticks
    cells = jnp.stack(
        [
            options.own.is_resident,
            options.own.is_dirty & options.own.is_resident,
            options.own.is_resident & (options.own.until > row.time),
            enters,
            options.rule.offset_before >= 0,
            writes_back,
            *options.mask,
        ]
    ).astype(jnp.float32)
    amounts = jnp.stack(
        [
            squash(stall),
            squash(jnp.where(writes_back, ticks, 0)),
            squash(departure.stall / known.point_ticks),
            jnp.log1p(early.astype(jnp.float32)) / 5.0,
            jnp.log1p(jnp.maximum(row.time - state.ledger.waited, 0).astype(jnp.float32)) / 5.0,
        ]
    ).astype(jnp.float32)
    return jnp.concatenate([cells, amounts, here, there])


def _arrival(
    known: Features, table: Table, row: MoveRow, entry: Entry, enters: Array, fast: Array
) -> Array:
    """What an entry takes: whether ghosts and dirty ones, how much, its worth, its place and stall.

    Shape `[6]`; nothing where the group does not enter.
    """
    taken = is_taken(table, entry.displaced_by, entry.offset, row.size) & enters
    worth = jnp.where(taken, known.density[jnp.clip(table.rank, 0)] * table.size, 0.0)
    worth = jnp.where(table.rank >= 0, worth, 0.0)
    stall = jnp.where(enters, entry.write_back_stall, 0) / known.point_ticks
    return jnp.stack(
        [
            jnp.any(taken).astype(jnp.float32),
            jnp.any(taken & table.is_dirty).astype(jnp.float32),
            jnp.sum(jnp.where(taken, table.size, 0)) / fast,
            squash(jnp.sum(worth)),
            jnp.where(enters, entry.offset / fast, 0.0),
            squash(stall),
        ]
    )


@in_lanes
def _memory(encoded: EncodedProgram, table: Table, time: Array, worth: Array) -> Array:
    """The share of each part of the address space taken for certain, by ghosts, and their worth.

    `worth` `[K]`: points per granule that the next touch of each block saves.
    """
    width = jnp.maximum(1, -(-encoded.fast_granules // NUM_BINS)).astype(jnp.float32)
    certain = (table.group >= 0) & (table.until > time)
    ghost = table.is_live & ~certain
    low = table.offset / width
    high = low + table.size / width
    worth = jnp.where(ghost, worth * width, 0.0)
    # Else each of the reductions below works all of this out anew.
    low, high, certain, ghost, worth = jax.lax.optimization_barrier(
        (low, high, certain.astype(jnp.float32), ghost.astype(jnp.float32), worth)
    )
    parts: list[list[Array]] = []
    for part in range(NUM_BINS):
        shared = jnp.maximum(jnp.minimum(high, part + 1.0) - jnp.maximum(low, float(part)), 0.0)
        taken, haunted = jnp.sum(shared * certain, axis=0), jnp.sum(shared * ghost, axis=0)
        points = squash(jnp.sum(shared * worth, axis=0))
        parts.append([jnp.minimum(taken, 1.0), jnp.minimum(haunted, 1.0), points])
    return jnp.stack([part[kind] for kind in range(3) for part in parts])


def _ledger(encoded: EncodedProgram, known: Features, position: Position) -> Array:
    """Idle time of the last slots in points and as multiples of this move's copy."""
    before = position.state.ledger.idle_before
    row = encoded.row(position.state.move)
    back = jnp.stack([before[max(0, before.shape[0] - 1 - span)] for span in SPANS])
    idle = (before[-1] - back).astype(jnp.float32)
    ratio = idle / jnp.maximum(row.work, 1).astype(jnp.float32)
    now = jnp.maximum(position.state.open_ticks, 0) / known.point_ticks
    return jnp.concatenate(
        [squash(idle / known.point_ticks), jnp.minimum(ratio, 2.0), squash(now)[None]]
    ).astype(jnp.float32)
