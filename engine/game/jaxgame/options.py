"""What each action would do in a position: the place of its block, its copy, its legality."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.jaxgame.encoding import INT32_MAX, EncodedProgram, MoveRow
from engine.game.jaxgame.idle_ledger import Ledger, Run, Window
from engine.game.jaxgame.lanes import at, in_lanes, numbers_of, rows_of
from engine.game.jaxgame.placement import (
    NO_PLACE,
    Ends,
    Newcomer,
    find_last_places,
    find_places,
    find_places_before,
    fits_at,
    is_certain,
    is_taken,
    overlaps,
    sum_of_ticks,
)
from engine.game.jaxgame.state import (
    ENDED,
    FIRST_HORIZON,
    Own,
    Situation,
    State,
    Table,
    is_over,
    level_of,
    situation,
)
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.quantise import TICKS


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Entry:
    """How the move's group would enter: its block, its copy, and the ghosts that it takes.

    The block, which stands at `offset` from `newcomer.start` on, is of `level` and a ghost from
    slot `until` on. The copy (if the move reads) needs `work` ticks until `deadline`. Ghosts there
    leave before slot `displaced_by`, all dirty ones by slot `cleared`; `writes_back`: there are
    such, and to write them back needs `write_back_work` ticks and stalls for `write_back_stall`.
    """

    is_possible: Array
    newcomer: Newcomer
    until: Array
    level: Array
    work: Array
    copy: Run
    deadline: Array
    offset: Array
    displaced_by: Array
    cleared: Array
    writes_back: Array
    write_back_work: Array
    write_back_stall: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Leaving:
    """Whether the group's own block may end at slot `end`, to be copied in anew."""

    is_possible: Array
    end: Array


Pair = tuple[Entry, Entry]
"""Entries in the place that the place rule chooses, and at the other end."""


def find_entry(now: Situation, leaving: Leaving) -> tuple[Entry, Pair]:
    """The ways in at the move itself: by a Copy that ends there, or as the block that it writes.

    First that to the planned place, then those of the place rule and at the other end. A copy that
    finds no place there starts later, with half of its work ahead of it or with all, and stalls.
    """
    row = now.row
    may_enter = (row.is_sink == 0) & (~now.own.is_resident | leaving.is_possible)
    now = _without_own(now, leaving)
    whole = jnp.asarray(0)
    plain = numbers_of(jnp.any(may_enter), lambda: _plain(now, leaving, whole))
    planned = _in_planned(now, plain, _earliest_start(now, leaving))
    pair = _placed(now, plain)
    may_copy = may_enter & (row.reads > 0)
    is_stuck = may_copy & ~(pair[0].is_possible & pair[1].is_possible)

    def try_later(halves: Array, earlier: Pair) -> Pair:
        later = _placed_last(now, _plain(now, leaving, halves))
        return _either(may_copy, earlier, later)

    # A loop, although there are two tries only: compiling is what takes time.
    started: Pair = jax.lax.cond(
        jnp.any(is_stuck), lambda: jax.lax.fori_loop(1, 3, try_later, pair), lambda: pair
    )
    return planned, started


def _either(may_enter: Array, earlier: Pair, later: Pair) -> Pair:
    """At each end the entry that begins earlier, or, if only that is possible, the later one."""

    def either(one: Entry, other: Entry) -> Entry:
        return _chosen(may_enter & ~one.is_possible & other.is_possible, other, one)

    return either(earlier[0], later[0]), either(earlier[1], later[1])


def find_hoisted(now: Situation) -> tuple[Entry, Pair]:
    """A copy in front of the loop, whose block stays through the loop; it must not stall."""
    may_hoist = (now.row.is_sink == 0) & ~now.own.is_resident & (now.row.hoist_start >= 0)
    plain = numbers_of(jnp.any(may_hoist), lambda: _hoisted(now))
    planned = _in_planned(now, plain, _earliest_start(now))
    is_early = (planned.newcomer.start < now.row.hoist_start) & (planned.copy.stall == 0)
    planned = replace(planned, is_possible=planned.is_possible & is_early)
    return planned, _placed(now, plain)


