"""What each action would do in a position of the JAX game.

`docs/model.md` has the rules and `engine.game.moves` says how its open points are read. Letters as
in `engine.game.state`.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.encoded import EncodedProgram, MoveRow
from engine.game.entry import Entry, Leaving, can_stall, find_entry, find_hoisted, offset_before
from engine.game.lanes import in_lanes
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.places import NO_PLACE
from engine.game.situation import Own, Situation, situation
from engine.game.state import State, is_over


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Departure:
    """How the group's own block would end by a Drop, at a sink, or to be copied in anew.

    It ends at slot `end`. If `is_saved`, it is written back first: that takes `work` ticks from
    prefix sum `begin` on, until `deadline`, and stalls for `stall`.
    """

    is_possible: Array
    end: Array
    is_saved: Array
    begin: Array
    work: Array
    deadline: Array
    stall: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Options:
    """What each action would do in one position; all scalars but `mask`.

    `mask`: legal actions. `own`: the group's block, and `departure` how it would end. `entry`: how
    the group would enter by a Copy, or by the write of a NoCopy; `hoisted`: by a NoCopy that reads,
    if that is possible, else as a cross-program prefetch at `offset_before`, from -1 on.
    `no_copy_stall`: of a NoCopy.
    """

    mask: Array  # [3]
    is_over: Array
    own: Own
    departure: Departure
    entry: Entry
    hoisted: Entry
    offset_before: Array
    no_copy_stall: Array


def earning(options: Options, saving: Array) -> Array:
    """The action of the word `EARN` (`engine.game.scripts`) at a move that saves `saving` ticks."""
    entry, hoisted = options.entry, options.hoisted
    pays = entry.copy_stall + entry.saved_stall < saving
    is_hoisted = hoisted.is_possible & (hoisted.saved_stall < saving)
    copies = options.mask[COPY] & pays & ~options.own.is_resident & ~is_hoisted
    stays = options.mask[NO_COPY] & (options.no_copy_stall < jnp.maximum(saving, 1))
    return jnp.where(copies, COPY, jnp.where(stays, NO_COPY, DROP)).astype(jnp.int32)


@in_lanes
def analyse(encoded: EncodedProgram, state: State) -> Options:
    """What each action would do now. Once the game is over all actions are legal and do nothing."""
    now = situation(encoded, state)
    departure = _departure(now)
    entry = find_entry(now, _leaving(now, departure))
    hoisted = find_hoisted(now) if encoded.has_hoists else entry
    if not encoded.has_hoists:
        hoisted = jax.tree.map(jnp.zeros_like, entry)
    before = offset_before(now)
    over, games = is_over(encoded, state), state.open_ticks.shape
    options = Options(
        # Nothing can go wrong after the end, so searches may step on without special cases.
        mask=_mask(now, departure, entry, hoisted, before) | over,
        is_over=over,
        own=now.own,
        departure=departure,
        entry=entry,
        hoisted=hoisted,
        offset_before=before,
        no_copy_stall=jnp.where(
            now.own.is_resident,
            0,
            jnp.where(now.row.reads > 0, hoisted.saved_stall, entry.saved_stall),
        ),
    )
    return _of_all(options, games)


def _of_all(options: Options, games: tuple[int, ...]) -> Options:
    """The options with every number given for every game."""

    def full(leaf: Array) -> Array:
        rows = leaf.shape[: leaf.ndim - len(games)] if leaf.ndim > len(games) else ()
        return jnp.broadcast_to(leaf, (*rows, *games))

    every: Options = jax.tree.map(full, options)
    return every


def _departure(now: Situation) -> Departure:
    row, own, ledger = now.row, now.own, now.ledger
    is_sink = row.is_sink > 0
    saved = ledger.write_back(own.level, row.time, own.written)
    done = ledger.done(own.level, saved, own.work)
    is_saved = own.is_resident & _needs_saving(row, own)
    lacking = jnp.maximum(own.work - jnp.maximum(saved.idle, 0), 0)
    stall = jnp.where(is_saved, lacking, 0)
    in_time = (stall == 0) | can_stall(now, saved)
    may_go = (own.until <= row.time) & (~is_saved | (saved.is_possible & in_time))
    is_possible = jnp.where(is_sink, (stall == 0) | (not now.encoded.is_strict), may_go)
    deadline = jnp.where(is_sink, saved.deadline, done)
    end = jnp.where(is_saved, jnp.where(is_sink, deadline, jnp.maximum(own.until, done)), own.until)
    # Where a kept input comes back, it must not have stood since: else it stays to the end.
    is_late = own.is_kept & (own.until > now.encoded.return_slot)
    return Departure(
        is_possible=is_possible | ~own.is_resident,
        end=jnp.where(is_late, now.encoded.num_slots, end),
        is_saved=is_saved,
        begin=saved.begin,
        work=own.work,
        deadline=deadline,
        stall=stall,
    )


def _leaving(now: Situation, departure: Departure) -> Leaving:
    """A Copy of a resident group, so that its block need not cover the loop that the move is in."""
    row, own = now.row, now.own
    would_cover = row.busy_after(own.level_start) > row.time + 1
    is_free = own.is_resident & ~own.is_kept & (own.until <= row.time)
    may_leave = is_free & would_cover & (row.reads > 0) & (row.is_sink == 0)
    return Leaving(may_leave & departure.is_possible, departure.end)


def _needs_saving(row: MoveRow, own: Own) -> Array:
    """Whether the end of the resident block needs its content in slow memory."""
    is_sunk = (row.is_sink > 0) & (own.level_start >= row.region_start)
    return own.is_dirty & ((row.reads > 0) | is_sunk)


def _mask(
    now: Situation, departure: Departure, entry: Entry, hoisted: Entry, before: Array
) -> Array:
    """The legal actions."""
    row, is_there = now.row, now.own.is_resident
    is_touch, reads = row.is_sink == 0, row.reads > 0
    copy_ok = is_touch & entry.is_possible & reads
    enters = jnp.where(reads, hoisted.is_possible | (before != NO_PLACE), entry.is_possible)
    no_copy_ok = is_touch & (is_there | enters)
    return jnp.stack([copy_ok, no_copy_ok, jnp.broadcast_to(departure.is_possible, copy_ok.shape)])
