"""State: the stays of a plan under change, its simulated times, and the journal of changes.

A stay is a row of whole numbers; the names of its columns stand below. A copy is known by the
stay's row number and its kind: `copy = KINDS * row + kind`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from engine.solvers.local.arrays import Facts, Flags, Floats, Ints
from engine.solvers.local.compiled import compiled

NONE = -1
"""No stay, no copy, no time."""

GROUP, FIRST, LAST, HOME, START, END = range(6)
"""Group, first and last touch served (rows of the facts), home level, slots."""
FETCH, NEED = 6, 7
"""Start and deadline of the prefetch; NONE where the content is written or kept."""
WRITE_BACK, DUE = 8, 9
"""Start and deadline of the write-back; NONE where none is needed."""
BACK = 10
"""Start of the copy that brings a kept input back by the end; NONE where it never leaves."""
READY, LIMIT = 11, 12
"""Of a draft: the earliest start of its prefetch, the latest deadline of its write-back."""
NUM_COLUMNS = 13

FETCHING, WRITING_BACK, RETURNING = range(3)
KINDS = 3

COMPUTE_S, STALL_S, WORK_S = range(3)
"""Columns of the sums: instructions, stalls, and copies in seconds of the full bandwidth."""

MAX_PENDING = 48
"""Copies in flight at once; a stay that would need more is refused."""

COPIES = 2**24
"""More than there are numbers of copies."""

ADDED, REMOVED = 1, 0
NUM_BUCKETS = 64


class State(NamedTuple):
    """A plan under change; `M` rows for stays, `C = 3 M` copies, `B` buckets of slots.

    `counts`: its entries have the names from NUM_STAYS on. `stay` `[M, columns]`; `served_by`
    `[N]`: the row that serves a touch. `listed` `[M]`: the rows in use; `position` `[M]`: where in
    `listed` a row is; `spare` `[M]`: rows to use. `bucket` `[B, M / 63]`: bits of the rows that
    hold some slot of a bucket. `free` `[T]`: granules that neither scratch nor a stay takes in a
    slot. `copy_*` `[C]`; `starting` `[T + 1]`, `next_copy`, `prior_copy` `[C]`: lists of copies by
    the slot they start.

    Per slot `[T + 1]`, as simulated: `duration_s`, `idle_s`, `used_s` (idle time that copies
    used), `stall_s` before it; `num_pending`, `pending`, `left_s` `[T + 1, P]`: the copies under
    way when it begins (`pending` is their number, marked as in `timeline.under_way`).
    `is_stale`, `agenda`: slots to simulate anew. `price_s` `[T + 1]`: what a granule costs in all
    slots before, where memory has a price. `queue`, `rest_s` `[P]`: the copies under way
    during a simulation.

    The journal: `log` `[J, 2 + columns]` (stays), `log_slot`, `log_times` (slots), `log_queue`,
    `log_pending`, `log_left` (copies under way), each a stack; `slot_stamp`, `queue_stamp` mark
    the slots that are in it since the last mark.
    """

    counts: Ints
    sums: Floats
    seed: Ints
    stay: Ints
    served_by: Ints
    listed: Ints
    position: Ints
    spare: Ints
    bucket: Ints
    free: Ints
    copy_start: Ints
    copy_end: Ints
    copy_work_s: Floats
    starting: Ints
    next_copy: Ints
    prior_copy: Ints
    duration_s: Floats
    idle_s: Floats
    used_s: Floats
    stall_s: Floats
    num_pending: Ints
    pending: Ints
    left_s: Floats
    is_stale: Flags
    agenda: Ints
    queue: Ints
    rest_s: Floats
    log: Ints
    log_slot: Ints
    log_times: Floats
    log_queue: Ints
    log_pending: Ints
    log_left: Floats
    slot_stamp: Ints
    queue_stamp: Ints
    marks: Ints
    mark_sums: Floats
    draft: Ints
    near: Ints
    worth: Floats
    picked: Ints
    picked_stamp: Ints
    runs: Ints
    order: Floats
    best: Ints
    price_s: Floats
    chosen: Ints


(
    NUM_STAYS,
    NUM_KEPT,
    NUM_AGENDA,
    NUM_LOG,
    NUM_LOG_SLOTS,
    NUM_LOG_QUEUES,
    NUM_LOG_PENDING,
    STAMP,
    PICK_STAMP,
    NUM_PICKED,
    NUM_BEST,
    MOVES,
    KEPT_MOVES,
    IS_BEST,
    IS_CALM,
    IS_PRICED,
) = range(16)
"""The entries of `State.counts`."""
NUM_COUNTS = 16


def empty_state(facts: Facts, seed: int) -> State:
    """A state with nothing in fast memory, not simulated yet; `seed` decides all randomness."""
    num_touches, num_slots = len(facts.time), facts.num_slots
    rows = num_touches + 1
    copies = KINDS * rows
    log = 4 * rows + 1024
    log_slots = 8 * (num_slots + 1) + 1024
    ints, floats = _ints, np.zeros
    state = State(
        counts=ints(NUM_COUNTS, 0),
        sums=floats(3),
        seed=_seeds(seed),
        stay=ints((rows, NUM_COLUMNS)),
        served_by=ints(num_touches),
        listed=ints(rows),
        position=ints(rows),
        spare=np.arange(rows, dtype=np.int64)[::-1].copy(),
        bucket=ints((NUM_BUCKETS, (rows + 62) // 63), 0),
        free=facts.capacity - facts.reserved,
        copy_start=ints(copies),
        copy_end=ints(copies),
        copy_work_s=floats(copies),
        starting=ints(num_slots + 1),
        next_copy=ints(copies),
        prior_copy=ints(copies),
        duration_s=floats(num_slots + 1),
        idle_s=floats(num_slots + 1),
        used_s=floats(num_slots + 1),
        stall_s=floats(num_slots + 1),
        num_pending=ints(num_slots + 1, 0),
        pending=ints((num_slots + 1, MAX_PENDING)),
        left_s=floats((num_slots + 1, MAX_PENDING)),
        is_stale=np.ones(num_slots + 1, dtype=np.bool_),
        agenda=np.arange(num_slots + 1, dtype=np.int64),
        queue=ints(MAX_PENDING),
        rest_s=floats(MAX_PENDING),
        log=ints((log, NUM_COLUMNS + 2)),
        log_slot=ints(log_slots),
        log_times=floats((log_slots, 4)),
        log_queue=ints((log_slots, 3)),
        log_pending=ints(4 * log_slots + MAX_PENDING),
        log_left=floats(4 * log_slots + MAX_PENDING),
        slot_stamp=ints(num_slots + 1, 0),
        queue_stamp=ints(num_slots + 1, 0),
        marks=ints((2, 4), 0),
        mark_sums=floats((2, 3)),
        draft=ints(NUM_COLUMNS),
        near=ints(rows),
        worth=floats(rows),
        picked=ints(num_touches + 1),
        picked_stamp=ints(num_touches + 1, 0),
        runs=ints((num_touches + 2, 2)),
        order=floats(num_touches + 1),
        best=ints((rows, NUM_COLUMNS)),
        price_s=floats(num_slots + 1),
        chosen=ints(NUM_COLUMNS),
    )
    state.counts[NUM_AGENDA] = num_slots + 1
    state.counts[STAMP] = 1
    return state


def _ints(shape: int | tuple[int, ...], value: int = NONE) -> Ints:
    return np.full(shape, value, dtype=np.int64)


def _seeds(seed: int) -> Ints:
    """Two start values for `engine.solvers.local.state`, within its moduli and not zero."""
    return np.random.default_rng(seed).integers(1, 2**31 - 250, 2)


ROOM = 256
"""Free entries for stays that a move may count on."""


@compiled
def set_mark(state: State, level: int) -> None:
    """From now on changes can be undone to here; mark 0 forgets all that was before."""
    count, mark = state.counts, state.marks[level]
    if level == 0:
        count[NUM_LOG] = count[NUM_LOG_SLOTS] = 0
        count[NUM_LOG_QUEUES] = count[NUM_LOG_PENDING] = 0
    mark[0], mark[1] = count[NUM_LOG], count[NUM_LOG_SLOTS]
    mark[2], mark[3] = count[NUM_LOG_QUEUES], count[NUM_LOG_PENDING]
    state.mark_sums[level] = state.sums
    count[STAMP] += 1


@compiled
def has_room(state: State) -> bool:
    """Whether another attempt's stays fit into the journal."""
    return state.counts[NUM_LOG] + ROOM < len(state.log)


