"""What each action would do in a position: the place of its block, its copy, its legality."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.jaxgame.encoding import EncodedProgram, MoveRow
from engine.game.jaxgame.idle_ledger import Span
from engine.game.jaxgame.lanes import in_lanes, numbers_of, rows_of
from engine.game.jaxgame.placement import (
    NO_PLACE,
    Ends,
    Wish,
    find_last_places,
    find_places,
    find_places_before,
    taken_at,
)
from engine.game.jaxgame.state import (
    ENDED,
    FIRST_HORIZON,
    Own,
    Situation,
    State,
    Table,
    is_over,
    situation,
)
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.quantise import TICKS


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Entry:
    """How the move's group would enter: its block, its copy, and the write-back of taken ghosts.

    The block, which stands at `offset` from `wish.start` on, is of `level` and a ghost from slot
    `until` on. The copy (if the move reads) takes `copy_work` ticks from prefix sum `copy_begin`
    on, until `copy_deadline`, and stalls for `copy_stall`; the write-back, if `is_saved`, takes
    `saved_work` from `saved_begin` on, until `saved_deadline`, and stalls for `saved_stall`.
    """

    is_possible: Array
    wish: Wish
    until: Array
    level: Array
    copy_begin: Array
    copy_work: Array
    copy_deadline: Array
    copy_stall: Array
    offset: Array
    is_saved: Array
    saved_begin: Array
    saved_work: Array
    saved_deadline: Array
    saved_stall: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Leaving:
    """Whether the group's own block may end at slot `end`, to be copied in anew."""

    is_possible: Array
    end: Array


Pair = tuple[Entry, Entry]
"""Entries in the place that the place rule chooses, and at the other end."""


def find_entry(now: Situation, leaving: Leaving) -> Pair:
    """The ways in at the move itself: by a Copy that ends there, or as the block that it writes.

    A copy that finds no place starts later, with half of its work ahead of it or with all, and
    stalls.
    """
    row = now.row
    may_enter = (row.is_sink == 0) & (~now.own.is_resident | leaving.is_possible)
    now = _without_own(now, leaving)
    whole = jnp.asarray(0)
    pair = _placed(now, numbers_of(jnp.any(may_enter), lambda: _plain(now, leaving, whole)))
    may_copy = may_enter & (row.reads > 0)
    is_stuck = may_copy & ~(pair[0].is_possible & pair[1].is_possible)

    def try_later(halves: Array, earlier: Pair) -> Pair:
        later = _placed_last(now, _plain(now, leaving, halves))
        return _either(may_copy, earlier, later)

    # A loop, although there are two tries only: compiling is what takes time.
    started: Pair = jax.lax.cond(
        jnp.any(is_stuck), lambda: jax.lax.fori_loop(1, 3, try_later, pair), lambda: pair
    )
    return started


def _either(may_enter: Array, earlier: Pair, later: Pair) -> Pair:
    """At each end the entry that begins earlier, or, if only that is possible, the later one."""

    def either(one: Entry, other: Entry) -> Entry:
        return _chosen(may_enter & ~one.is_possible & other.is_possible, other, one)

    return either(earlier[0], later[0]), either(earlier[1], later[1])


def find_hoisted(now: Situation) -> Pair:
    """A copy in front of the loop, whose block stays through the loop; it must not stall."""
    may_hoist = (now.row.is_sink == 0) & ~now.own.is_resident & (now.row.hoist_start >= 0)
    return _placed(now, numbers_of(jnp.any(may_hoist), lambda: _hoisted(now)))


def offsets_before(now: Situation) -> Ends:
    """Places of a cross-program prefetch, or `NO_PLACE` if there cannot be one."""
    encoded, state, row = now.encoded, now.state, now.row
    none = jnp.full_like(state.open_ticks, NO_PLACE)
    is_left = state.num_stays_before < encoded.max_stays_before
    is_untouched = (state.horizon == FIRST_HORIZON) & (row.top_work < TICKS)
    may_stay = (row.may_stay_before > 0) & is_left & is_untouched & now.has_row

    def find() -> Ends:
        wish = _wish(now, jnp.full_like(none, FIRST_HORIZON), encoded.max_reserved, none)
        rule, other = find_places_before(state.table, wish, encoded.fast_granules)
        return jnp.where(may_stay, rule, NO_PLACE), jnp.where(may_stay, other, NO_PLACE)

    offsets: Ends = jax.lax.cond(jnp.any(may_stay), find, lambda: (none, none))
    return offsets