def offsets_before(now: Situation) -> tuple[Array, Ends]:
    """Places of a cross-program prefetch, or `NO_PLACE` if there cannot be one.

    The planned one, that of the place rule, and that at the other end.
    """
    encoded, state, row = now.encoded, now.state, now.row
    none = jnp.full_like(state.open_ticks, NO_PLACE)
    is_left = state.num_stays_before < encoded.max_stays_before
    is_untouched = (state.horizon == FIRST_HORIZON) & (row.top_work < TICKS)
    may_stay = (row.may_stay_before > 0) & is_left & is_untouched & now.has_row

    def find() -> tuple[Array, Array, Array]:
        newcomer = _newcomer(now, jnp.full_like(none, FIRST_HORIZON), encoded.max_reserved, none)
        places = find_places_before(state.table, newcomer, encoded.fast_granules)
        is_free = fits_at(newcomer, row.planned, encoded.fast_granules)
        is_free &= ~jnp.any(overlaps(state.table, row.planned, row.size), axis=0)
        every = (jnp.where(is_free, row.planned, NO_PLACE), *places)
        planned, rule, other = (jnp.where(may_stay, place, NO_PLACE) for place in every)
        return planned, rule, other

    planned, rule, other = jax.lax.cond(jnp.any(may_stay), find, lambda: (none, none, none))
    return planned, (rule, other)


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


def _earliest_start(now: Situation, leaving: Leaving | None = None) -> Array:
    """The slot before which no copy of the group may start, waits and the look-back apart."""
    valid = jnp.maximum(now.row.slow_valid, now.stood_until)
    if leaving is not None:
        valid = jnp.where(leaving.is_possible, leaving.end, valid)
    return jnp.maximum(now.state.horizon, valid)


def _plain(now: Situation, leaving: Leaving, halves: Array) -> Entry:
    """The entry at the move, with so many halves of its copy left to a stall; not placed yet."""
    row, reads, state = now.row, now.row.reads > 0, now.state
    earliest = _earliest_start(now, leaving)
    cover = jnp.where(halves == 0, row.work, jnp.where(halves == 1, row.work // 2, 0))
    copy = now.window.latest(row.level, row.time, row.work, cover, earliest)
    is_in_time = jnp.where(reads, copy.is_possible, row.time >= state.horizon)
    must_return = now.must_return & (row.is_lasting > 0)
    return _unplaced(
        now,
        is_possible=is_in_time
        & (row.work < TICKS)
        & (row.is_sink == 0)
        & ~must_return
        & (~now.own.is_resident | leaving.is_possible),
        start=jnp.where(reads, copy.start, row.time),
        is_lasting=row.is_lasting,
        until=row.end,
        level=row.level,
        work=row.work,
        copy=copy.only(reads),
        deadline=row.time,
        reserved=row.reserved_ahead,
    )


def _hoisted(now: Situation) -> Entry:
    """The entry whose copy runs in front of the loop; it is not placed yet."""
    row, work = now.row, now.row.hoist_work
    earliest = _earliest_start(now)
    copy = now.window.latest(row.hoist_level, row.hoist_start, work, work, earliest)
    is_possible = (row.hoist_start >= 0) & copy.is_possible & (work < TICKS) & (copy.stall == 0)
    is_possible &= copy.start < row.hoist_start
    must_return = now.must_return & (row.hoist_is_lasting > 0)
    return _unplaced(
        now,
        is_possible=is_possible & ~must_return & ~now.own.is_resident,
        start=copy.start,
        is_lasting=row.hoist_is_lasting,
        until=row.hoist_end,
        level=row.hoist_level,
        work=work,
        copy=copy,
        deadline=row.hoist_start,
        reserved=row.hoist_reserved,
    )


def _unplaced(
    now: Situation,
    *,
    is_possible: Array,
    start: Array,
    is_lasting: Array,
    until: Array,
    level: Array,
    work: Array,
    copy: Run,
    deadline: Array,
    reserved: Array,
) -> Entry:
    """An entry that has no place yet; `lowest` takes in the scratch up to the move."""
    none = jnp.zeros_like(now.state.open_ticks)
    lowest = jnp.maximum(reserved, now.encoded.most_reserved(start, now.row.time))
    entry = Entry(
        is_possible=is_possible,
        newcomer=_newcomer(now, start, lowest, is_lasting, reserved),
        until=until,
        level=level,
        work=work,
        copy=copy,
        deadline=deadline,
        offset=none + NO_PLACE,
        displaced_by=none,
        cleared=none,
        writes_back=none < 0,
        write_back_work=none,
        write_back_stall=none,
    )
    every: Entry = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, none.shape), entry)
    return every