@compiled
def note_slot(state: State, time: int) -> bool:
    """Note the times of a slot once per mark; False if the journal is full."""
    if state.slot_stamp[time] == state.counts[STAMP]:
        return True
    top = state.counts[NUM_LOG_SLOTS]
    if top == len(state.log_slot):
        return False
    state.slot_stamp[time] = state.counts[STAMP]
    state.log_slot[top] = time
    state.log_times[top, 0] = state.duration_s[time]
    state.log_times[top, 1] = state.idle_s[time]
    state.log_times[top, 2] = state.used_s[time]
    state.log_times[top, 3] = state.stall_s[time]
    state.counts[NUM_LOG_SLOTS] = top + 1
    return True


@compiled
def note_queue(state: State, time: int) -> bool:
    """Note the copies under way when a slot begins, once per mark; False if the journal is full."""
    if state.queue_stamp[time] == state.counts[STAMP]:
        return True
    top, base = state.counts[NUM_LOG_QUEUES], state.counts[NUM_LOG_PENDING]
    num = state.num_pending[time]
    if top == len(state.log_queue) or base + num > len(state.log_pending):
        return False
    state.queue_stamp[time] = state.counts[STAMP]
    state.log_queue[top, 0], state.log_queue[top, 1], state.log_queue[top, 2] = time, base, num
    for index in range(num):
        state.log_pending[base + index] = state.pending[time, index]
        state.log_left[base + index] = state.left_s[time, index]
    state.counts[NUM_LOG_QUEUES], state.counts[NUM_LOG_PENDING] = top + 1, base + num
    return True