def _without_own(now: Situation, leaving: Leaving) -> Situation:
    """The situation once the group's own block, if it leaves, has ended."""
    table = now.state.table

    def ended() -> Table:
        here = (rows_of(table.rank) == now.own.number) & leaving.is_possible
        return replace(
            table,
            until=jnp.where(here, leaving.end, table.until),
            rank=jnp.where(here, ENDED, table.rank),
        )

    rest = jax.lax.cond(jnp.any(leaving.is_possible), ended, lambda: table)
    return replace(
        now, state=replace(now.state, table=rest), has_row=now.has_row | leaving.is_possible
    )


def _plain(now: Situation, leaving: Leaving, halves: Array) -> Entry:
    """The entry at the move, with so many halves of its copy left to a stall; not placed yet."""
    row, reads, state = now.row, now.row.reads > 0, now.state
    valid = jnp.maximum(row.slow_valid, now.stood_until)
    valid = jnp.where(leaving.is_possible, leaving.end, valid)
    hidden = jnp.where(halves == 0, row.work, jnp.where(halves == 1, row.work // 2, 0))
    copy = now.ledger.prefetch(row.level, row.time, hidden, jnp.maximum(state.horizon, valid))
    is_in_time = jnp.where(reads, copy.is_possible, row.time >= state.horizon)
    must_return = now.must_return & (row.is_lasting > 0)
    start = jnp.where(reads, copy.start, row.time)
    return _unplaced(
        now,
        is_possible=is_in_time
        & (row.work < TICKS)
        & (row.is_sink == 0)
        & ~must_return
        & (~now.own.is_resident | leaving.is_possible),
        start=start,
        is_lasting=row.is_lasting,
        until=row.end,
        level=row.level,
        copy_begin=copy.begin,
        copy_work=row.work,
        copy_deadline=row.time,
        copy_stall=jnp.where(reads, jnp.maximum(0, row.work - copy.idle), 0),
        reserved=row.reserved_ahead,
    )


def _hoisted(now: Situation) -> Entry:
    """The entry whose copy runs in front of the loop; it is not placed yet."""
    row, work = now.row, now.row.hoist_work
    earliest = jnp.maximum(now.state.horizon, jnp.maximum(row.slow_valid, now.stood_until))
    copy = now.ledger.prefetch(row.hoist_level, row.hoist_start, work, earliest)
    is_possible = (row.hoist_start >= 0) & copy.is_possible & (work < TICKS) & (copy.idle >= work)
    must_return = now.must_return & (row.hoist_is_lasting > 0)
    return _unplaced(
        now,
        is_possible=is_possible & ~must_return & ~now.own.is_resident,
        start=copy.start,
        is_lasting=row.hoist_is_lasting,
        until=row.hoist_end,
        level=row.hoist_level,
        copy_begin=copy.begin,
        copy_work=work,
        copy_deadline=row.hoist_start,
        copy_stall=jnp.zeros_like(work),
        reserved=row.hoist_reserved,
    )


def _unplaced(now: Situation, *, is_lasting: Array, **numbers: Array) -> Entry:
    """An entry that has no place yet; `floor` takes in the scratch up to the move."""
    none = jnp.zeros_like(now.state.open_ticks)
    start, reserved = numbers.pop("start"), numbers.pop("reserved")
    floor = jnp.maximum(reserved, now.encoded.most_reserved(start, now.row.time))
    entry = Entry(
        wish=_wish(now, start, floor, is_lasting),
        offset=none + NO_PLACE,
        is_saved=none < 0,
        saved_begin=none,
        saved_work=none,
        saved_deadline=none,
        saved_stall=none,
        **numbers,
    )
    every: Entry = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, none.shape), entry)
    return every


