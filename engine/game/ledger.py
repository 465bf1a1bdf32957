"""The copy ledger: which idle ticks of the past slots a copy may use, and what is left of them.

`idle_before[i]` is a prefix sum over slots, so idle ticks of `[a, b)` are a difference, and a copy
that takes `work` ticks from slot `a` forward leaves `max(idle_before - work, idle_before[a])` from
`a` on. Prefix sums never fall with time, hence the latest of several slots has the largest one: no
function here needs more than comparisons and maxima over the window. Letters as in
`engine.game.state`.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from engine.game.encode import INT32_MAX, EncodedProgram, MoveRow
from engine.game.state import State


@dataclass(frozen=True)
class Window:
    """The slots `[t - W, t]` before a move at `t`, oldest first; all `[W + 1]`."""

    slot: Array
    level: Array
    reserved: Array
    idle_before: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Span:
    """Where a copy would begin, and the idle ticks up to its deadline.

    `begin`: `idle_before` of the start. `deadline`: the last slot by which a write-back may be
    done, `done`: the first by which it is.
    """

    is_possible: Array
    start: Array
    begin: Array
    idle: Array
    deadline: Array
    done: Array


def window_of(encoded: EncodedProgram, state: State, row: MoveRow) -> Window:
    """What the move at `row` may look back on."""
    return Window(
        slot=row.time - encoded.look_back + jnp.arange(encoded.look_back + 1, dtype=jnp.int32),
        level=encoded.window(encoded.slot_level, row.time),
        reserved=encoded.window(encoded.slot_reserved, row.time),
        idle_before=state.idle_before,
    )


def latest_start(
    window: Window, deadline: Array, level: Array, work: Array, earliest: Array
) -> Span:
    """The latest start of a prefetch whose idle ticks suffice, else the earliest allowed one.

    `deadline` is a slot of the window; the start is of `level`, and not after it.
    """
    now = jnp.max(jnp.where(window.slot <= deadline, window.idle_before, -1))
    is_near = (window.slot >= earliest) & (window.slot <= deadline)
    allowed = (window.level == level) & is_near
    enough = allowed & (now - window.idle_before >= work)
    latest = jnp.max(jnp.where(enough, window.slot, -1))
    first = jnp.min(jnp.where(allowed, window.slot, INT32_MAX))
    begin_latest = jnp.max(jnp.where(enough, window.idle_before, -1))
    begin_first = jnp.min(jnp.where(allowed, window.idle_before, INT32_MAX))
    start = jnp.where(latest >= 0, latest, first)
    begin = jnp.where(latest >= 0, begin_latest, begin_first)
    return Span(
        is_possible=first < INT32_MAX,
        start=start,
        begin=begin,
        idle=now - begin,
        deadline=deadline,
        done=deadline,
    )


def write_back_span(
    window: Window, level: Array, level_end: Array, earliest: Array, limit: Array, work: Array
) -> Span:
    """The slots of a write-back at `level`, not before `earliest`, complete before slot `limit`.

    Its deadline is the last slot of the level up to `limit`, or `limit` where the level ends.
    """
    at_end = (window.slot == limit) & (limit == level_end)
    inside = (window.slot >= earliest) & (window.slot <= limit)
    usable = inside & ((window.level == level) | at_end)
    start = jnp.min(jnp.where(usable, window.slot, INT32_MAX))
    deadline = jnp.max(jnp.where(usable, window.slot, -1))
    begin = jnp.min(jnp.where(usable, window.idle_before, INT32_MAX))
    finish = jnp.max(jnp.where(usable, window.idle_before, -1))
    is_possible = deadline >= 0
    idle = jnp.where(is_possible, finish - begin, -1)
    is_done = usable & (window.idle_before - begin >= work)
    done = jnp.min(jnp.where(is_done, window.slot, INT32_MAX))
    return Span(is_possible, start, begin, idle, deadline, done)


def book(idle_before: Array, begin: Array, work: Array) -> Array:
    """The prefix sums after a copy took `work` ticks from the slot with prefix sum `begin` on."""
    return jnp.where(idle_before > begin, jnp.maximum(idle_before - work, begin), idle_before)


def advance(
    encoded: EncodedProgram, idle_before: Array, open_ticks: Array, time: Array, next_time: Array
) -> Array:
    """The window before a move at `next_time`, closing slot `time` and those without moves."""
    width = encoded.look_back + 1
    slot = next_time - encoded.look_back + jnp.arange(width, dtype=jnp.int32)
    ample = jnp.concatenate([idle_before, idle_before])
    kept = jax.lax.dynamic_slice_in_dim(ample, jnp.minimum(next_time - time, width), width)
    # Slots after `time` have no moves before `next_time`: the encoded prefix sums give their idle.
    static = encoded.window(encoded.idle_before, next_time)
    until_next = jax.lax.dynamic_index_in_dim(
        encoded.idle_before, time + 1 + encoded.look_back, keepdims=False
    )
    closed = idle_before[-1] + jnp.maximum(open_ticks, 0)
    return jnp.where(slot > time, closed + static - until_next, kept)