def _newcomer(
    now: Situation, start: Array, lowest: Array, is_lasting: Array, reserved: Array | int = 0
) -> Newcomer:
    row = now.row
    return Newcomer(
        start=start,
        lowest=lowest,
        reserved=jnp.asarray(reserved),
        size=row.size,
        rank=row.rank,
        is_lasting=is_lasting > 0,
        is_high=row.is_high > 0,
        is_best_fit=now.encoded.is_best_fit,
    )


def _in_planned(now: Situation, entry: Entry, earliest: Array) -> Entry:
    """The entry in the planned place: as soon as that is planned and free, or by its copy.

    It comes later than that where compute would wait longer for it. `earliest`: the slot before
    which its copy may not start.
    """
    row, reads = now.row, now.row.reads > 0
    place = jnp.broadcast_to(row.planned, entry.is_possible.shape)
    none = replace(entry, is_possible=jnp.zeros_like(entry.is_possible))
    window, capacity = now.window, now.encoded.fast_granules

    def from_slot(slot: Array) -> tuple[Run, Newcomer]:
        start = jnp.minimum(now.encoded.first_of(entry.level, slot), entry.deadline)
        return window.run(start, entry.deadline, entry.work, is_prefetch=True), at_slot(start)

    def at_slot(start: Array) -> Newcomer:
        scratch = now.encoded.most_reserved(start, row.time)
        lowest = jnp.maximum(entry.newcomer.reserved, scratch)
        return replace(entry.newcomer, start=start, lowest=lowest)

    def find() -> Entry:
        table = now.state.table
        newcomer = replace(entry.newcomer, start=entry.deadline)
        here = overlaps(table, place, row.size)
        is_barred = jnp.any(here & is_certain(table, newcomer), axis=0)
        cleared = _displacing_at(now, replace(entry, newcomer=newcomer), place, may_stall=True)
        since = jnp.max(jnp.where(here, table.until, FIRST_HORIZON), axis=0)
        since = jnp.maximum(since, cleared.cleared)
        copy, newcomer = entry.copy, at_slot(entry.newcomer.start)
        is_late = reads & (since > copy.start)
        copy, newcomer = _either_run(is_late, from_slot(since), (copy, newcomer))
        first = jnp.maximum(window.first_start(earliest), row.planned_since)
        sooner = from_slot(jnp.maximum(first, since))
        is_early = reads & (sooner[1].start < newcomer.start) & (sooner[0].stall <= copy.stall)
        is_early &= fits_at(sooner[1], place, capacity)
        copy, newcomer = _either_run(is_early, sooner, (copy, newcomer))
        is_free = ~is_barred & fits_at(newcomer, place, capacity)
        is_free &= newcomer.start >= now.state.horizon
        is_possible = entry.is_possible & cleared.is_possible & is_free & (place >= 0)
        entered: Entry = replace(
            cleared, is_possible=is_possible, newcomer=newcomer, copy=copy.only(reads)
        )
        return entered

    found: Entry = jax.lax.cond(jnp.any(entry.is_possible & (place >= 0)), find, lambda: none)
    return found


def _either_run(
    is_one: Array, one: tuple[Run, Newcomer], other: tuple[Run, Newcomer]
) -> tuple[Run, Newcomer]:
    either: tuple[Run, Newcomer] = jax.tree.map(lambda a, b: jnp.where(is_one, a, b), one, other)
    return either


