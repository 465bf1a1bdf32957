"""The copy ledger: which idle ticks of the past slots a copy may use, and what is left of them.

`idle_before[i]` is a prefix sum over slots, so idle ticks of `[a, b)` are a difference, and a copy
that takes `work` ticks from slot `a` forward leaves `max(idle_before - work, idle_before[a])` from
`a` on. Prefix sums never fall with time, so counting those up to a bound finds the latest slot with
enough idle time after it. Letters as in `engine.game.jaxgame.state`.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.jaxgame.encoding import EncodedProgram
from engine.game.jaxgame.lanes import at, beside, rows_of


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Span:
    """Where a copy would begin, and the idle ticks from there up to its deadline.

    `begin`: `idle_before` of the start. `deadline`: the last slot by which it may be done.
    """

    is_possible: Array
    start: Array
    begin: Array
    idle: Array
    deadline: Array


@dataclass(frozen=True)
class Ledger:
    """The ledger before a move at slot `time`: stalls, and `idle_before` of slots `[t - W, t]`."""

    encoded: EncodedProgram
    time: Array
    read_stalls: tuple[Array, Array]
    write_stalls: tuple[Array, Array]
    idle_before: Array

    def prefetch(self, level: Array, deadline: Array, work: Array, earliest: Array) -> Span:
        """The latest start of `level` whose idle ticks suffice, else the earliest allowed one."""
        barrier = _barrier(self.write_stalls, deadline)
        first = self.encoded.first_of(level, self._not_before(earliest, barrier))
        now = self._idle_at(deadline)
        num_ample = jnp.sum(self.idle_before <= now - work, axis=0, dtype=jnp.int32)
        ample = jnp.minimum(self._oldest + num_ample - 1, deadline)
        latest = self.encoded.last_of(level, ample)
        start = jnp.where((num_ample > 0) & (latest >= first), latest, first)
        begin = self._idle_at(start)
        return Span(first <= deadline, start, begin, now - begin, deadline)

    def write_back(self, level: Array, limit: Array, written: Array) -> Span:
        """The slots of a write-back at `level` of what was written before slot `written`.

        Its deadline is `limit`; where that lies in a loop inside the level, the loop's begin.
        """
        earliest = self._not_before(written, _barrier(self.read_stalls, limit))
        last = self.encoded.last_of(level, limit)
        is_there = (last == limit) | (limit == self.encoded.end_of(level))
        deadline = jnp.where(is_there, limit, jnp.where(last < 0, -1, last + 1))
        start = jnp.minimum(self.encoded.first_of(level, earliest), deadline)
        begin, is_possible = self._idle_at(start), earliest <= deadline
        idle = jnp.where(is_possible, self._idle_at(deadline) - begin, -1)
        return Span(is_possible, start, begin, idle, deadline)

    def done(self, level: Array, span: Span, work: Array) -> Array:
        """First slot of `level` by which a write-back of `work` ticks from `span` on is done."""
        is_short = self.idle_before - span.begin < work
        num_short = jnp.sum(is_short, axis=0, dtype=jnp.int32)
        slot = jnp.maximum(span.start, self._oldest + num_short)
        return jnp.minimum(self.encoded.first_of(level, slot), span.deadline)

    @property
    def _oldest(self) -> Array:
        return self.time - self.encoded.look_back

    def _not_before(self, slot: Array, barrier: Array) -> Array:
        """The first slot from `slot` on in which a copy may start, levels apart."""
        return jnp.maximum(jnp.maximum(slot, 0), jnp.maximum(barrier, self._oldest))

    def _idle_at(self, slot: Array) -> Array:
        return at(self.idle_before, slot - self._oldest)


def _barrier(stalls: tuple[Array, Array], deadline: Array) -> Array:
    """The slot before which no copy with this deadline may start.

    `stalls`: of the other direction, which would be served while compute waits.
    """
    last, before = stalls
    return jnp.where(last < deadline, last, before)


def stalled(stalls: tuple[Array, Array], time: Array, ticks: Array) -> tuple[Array, Array]:
    """The last two stalls after one of `ticks` before slot `time`, if that is more than none."""
    last, before = stalls
    is_new = (ticks > 0) & (time > last)
    return jnp.where(is_new, time, last), jnp.where(is_new, last, before)


def book(idle_before: Array, begin: Array, work: Array) -> Array:
    """The prefix sums after a copy took `work` ticks from the slot with prefix sum `begin` on."""
    return jnp.where(idle_before > begin, jnp.maximum(idle_before - work, begin), idle_before)


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
