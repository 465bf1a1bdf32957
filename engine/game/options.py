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
from engine.game.entry import Entry, find_entry, offset_before
from engine.game.lanes import in_lanes
from engine.game.ledger import Span
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.places import NO_PLACE
from engine.game.situation import Own, Situation, situation
from engine.game.state import State, is_over


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Options:
    """What each action would do in one position; all scalars but `mask`.

    `mask`: legal actions. A newcomer would stand at `offset` from `start` on (as a cross-program
    prefetch at `offset_before` from -1 on), until `until` and at `level` (which differ from the
    move's where the copy is hoisted out of a loop); its copy takes `copy_work` ticks from the slot
    with prefix sum `copy_begin` on and stalls for `copy_stall`. The write-back that goes before it,
    or with a Drop, takes `saved_work` from `saved_begin` on, until `saved_deadline`.
    """

    mask: Array  # [3]
    is_over: Array
    own: Own
    start: Array
    offset: Array
    offset_before: Array
    until: Array
    level: Array
    copy_begin: Array
    copy_work: Array
    copy_stall: Array
    is_saved: Array
    saved_begin: Array
    saved_work: Array
    saved_deadline: Array
    sink_stall: Array


def earning(options: Options, saving: Array) -> Array:
    """The action of the word `EARN` (`engine.game.scripts`) at a move that saves `saving` ticks."""
    wanted, stay = options.mask[COPY] & (options.copy_stall < saving), options.mask[NO_COPY]
    return jnp.where(wanted, COPY, jnp.where(stay, NO_COPY, DROP)).astype(jnp.int32)


@in_lanes
def analyse(encoded: EncodedProgram, state: State) -> Options:
    """What each action would do now. Once the game is over all actions are legal and do nothing."""
    now = situation(encoded, state)
    entry, before = find_entry(now), offset_before(now)
    own, row, ledger = now.own, now.row, now.ledger
    over, games = is_over(encoded, state), state.open_ticks.shape
    saved = ledger.write_back(own.level, row.time, own.written)
    done = ledger.done(own.level, saved, own.work)
    mask, sink_stall = _mask(now, entry, before, saved)
    is_sunk = row.is_sink > 0
    options = Options(
        # Nothing can go wrong after the end, so searches may step on without special cases.
        mask=mask | over,
        is_over=over,
        own=own,
        start=entry.wish.start,
        offset=entry.offset,
        offset_before=before,
        until=entry.until,
        level=entry.level,
        copy_begin=entry.copy_begin,
        copy_work=entry.copy_work,
        copy_stall=entry.copy_stall,
        is_saved=jnp.where(own.is_resident, _needs_saving(row, own), entry.is_saved),
        saved_begin=jnp.where(own.is_resident, saved.begin, entry.saved_begin),
        saved_work=jnp.where(own.is_resident, own.work, entry.saved_work),
        saved_deadline=jnp.where(is_sunk, saved.deadline, jnp.maximum(own.until, done)),
        sink_stall=sink_stall,
    )
    return _of_all(options, games)


def _of_all(options: Options, games: tuple[int, ...]) -> Options:
    """The options with every number given for every game."""

    def full(leaf: Array) -> Array:
        rows = leaf.shape[: leaf.ndim - len(games)] if leaf.ndim > len(games) else ()
        return jnp.broadcast_to(leaf, (*rows, *games))

    every: Options = jax.tree.map(full, options)
    return every


def _needs_saving(row: MoveRow, own: Own) -> Array:
    """Whether a Drop of the resident block needs its content in slow memory."""
    is_sunk = (row.is_sink > 0) & (own.level_start >= row.region_start)
    return own.is_dirty & ((row.reads > 0) | is_sunk)


def _mask(now: Situation, entry: Entry, before: Array, saved: Span) -> tuple[Array, Array]:
    """The legal actions, and the stall of a sink."""
    row, own = now.row, now.own
    is_touch, reads = row.is_sink == 0, row.reads > 0
    may_enter = is_touch & ~own.is_resident
    enters = may_enter & entry.is_possible
    copy_ok = enters & reads
    before_ok = may_enter & (before != NO_PLACE)
    no_copy_ok = (is_touch & own.is_resident) | (enters & ~reads) | before_ok
    needs_saving = own.is_resident & _needs_saving(row, own)
    lacking = jnp.where(needs_saving, own.work - jnp.maximum(saved.idle, 0), 0)
    lacking = jnp.maximum(lacking, 0)
    touch_drop_ok = ~own.is_resident | (
        (own.until <= row.time) & ~(needs_saving & ((lacking > 0) | ~saved.is_possible))
    )
    sink_ok = (lacking == 0) | (not now.encoded.is_strict)
    drop_ok = jnp.where(is_touch, touch_drop_ok, sink_ok)
    return jnp.stack([copy_ok, no_copy_ok, drop_ok]), jnp.where(is_touch, 0, lacking)