def _placed(now: Situation, entry: Entry) -> Pair:
    """The entry in the first places that ghosts can leave, of those that spare ever fewer."""
    table, capacity = now.state.table, now.encoded.fast_granules

    def place() -> Pair:
        rule, other = find_places(table, entry.newcomer, capacity)
        # Whether a gap is large enough is the same for both ends.
        is_free = (rule[0] != NO_PLACE) & now.has_row
        free = replace(
            entry,
            is_possible=entry.is_possible & is_free,
            offset=rule[0],
            displaced_by=entry.newcomer.start,
        )
        both = free, replace(free, offset=other[0])

        def displace() -> Pair:
            at_rule, at_other = _displacing(now, entry, jnp.stack([rule[1:], other[1:]], axis=1))
            return _chosen(is_free, both[0], at_rule), _chosen(is_free, both[1], at_other)

        placed: Pair = jax.lax.cond(jnp.any(entry.is_possible & ~is_free), displace, lambda: both)
        return placed

    pair: Pair = jax.lax.cond(jnp.any(entry.is_possible), place, lambda: (entry, entry))
    return pair


def _placed_last(now: Situation, entry: Entry) -> Pair:
    """The entry in the places that spare no ghost; their write-back may stall."""
    rule, other = find_last_places(now.state.table, entry.newcomer, now.encoded.fast_granules)
    return _displacing(now, entry, jnp.stack([rule, other])[None])


def _displacing(now: Situation, entry: Entry, offsets: Array) -> Pair:
    """The entry at the first of `offsets` `[L, 2]` at each end that can be had.

    The last try may take a stall. A loop, as compiling is what takes time.
    """
    last = offsets.shape[0] - 1

    def try_place(number: Array, pair: Pair) -> Pair:
        here, end = number // 2, number % 2
        found = _displacing_at(now, entry, offsets[here, end], may_stall=here == last)
        rule, other = pair
        return (
            _chosen(found.is_possible & ~rule.is_possible & (end == 0), found, rule),
            _chosen(found.is_possible & ~other.is_possible & (end == 1), found, other),
        )

    none = replace(entry, is_possible=jnp.zeros_like(entry.is_possible))
    placed: Pair = jax.lax.fori_loop(0, 2 * (last + 1), try_place, (none, none))
    return placed


def _chosen(is_one: Array, one: Entry, other: Entry) -> Entry:
    picked: Entry = jax.tree.map(lambda a, b: jnp.where(is_one, a, b), one, other)
    return picked


def _displacing_at(now: Situation, entry: Entry, offset: Array, may_stall: Array | bool) -> Entry:
    """The entry at `offset`, for which ghosts may have to go by slot `newcomer.start`."""
    table, newcomer = now.state.table, entry.newcomer
    taken = is_taken(table, newcomer.start, offset, newcomer.size)
    work = sum_of_ticks(jnp.where(taken & table.is_dirty, table.work, 0))
    # One maximum tells whether any ghost is taken, and whether one is dirty: kept inputs are -1.
    written = jnp.max(jnp.where(taken, table.written, -1), axis=0)
    has_place = (offset != NO_PLACE) & ((written >= 0) | now.has_row)
    may_wait = (work < TICKS) & may_stall
    written_back = write_back_ghosts(
        now.encoded, now.row, now.state, taken, newcomer.start, may_wait
    )
    can_be_written_back = (written <= 0) | (written_back.is_possible & ~now.own.is_resident)
    return replace(
        entry,
        is_possible=entry.is_possible & has_place & can_be_written_back,
        offset=offset,
        displaced_by=newcomer.start,
        cleared=written_back.done,
        writes_back=written > 0,
        write_back_work=work,
        write_back_stall=written_back.stall,
    )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class WrittenBack:
    """Ghosts that were written back: the ledger and the blocks after that, and what it took.

    `stall`: ticks that compute waits for it. `done`: the slot by which all are.
    """

    is_possible: Array
    stall: Array
    done: Array
    ledger: Ledger
    table: Table


