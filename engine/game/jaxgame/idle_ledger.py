"""The copy ledger: which idle ticks of the past slots a copy may use, and what is left of them.

`idle_before[i]` is a prefix sum over slots, so idle ticks of `[a, b)` are a difference, and a copy
that takes `work` ticks from slot `a` forward leaves `max(idle_before - work, idle_before[a])` from
`a` on. Prefix sums never fall with time, so counting those up to a bound finds the latest slot with
enough idle time after it. Letters as in `engine.game.jaxgame.state`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.jaxgame.encoding import EncodedProgram
from engine.game.jaxgame.lanes import at, beside, rows_of


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Waits:
    """The last two slots before which compute waits for copies of one direction, or 0.

    `ticks_…`: how many ticks of the wait copies of the other direction may share yet; more than
    none unless the slot is 0. None of them may start before `forgotten`: what older waits allow is
    forgotten.
    """

    last: Array  # []
    ticks_last: Array  # []
    before: Array  # []
    ticks_before: Array  # []
    forgotten: Array  # []

    def shared(self, slot: Array, ticks: Array) -> Waits:
        """After a copy of the other direction was served `ticks` of the wait before `slot`."""
        at_last, at_before = slot == self.last, slot == self.before
        ticks_last = self.ticks_last - jnp.where(at_last, ticks, 0)
        ticks_before = self.ticks_before - jnp.where(at_before & ~at_last, ticks, 0)
        # What is shared in full is forgotten: the other one takes its row.
        is_before, is_last = ticks_before > 0, ticks_last > 0
        before = jnp.where(is_before, self.before, 0)
        ticks_before = jnp.where(is_before, ticks_before, 0)
        return Waits(
            last=jnp.where(is_last, self.last, before),
            ticks_last=jnp.where(is_last, ticks_last, ticks_before),
            before=jnp.where(is_last, before, 0),
            ticks_before=jnp.where(is_last, ticks_before, 0),
            forgotten=self.forgotten,
        )

    def left_at(self, slot: Array) -> Array:
        """Ticks that may be shared of the wait before `slot`; 0 if there is none."""
        here = jnp.where(slot == self.before, self.ticks_before, 0)
        return jnp.where(slot == self.last, self.ticks_last, here)

    def joined(self, slot: Array, ticks: Array) -> Waits:
        """With one more wait before `slot`, if that is of more than no ticks."""
        ticks = jnp.where(slot > 0, ticks, 0)
        is_known = (ticks > 0) & ((slot == self.last) | (slot == self.before))
        ticks_last = self.ticks_last + jnp.where(is_known & (slot == self.last), ticks, 0)
        ticks_before = self.ticks_before + jnp.where(is_known & (slot != self.last), ticks, 0)
        is_new = (ticks > 0) & ~is_known
        is_latest, is_middle = is_new & (slot > self.last), is_new & (slot <= self.last)
        is_middle = is_middle & (slot > self.before)
        forgotten = jnp.where(is_latest | is_middle, self.before, jnp.where(is_new, slot, 0))
        return Waits(
            last=jnp.where(is_latest, slot, self.last),
            ticks_last=jnp.where(is_latest, ticks, ticks_last),
            before=jnp.where(is_latest, self.last, jnp.where(is_middle, slot, self.before)),
            ticks_before=jnp.where(
                is_latest, self.ticks_last, jnp.where(is_middle, ticks, ticks_before)
            ),
            forgotten=jnp.maximum(self.forgotten, forgotten),
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Ledger:
    """Idle time, who waits for slow memory, and the latest deadline of all copies (`settled`).

    `waited`: the last slot before which compute waited.
    `idle_before`: of the slots `[t - W, t]`, `t` being the slot of the move to be decided, the
    idle ticks of all earlier slots that no copy uses (a prefix sum, so that a copy changes it
    by one comparison). `reads`, `writes`: waits for prefetches, and for write-backs.
    """

    idle_before: Array  # [W + 1]
    reads: Waits
    writes: Waits
    settled: Array  # []
    waited: Array  # []


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Run:
    """How a copy would run from slot `start` on.

    `idle`: idle ticks that it takes. `shares`: slots before which compute waits for the other
    direction, and ticks that it is served there, so that compute waits longer. `shortfall`: ticks
    that are missing at its deadline.
    """

    is_possible: Array
    start: Array
    idle: Array
    shares: tuple[tuple[Array, Array], tuple[Array, Array]]
    shortfall: Array

    @property
    def stall(self) -> Array:
        """Ticks that compute waits because of it."""
        return self.shortfall + self.shares[0][1] + self.shares[1][1]

    def only(self, is_wanted: Array) -> Run:
        """The run, or one of no ticks."""
        (first, of_first), (second, of_second) = self.shares
        return replace(
            self,
            idle=jnp.where(is_wanted, self.idle, 0),
            shares=(
                (first, jnp.where(is_wanted, of_first, 0)),
                (second, jnp.where(is_wanted, of_second, 0)),
            ),
            shortfall=jnp.where(is_wanted, self.shortfall, 0),
        )


@dataclass(frozen=True)
class Window:
    """The ledger as a move at slot `time` sees it."""

    encoded: EncodedProgram
    time: Array
    ledger: Ledger

    def run(self, start: Array, deadline: Array, work: Array, *, is_prefetch: bool) -> Run:
        """How a copy runs that may use the slots `[start, deadline)`."""
        waits = self._others(is_prefetch)
        begin = self._idle_at(start)

        def share(slot: Array, ticks: Array, served: Array) -> Array:
            is_met = (start < slot) & (slot < deadline)
            missing = work - served - (self._idle_at(slot) - begin)
            return jnp.where(is_met, jnp.clip(missing, 0, ticks), 0)

        none = jnp.zeros_like(work)
        first = share(waits.before, waits.ticks_before, none)
        second = share(waits.last, waits.ticks_last, first)
        whole = self._idle_at(deadline) - begin
        shortfall = jnp.maximum(work - first - second - whole, 0)
        return Run(
            is_possible=start <= deadline,
            start=start,
            idle=work - first - second - shortfall,
            shares=((waits.before, first), (waits.last, second)),
            shortfall=shortfall,
        )

    def _done(self, run: Run, deadline: Array) -> Array:
        """The first slot by which a copy is complete; its deadline if it is not before that."""
        is_short = self.ledger.idle_before - self._idle_at(run.start) < run.idle
        num_short = jnp.sum(is_short, axis=0, dtype=jnp.int32)
        done = jnp.where(run.idle > 0, jnp.maximum(run.start, self._oldest + num_short), run.start)
        for slot, ticks in run.shares:
            done = jnp.maximum(done, jnp.where(ticks > 0, slot, 0))
        return jnp.where(run.shortfall > 0, deadline, done)

    def booked(self, run: Run, deadline: Array, *, is_prefetch: bool) -> Window:
        """The window after a copy took its idle ticks and shares, and compute waited for it.

        A run of no ticks changes nothing but `settled`.
        """
        ledger, begin = self.ledger, self._idle_at(run.start)
        idle_before = jnp.where(
            ledger.idle_before > begin,
            jnp.maximum(ledger.idle_before - run.idle, begin),
            ledger.idle_before,
        )
        own, others = (
            (ledger.reads, ledger.writes) if is_prefetch else (ledger.writes, ledger.reads)
        )
        for slot, ticks in run.shares:
            others = others.shared(slot, ticks)
        both = jnp.minimum(run.shortfall, others.left_at(deadline))
        others = others.shared(deadline, both)
        own = own.joined(deadline, run.shortfall - both)
        reads, writes = (own, others) if is_prefetch else (others, own)
        settled = jnp.maximum(ledger.settled, deadline)
        is_short = run.shortfall > 0
        waited = jnp.where(is_short, jnp.maximum(ledger.waited, deadline), ledger.waited)
        return replace(self, ledger=Ledger(idle_before, reads, writes, settled, waited))

    def latest(
        self, level: Array, deadline: Array, work: Array, cover: Array, earliest: Array
    ) -> Run:
        """A prefetch as late as it can be without need to wait, with `cover` ticks of its work.

        In each part between two waits it is the latest start with so many idle ticks until the
        part's end, else the earliest; of these the one for which compute waits least, the last of
        them. Where not all of the work is to be covered only the last part counts.
        """
        begin, middle, last = self._parts(earliest, deadline, is_prefetch=True)
        best = self._latest_in(level, last, deadline, deadline, work, cover)
        for low, end in ((middle, last), (begin, middle)):
            run = self._latest_in(level, low, end, deadline, work, cover)
            is_better = run.is_possible & (low < end) & (cover == work) & (run.stall < best.stall)
            is_better = is_better | (run.is_possible & (low < end) & ~best.is_possible)
            best = _chosen(is_better, run, best)
        return best

    def _latest_in(
        self, level: Array, low: Array, end: Array, deadline: Array, work: Array, cover: Array
    ) -> Run:
        """The latest start in `[low, end)`, or at the deadline, with enough idle ticks to `end`."""
        idle_before, is_last = self.ledger.idle_before, end == deadline
        first = self.encoded.first_of(level, low)
        bound = self._idle_at(end) - cover
        num_ample = jnp.sum(idle_before <= bound, axis=0, dtype=jnp.int32)
        top = jnp.where(is_last, end, end - 1)
        ample = jnp.minimum(self._oldest + num_ample - 1, top)
        latest = self.encoded.last_of(level, ample)
        start = jnp.where((num_ample > 0) & (latest >= first), latest, first)
        run = self.run(jnp.minimum(start, deadline), deadline, work, is_prefetch=True)
        return replace(run, is_possible=(first <= top))

    def earliest(
        self, level: Array, limit: Array, work: Array, written: Array
    ) -> tuple[Run, Array]:
        """A write-back at `level` of what was written before slot `written`, as early as it can be.

        Its deadline is `limit`; where that lies in a loop inside the level, the loop's begin. It
        starts at once or from one of the waits on: where compute waits least, the first of these.
        Also the slot by which it is done, one of its level, or its deadline.
        """
        deadline = self.deadline(level, limit)
        begin, middle, last = self._parts(written, deadline, is_prefetch=False)

        def from_slot(low: Array) -> Run:
            start = jnp.minimum(self.encoded.first_of(level, low), deadline)
            return self.run(start, deadline, work, is_prefetch=False)

        best = from_slot(begin)
        for low in (middle, last):
            run = from_slot(low)
            best = _chosen(run.stall < best.stall, run, best)
        best = replace(best, is_possible=begin <= deadline)
        done = self.encoded.first_of(level, self._done(best, deadline))
        return best, jnp.minimum(done, deadline)

    def _parts(
        self, earliest: Array, deadline: Array, *, is_prefetch: bool
    ) -> tuple[Array, Array, Array]:
        """Where a copy may begin, and where the two last of three parts between waits do."""
        waits = self._others(is_prefetch)
        begin = self._not_before(earliest, waits.forgotten)

        def inside(slot: Array) -> Array:
            return jnp.where((begin < slot) & (slot < deadline), slot, begin)

        # The earlier of two waits is the one before, where both are inside.
        first, second = inside(waits.before), inside(waits.last)
        return begin, jnp.minimum(first, second), jnp.maximum(first, second)

    def first_start(self, earliest: Array) -> Array:
        """The first slot from `earliest` on in which a prefetch may start, levels apart."""
        return self._not_before(earliest, self.ledger.writes.forgotten)

    def deadline(self, level: Array, limit: Array) -> Array:
        """The latest deadline, not after `limit`, of a write-back at `level`; -1 if none."""
        last = self.encoded.last_of(level, limit)
        is_there = (last == limit) | (limit == self.encoded.end_of(level))
        return jnp.where(is_there, limit, jnp.where(last < 0, -1, last + 1))

    def _others(self, is_prefetch: bool) -> Waits:
        """Waits for the other direction."""
        return self.ledger.writes if is_prefetch else self.ledger.reads

    @property
    def _oldest(self) -> Array:
        return self.time - self.encoded.look_back

    def _not_before(self, slot: Array, forgotten: Array) -> Array:
        """The first slot from `slot` on in which a copy may start, levels apart."""
        return jnp.maximum(jnp.maximum(slot, 0), jnp.maximum(forgotten, self._oldest))

    def _idle_at(self, slot: Array) -> Array:
        return at(self.ledger.idle_before, slot - self._oldest)


def _chosen(is_one: Array, one: Run, other: Run) -> Run:
    picked: Run = jax.tree.map(lambda a, b: jnp.where(is_one, a, b), one, other)
    return picked


def advance(
    encoded: EncodedProgram, idle_before: Array, open_ticks: Array, time: Array, next_time: Array
) -> Array:
    """The window before a move at `next_time`, closing slot `time` and those without moves."""
    width, games = encoded.look_back + 1, idle_before.shape[1:]

    def shift() -> Array:
        kept = _shifted(idle_before, jnp.minimum(next_time - time, width))
        # Slots after `time` have no moves before `next_time`: their idle ticks are the encoded.
        static = encoded.window(next_time) - encoded.idle_until(time + 1)
        static = beside(static, games[static.ndim - 1 :])
        slot = next_time - encoded.look_back + rows_of(idle_before)
        closed = idle_before[-1] + jnp.maximum(open_ticks, 0)
        return jnp.where(slot > time, closed + static, kept)

    moved: Array = jax.lax.cond(jnp.any(next_time > time), shift, lambda: idle_before)
    return moved


def _shifted(column: Array, by: Array) -> Array:
    """The column with its first `by` rows cut off; what comes in at the end means nothing."""
    if not by.shape:
        ample = jnp.concatenate([column, column])
        return jax.lax.dynamic_slice_in_dim(ample, by, column.shape[0])
    rows = jnp.minimum(rows_of(column) + by, column.shape[0] - 1)
    return jnp.take_along_axis(column, rows, axis=0, mode="clip")
