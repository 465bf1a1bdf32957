"""What each action would do in a position of the JAX game.

`docs/model.md` has the rules and `engine.game.moves` says how its open points are read. Letters as
in `engine.game.jaxgame.state`.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.jaxgame.context import Own, Situation, situation
from engine.game.jaxgame.encoded import EncodedProgram, MoveRow
from engine.game.jaxgame.entry import (
    Entry,
    Leaving,
    can_stall,
    find_entry,
    find_hoisted,
    offsets_before,
)
from engine.game.jaxgame.lanes import in_lanes
from engine.game.jaxgame.placement import NO_PLACE
from engine.game.jaxgame.state import FIRST_HORIZON, State, is_over
from engine.game.moves import COPY, DROP, NO_COPY


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
class Ways:
    """How the group would enter at one end.

    `entry`: by a Copy, or by the write of a NoCopy; `hoisted`: by a NoCopy that reads, if that is
    possible, else as a cross-program prefetch at `offset_before`, from -1 on.
    """

    entry: Entry
    hoisted: Entry
    offset_before: Array

    def enters(self, row: MoveRow) -> Array:
        """Whether NoCopy brings the group in."""
        has_been = self.hoisted.is_possible | (self.offset_before != NO_PLACE)
        return jnp.where(row.reads > 0, has_been, self.entry.is_possible)

    def arrival(self, row: MoveRow) -> tuple[Array, Array]:
        """First slot and offset of the block that a NoCopy would bring in."""
        hoisted, entry, is_hoisted = self.hoisted, self.entry, self.hoisted.is_possible
        start = jnp.where(is_hoisted, hoisted.wish.start, FIRST_HORIZON)
        offset = jnp.where(is_hoisted, hoisted.offset, self.offset_before)
        reads = row.reads > 0
        return (
            jnp.where(reads, start, entry.wish.start),
            jnp.where(reads, offset, entry.offset),
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Options:
    """What each action would do in one position; all scalars but `mask`.

    `mask`: legal actions. `own`: the group's block, and `departure` how it would end. `rule`: the
    ways in that the place rule chooses, and `other`: those at the other end.
    """

    mask: Array  # [A]
    is_over: Array
    own: Own
    departure: Departure
    rule: Ways
    other: Ways


def gained(row: MoveRow, spare: Array) -> Array:
    """What the move saves if served fast: less than its saving where the floor is reached."""
    return row.saving - jnp.maximum(row.saving - spare, 0) + jnp.maximum(-spare, 0)


def earning(options: Options, row: MoveRow, spare: Array) -> Array:
    """The action of the word `EARN` (`engine.game.scripts`) at a move that can save `spare` yet."""
    saving, reads = gained(row, spare), row.reads > 0
    entry, hoisted = options.rule.entry, options.rule.hoisted
    pays = entry.copy_stall + entry.saved_stall < saving
    is_hoisted = hoisted.is_possible & (hoisted.saved_stall < saving)
    copies = options.mask[COPY] & pays & ~options.own.is_resident & ~is_hoisted
    # Of a NoCopy that reads there is a stall if it is hoisted, of one that does not, at its entry.
    enters = jnp.where(reads, hoisted.saved_stall, entry.saved_stall)
    stall = jnp.where(options.own.is_resident, 0, enters)
    stays = options.mask[NO_COPY] & (stall < jnp.maximum(saving, 1))
    return jnp.where(copies, COPY, jnp.where(stays, NO_COPY, DROP)).astype(jnp.int32)


@in_lanes
def analyse(encoded: EncodedProgram, state: State) -> Options:
    """What each action would do now. Once the game is over all actions are legal and do nothing."""
    now = situation(encoded, state)
    departure = _departure(now)
    entries = find_entry(now, _leaving(now, departure))
    if encoded.has_hoists:
        hoists = find_hoisted(now)
    else:
        hoists = jax.tree.map(jnp.zeros_like, entries)
    rule, other = map(Ways, entries, hoists, offsets_before(now))
    over, games = is_over(encoded, state), state.open_ticks.shape
    options = Options(
        # Nothing can go wrong after the end, so searches may step on without special cases.
        mask=_mask(now, departure, rule, other) | over,
        is_over=over,
        own=now.own,
        departure=departure,
        rule=rule,
        other=other,
    )
    return _of_all(options, games)


def _of_all(options: Options, games: tuple[int, ...]) -> Options:
    """The options with every number given for every game."""

    def full(leaf: Array) -> Array:
        rows = leaf.shape[: max(0, leaf.ndim - len(games))]
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


def _mask(now: Situation, departure: Departure, rule: Ways, other: Ways) -> Array:
    """The legal actions; those at the other end are none where that is the same place."""
    row, is_there = now.row, now.own.is_resident
    is_touch, reads = (row.is_sink == 0) & (row.must_be_slow == 0), row.reads > 0
    copies = is_touch & rule.entry.is_possible & reads
    copies_other = is_touch & other.entry.is_possible & reads
    is_same = (rule.entry.offset == other.entry.offset) & (
        rule.entry.wish.start == other.entry.wish.start
    )
    enters, enters_other = rule.enters(row), other.enters(row)
    (start, offset), (start_other, offset_other) = rule.arrival(row), other.arrival(row)
    is_same_arrival = enters & (start == start_other) & (offset == offset_other)
    legal = (
        copies,
        is_touch & (is_there | enters),
        departure.is_possible,
        copies_other & ~(copies & is_same),
        is_touch & ~is_there & enters_other & ~is_same_arrival,
    )
    return jnp.stack(jnp.broadcast_arrays(*legal))