@compiled
def undo_times(state: State, level: int) -> None:
    """Bring back the times, the copies under way and the sums of the mark."""
    mark, count = state.marks[level], state.counts
    for top in range(count[NUM_LOG_SLOTS] - 1, mark[1] - 1, -1):
        time = state.log_slot[top]
        state.duration_s[time], state.idle_s[time] = (
            state.log_times[top, 0],
            state.log_times[top, 1],
        )
        state.used_s[time], state.stall_s[time] = state.log_times[top, 2], state.log_times[top, 3]
    for top in range(count[NUM_LOG_QUEUES] - 1, mark[2] - 1, -1):
        time, base, num = state.log_queue[top, 0], state.log_queue[top, 1], state.log_queue[top, 2]
        state.num_pending[time] = num
        for index in range(num):
            state.pending[time, index] = state.log_pending[base + index]
            state.left_s[time, index] = state.log_left[base + index]
    count[NUM_LOG_SLOTS], count[NUM_LOG_QUEUES], count[NUM_LOG_PENDING] = mark[1], mark[2], mark[3]
    state.sums[:] = state.mark_sums[level]
    count[STAMP] += 1


_MODULUS = 2147483563
_OTHER_MODULUS = 2147483399


@compiled
def uniform(state: State) -> float:
    """A number in `(0, 1)`; while the state is calm the middle: every choice is the usual one."""
    if state.counts[IS_CALM]:
        return 0.5
    one = 40014 * state.seed[0] % _MODULUS
    two = 40692 * state.seed[1] % _OTHER_MODULUS
    state.seed[0], state.seed[1] = one, two
    return ((one - two) % (_MODULUS - 1) + 1.0) / (_MODULUS + 1.0)


@compiled
def below(state: State, limit: int) -> int:
    """A whole number in `[0, limit)`."""
    return int(uniform(state) * limit)


@compiled
def gumbel(state: State) -> float:
    """Noise whose largest of several picks in proportion to the exponentials added to it."""
    return -math.log(-math.log(uniform(state)))