def _wish(now: Situation, start: Array, floor: Array, is_lasting: Array) -> Wish:
    row = now.row
    return Wish(
        start=start,
        floor=floor,
        size=row.size,
        rank=row.rank,
        is_lasting=is_lasting > 0,
        is_high=row.is_high > 0,
        is_best_fit=now.encoded.is_best_fit,
    )


def _placed(now: Situation, entry: Entry) -> Pair:
    """The entry in the first places that ghosts can leave, of those that spare ever fewer."""
    table, capacity = now.state.table, now.encoded.fast_granules

    def place() -> Pair:
        rule, other = find_places(table, entry.wish, capacity)
        # Whether a gap is large enough is the same for both ends.
        is_free = (rule[0] != NO_PLACE) & now.has_row
        free = replace(entry, is_possible=entry.is_possible & is_free, offset=rule[0])
        both = free, replace(free, offset=other[0])

        def evict() -> Pair:
            at_rule, at_other = _evicting(now, entry, rule), _evicting(now, entry, other)
            return _chosen(is_free, both[0], at_rule), _chosen(is_free, both[1], at_other)

        placed: Pair = jax.lax.cond(jnp.any(entry.is_possible & ~is_free), evict, lambda: both)
        return placed

    pair: Pair = jax.lax.cond(jnp.any(entry.is_possible), place, lambda: (entry, entry))
    return pair


def _placed_last(now: Situation, entry: Entry) -> Pair:
    """The entry in the places that spare no ghost; their write-back may stall."""
    rule, other = find_last_places(now.state.table, entry.wish, now.encoded.fast_granules)
    at_rule = _evicting_at(now, entry, rule, may_stall=True)
    return at_rule, _evicting_at(now, entry, other, may_stall=True)


def _evicting(now: Situation, entry: Entry, offsets: Array) -> Entry:
    """The entry at the second of `offsets`, `[3]`, if that takes no stall, else at the third."""

    def try_place(number: Array, earlier: Entry) -> Entry:
        other = _evicting_at(now, entry, offsets[number], may_stall=number == 2)
        return _chosen(earlier.is_possible, earlier, other)

    none = replace(entry, is_possible=jnp.zeros_like(entry.is_possible))
    placed: Entry = jax.lax.fori_loop(1, 3, try_place, none)
    return placed


def _chosen(is_one: Array, one: Entry, other: Entry) -> Entry:
    picked: Entry = jax.tree.map(lambda a, b: jnp.where(is_one, a, b), one, other)
    return picked


def _evicting_at(now: Situation, entry: Entry, offset: Array, may_stall: Array | bool) -> Entry:
    """The entry at `offset`, for which ghosts may have to go."""
    wish = entry.wish
    taken = taken_at(now.state.table, wish, offset)
    span = now.ledger.write_back(taken.highest, wish.start, taken.written)
    has_place = (offset != NO_PLACE) & (taken.is_any | now.has_row)
    stall = jnp.where(taken.is_dirty, jnp.maximum(0, taken.work - jnp.maximum(span.idle, 0)), 0)
    is_one_level = taken.lowest == taken.highest
    can_wait = can_stall(now, span) & may_stall
    is_in_time = span.is_possible & is_one_level & ((stall == 0) | can_wait)
    can_be_saved = ~taken.is_dirty | (is_in_time & ~now.own.is_resident & (taken.work < TICKS))
    return replace(
        entry,
        is_possible=entry.is_possible & has_place & can_be_saved,
        offset=offset,
        is_saved=taken.is_dirty,
        saved_begin=span.begin,
        saved_work=taken.work,
        saved_deadline=now.ledger.done(taken.highest, span, taken.work),
        saved_stall=stall,
    )


def can_stall(now: Situation, span: Span) -> Array:
    """Whether no copy is under way at the span's deadline, as where the move's loop begins."""
    return (now.state.settled <= span.deadline) | now.row.begins_loop(span.deadline)


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
    would_cover = row.covered_until(own.level_start) > row.time + 1
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