def write_back_ghosts(
    encoded: EncodedProgram,
    row: MoveRow,
    state: State,
    taken: Array,
    deadline: Array,
    may_wait: Array | bool,
) -> WrittenBack:
    """Write back the dirty ones of `taken` ghosts `[K]`, the earliest written first, one by one.

    Each starts as soon as it can and is done by the slot `deadline`. Compute may wait for it where
    no copy is under way, as where the move's loop begins.
    """
    table, none = state.table, jnp.zeros_like(state.open_ticks)
    pending = taken & table.is_dirty
    first = WrittenBack(none == 0, none, none + FIRST_HORIZON, state.ledger, table)

    def write_back(carry: tuple[WrittenBack, Array]) -> tuple[WrittenBack, Array]:
        written_back, pending = carry
        written = jnp.where(pending, table.written, INT32_MAX)
        number, is_any = jnp.argmin(written, axis=0), jnp.any(pending, axis=0)
        level = level_of(at(table.group_and_level, number))
        work = jnp.where(is_any, at(table.work, number), 0)
        window = Window(encoded, row.time, written_back.ledger)
        run, done = window.earliest(level, deadline, work, at(table.written, number))
        end = window.deadline(level, deadline)
        can_wait = can_stall(row, written_back.ledger, end) & may_wait
        is_possible = run.is_possible & ((run.stall == 0) | can_wait)
        run = run.only(is_any)
        ledger = window.booked(run, jnp.where(is_any, done, 0), is_prefetch=False).ledger
        here = (rows_of(table.rank) == number) & is_any
        until = jnp.where(here, jnp.maximum(table.until, done), written_back.table.until)
        after = WrittenBack(
            is_possible=written_back.is_possible & (is_possible | ~is_any),
            stall=jnp.minimum(written_back.stall + run.stall, TICKS),
            done=jnp.where(is_any, jnp.maximum(written_back.done, done), written_back.done),
            ledger=ledger,
            table=replace(written_back.table, until=until),
        )
        return after, pending & ~here

    written_back, _ = jax.lax.while_loop(
        lambda carry: jnp.any(carry[1]), write_back, (first, pending)
    )
    return written_back


def can_stall(row: MoveRow, ledger: Ledger, deadline: Array) -> Array:
    """Whether no copy is under way at a deadline, as where the move's loop begins."""
    return (ledger.settled <= deadline) | row.begins_loop(deadline)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Departure:
    """How the group's own block would end by a Drop, at a sink, or to be copied in anew.

    It ends at slot `end`. If `writes_back`, it is written back first, in a `run` until `deadline`,
    which needs `work` ticks and stalls for `stall`.
    """

    is_possible: Array
    end: Array
    writes_back: Array
    run: Run
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
        start = jnp.where(is_hoisted, hoisted.newcomer.start, FIRST_HORIZON)
        offset = jnp.where(is_hoisted, hoisted.offset, self.offset_before)
        reads = row.reads > 0
        return (
            jnp.where(reads, start, entry.newcomer.start),
            jnp.where(reads, offset, entry.offset),
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Options:
    """What each action would do in one position; all scalars but `mask`.

    `mask`: legal actions. `own`: the group's block, and `departure` how it would end. `rule`: the
    ways in of Copy and NoCopy, and `other`: those of the same at the other end.
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
    pays = entry.copy.stall + entry.write_back_stall < saving
    is_hoisted = hoisted.is_possible & (hoisted.write_back_stall < saving)
    copies = options.mask[COPY] & pays & ~options.own.is_resident & ~is_hoisted
    # Of a NoCopy that reads there is a stall if it is hoisted, of one that does not, at its entry.
    enters = jnp.where(reads, hoisted.write_back_stall, entry.write_back_stall)
    stall = jnp.where(options.own.is_resident, 0, enters)
    stays = options.mask[NO_COPY] & (stall < jnp.maximum(saving, 1))
    return jnp.where(copies, COPY, jnp.where(stays, NO_COPY, DROP)).astype(jnp.int32)


@in_lanes
def analyse(encoded: EncodedProgram, state: State) -> Options:
    """What each action would do now. Once the game is over all actions are legal and do nothing."""
    now = situation(encoded, state)
    departure = _departure(now)
    planned, entries = find_entry(now, _leaving(now, departure))
    if encoded.has_hoists:
        planned_hoist, hoists = find_hoisted(now)
    else:
        planned_hoist, hoists = jax.tree.map(jnp.zeros_like, (planned, entries))
    planned_before, before = offsets_before(now)
    ways = Ways(planned, planned_hoist, planned_before)
    rule, other = _planned_first(ways, *map(Ways, entries, hoists, before))
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


def _planned_first(planned: Ways, rule: Ways, other: Ways) -> tuple[Ways, Ways]:
    """The ways in of an action and of that at the other end.

    Where the planned place can be had, that and the place of the place rule; else the places of the
    rule and of the other end.
    """
    is_entry = planned.entry.is_possible
    is_arrival = planned.hoisted.is_possible | (planned.offset_before != NO_PLACE)

    def pick(one: Ways, two: Ways) -> Ways:
        return Ways(
            _chosen(is_entry, one.entry, two.entry),
            _chosen(is_arrival, one.hoisted, two.hoisted),
            jnp.where(is_arrival, one.offset_before, two.offset_before),
        )

    return pick(planned, rule), pick(rule, other)


def _of_all(options: Options, games: tuple[int, ...]) -> Options:
    """The options with every number given for every game."""

    def full(leaf: Array) -> Array:
        rows = leaf.shape[: max(0, leaf.ndim - len(games))]
        return jnp.broadcast_to(leaf, (*rows, *games))

    every: Options = jax.tree.map(full, options)
    return every


def _departure(now: Situation) -> Departure:
    row, own, window = now.row, now.own, now.window
    is_sink = row.is_sink > 0
    run, done = window.earliest(own.level, row.time, own.work, own.written)
    writes_back = own.is_resident & _needs_write_back(row, own)
    run = run.only(writes_back)
    in_time = (run.stall == 0) | can_stall(
        row, now.state.ledger, window.deadline(own.level, row.time)
    )
    may_go = (own.until <= row.time) & (~writes_back | (run.is_possible & in_time))
    # What another branch of the conditional has written is in the block alone.
    may_go &= ~(own.is_dirty & (row.is_alternative > 0))
    is_possible = jnp.where(is_sink, (run.stall == 0) | (not now.encoded.is_strict), may_go)
    deadline = jnp.where(is_sink, window.deadline(own.level, row.time), done)
    end = jnp.where(
        writes_back, jnp.where(is_sink, deadline, jnp.maximum(own.until, deadline)), own.until
    )
    # Where a kept input comes back, it must not have stood since: else it stays to the end.
    is_late = own.is_kept & (own.until > now.encoded.return_slot)
    return Departure(
        is_possible=is_possible | ~own.is_resident,
        end=jnp.where(is_late, now.encoded.num_slots, end),
        writes_back=writes_back,
        run=run,
        work=own.work,
        deadline=deadline,
        stall=run.stall,
    )


def _leaving(now: Situation, departure: Departure) -> Leaving:
    """A Copy of a resident that is planned elsewhere, or would have to cover the move's loop."""
    row, own = now.row, now.own
    would_cover = row.covered_until(own.level_start) > row.time + 1
    is_elsewhere = (row.planned >= 0) & (row.planned != own.offset)
    is_free = own.is_resident & ~own.is_kept & (own.until <= row.time)
    is_free &= would_cover | is_elsewhere
    may_leave = is_free & (row.reads > 0) & (row.is_sink == 0)
    return Leaving(may_leave & departure.is_possible, departure.end)


def _needs_write_back(row: MoveRow, own: Own) -> Array:
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
        rule.entry.newcomer.start == other.entry.newcomer.start
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
