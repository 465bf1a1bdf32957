"""Stays put into the state and taken out of it: free memory, copies, undo by the journal."""

from __future__ import annotations

import numpy as np

from engine.program.model import TOP_LEVEL
from engine.solvers.local.arrays import Facts, Ints
from engine.solvers.local.compiled import compiled
from engine.solvers.local.state import (
    ADDED,
    BACK,
    DUE,
    END,
    FETCH,
    FETCHING,
    FIRST,
    GROUP,
    HOME,
    KINDS,
    LAST,
    NEED,
    NONE,
    NUM_AGENDA,
    NUM_BUCKETS,
    NUM_COLUMNS,
    NUM_KEPT,
    NUM_LOG,
    NUM_STAYS,
    REMOVED,
    RETURNING,
    START,
    WORK_S,
    WRITE_BACK,
    WRITING_BACK,
    State,
    undo_times,
)
from engine.solvers.local.timeline import forget_agenda

BITS = 63
"""Rows per word of a bucket: whole numbers stay positive."""


@compiled
def bucket_of(facts: Facts, time: int) -> int:
    """The bucket of a slot; what was there from before the start counts to the first."""
    return max(time, 0) // (facts.num_slots // NUM_BUCKETS + 1)


@compiled
def add_draft(facts: Facts, state: State) -> int:
    """Put the draft into the state and the journal; its row. `settle` is to follow."""
    row = _attach(facts, state)
    _log(state, ADDED, row)
    return row


@compiled
def remove(facts: Facts, state: State, row: int) -> None:
    """Take a stay out of the state. `settle` is to follow."""
    _log(state, REMOVED, row)
    _detach(facts, state, row)


@compiled
def undo(facts: Facts, state: State, level: int) -> None:
    """Undo all changes since the mark was set; settled or not."""
    bottom = state.marks[level, 0]
    for top in range(state.counts[NUM_LOG] - 1, bottom - 1, -1):
        row = state.log[top, 1]
        if state.log[top, 0] == ADDED:
            _detach(facts, state, row)
        else:
            state.draft[:] = state.log[top, 2:]
            _attach(facts, state)
    state.counts[NUM_LOG] = bottom
    forget_agenda(state)
    undo_times(state, level)


@compiled
def _log(state: State, kind: int, row: int) -> None:
    top = state.counts[NUM_LOG]
    state.log[top, 0], state.log[top, 1] = kind, row
    for column in range(NUM_COLUMNS):
        state.log[top, 2 + column] = state.stay[row, column]
    state.counts[NUM_LOG] = top + 1


@compiled
def _attach(facts: Facts, state: State) -> int:
    num = state.counts[NUM_STAYS]
    row = state.spare[len(state.spare) - 1 - num]
    for column in range(NUM_COLUMNS):
        state.stay[row, column] = state.draft[column]
    state.listed[num], state.position[row] = row, num
    state.counts[NUM_STAYS] = num + 1
    stay = state.stay[row]
    state.counts[NUM_KEPT] += stay[START] < 0
    _serve(facts, state, stay, row)
    _mark_buckets(facts, state, stay, row, True)
    _take(state, stay, facts.size[stay[GROUP]])
    size_s = facts.size_bytes[stay[GROUP]] / facts.bandwidth
    work_s = facts.multiplicity[stay[HOME]] * size_s
    if stay[FETCH] != NONE:
        _add_copy(state, KINDS * row + FETCHING, stay[FETCH], stay[NEED], work_s)
    if stay[WRITE_BACK] != NONE:
        _add_copy(state, KINDS * row + WRITING_BACK, stay[WRITE_BACK], stay[DUE], work_s)
    if stay[BACK] != NONE:
        top_s = facts.multiplicity[TOP_LEVEL] * size_s
        _add_copy(state, KINDS * row + RETURNING, stay[BACK], facts.num_slots, top_s)
    return row


@compiled
def _detach(facts: Facts, state: State, row: int) -> None:
    stay = state.stay[row]
    num = state.counts[NUM_STAYS] - 1
    state.counts[NUM_STAYS] = num
    state.spare[len(state.spare) - 1 - num] = row
    moved, position = state.listed[num], state.position[row]
    state.listed[position], state.position[moved] = moved, position
    state.counts[NUM_KEPT] -= stay[START] < 0
    _serve(facts, state, stay, NONE)
    _mark_buckets(facts, state, stay, row, False)
    _take(state, stay, -facts.size[stay[GROUP]])
    if stay[FETCH] != NONE:
        _remove_copy(state, KINDS * row + FETCHING)
    if stay[WRITE_BACK] != NONE:
        _remove_copy(state, KINDS * row + WRITING_BACK)
    if stay[BACK] != NONE:
        _remove_copy(state, KINDS * row + RETURNING)


@compiled
def _serve(facts: Facts, state: State, stay: Ints, row: int) -> None:
    for touch in range(stay[FIRST], stay[LAST] + 1):
        state.served_by[touch] = row
        _mark_stale(state, facts.time[touch])


@compiled
def _mark_stale(state: State, time: int) -> None:
    if not state.is_stale[time]:
        state.is_stale[time] = True
        state.agenda[state.counts[NUM_AGENDA]] = time
        state.counts[NUM_AGENDA] += 1


@compiled
def _mark_buckets(facts: Facts, state: State, stay: Ints, row: int, is_held: bool) -> None:
    word, bit = row // BITS, 1 << (row % BITS)
    last = bucket_of(facts, stay[END] - 1)
    for bucket in range(bucket_of(facts, stay[START]), last + 1):
        state.bucket[bucket, word] = (state.bucket[bucket, word] | bit) - (0 if is_held else bit)
    if stay[BACK] != NONE:
        end = bucket_of(facts, facts.num_slots - 1)
        for bucket in range(max(last + 1, bucket_of(facts, stay[BACK])), end + 1):
            state.bucket[bucket, word] = (state.bucket[bucket, word] | bit) - (
                0 if is_held else bit
            )


@compiled
def _take(state: State, stay: Ints, size: int) -> None:
    """Take so many granules in every slot of the stay's life."""
    state.free[max(stay[START], 0) : stay[END]] -= size
    if stay[BACK] != NONE:
        state.free[stay[BACK] :] -= size


@compiled
def _add_copy(state: State, copy: int, start: int, end: int, work_s: float) -> None:
    state.copy_start[copy], state.copy_end[copy] = start, end
    state.copy_work_s[copy] = work_s
    state.sums[WORK_S] += work_s
    head = state.starting[start]
    state.next_copy[copy], state.prior_copy[copy] = head, NONE
    if head != NONE:
        state.prior_copy[head] = copy
    state.starting[start] = copy
    _mark_stale(state, start)
    _mark_stale(state, end)


@compiled
def _remove_copy(state: State, copy: int) -> None:
    state.sums[WORK_S] -= state.copy_work_s[copy]
    prior, following = state.prior_copy[copy], state.next_copy[copy]
    if prior == NONE:
        state.starting[state.copy_start[copy]] = following
    else:
        state.next_copy[prior] = following
    if following != NONE:
        state.prior_copy[following] = prior
    _mark_stale(state, state.copy_start[copy])
    _mark_stale(state, state.copy_end[copy])


BIT_NUMBER = np.zeros(67, dtype=np.int64)
"""The exponent of a power of two, by its remainder modulo 67 (2 generates all of them)."""
for _exponent in range(64):
    BIT_NUMBER[2**_exponent % 67] = _exponent


@compiled
def shares_slot(stays: Ints, row: int, start: int, end: int) -> bool:
    """Whether a stay of these rows holds its place in some slot of `[start, end)`."""
    if stays[row, START] < end and start < stays[row, END]:
        return True
    back = stays[row, BACK]
    return bool(back != NONE and back < end)


@compiled
def find_neighbours(facts: Facts, state: State, start: int, end: int, back: int) -> int:
    """How many stays share a slot with `[start, end)` or `[back, T)`; `near` lists them."""
    num, first, last = 0, bucket_of(facts, start), bucket_of(facts, end - 1)
    final = bucket_of(facts, facts.num_slots - 1)
    held, rows, stays, num_slots = state.bucket, state.near, state.stay, facts.num_slots
    for word in range(held.shape[1]):
        bits = held[first, word]
        for bucket in range(first + 1, last + 1):
            bits |= held[bucket, word]
        if back != NONE:
            for bucket in range(bucket_of(facts, back), final + 1):
                bits |= held[bucket, word]
        while bits:
            low = bits & -bits
            bits -= low
            row = word * BITS + BIT_NUMBER[low % 67]
            is_late = back != NONE and shares_slot(stays, row, back, num_slots)
            if is_late or shares_slot(stays, row, start, end):
                rows[num] = row
                num += 1
    return num


@compiled
def fits(facts: Facts, state: State, draft: Ints) -> bool:
    """Whether all slots of the draft's life have as much free as it takes, somewhere."""
    size, start, back = facts.size[draft[GROUP]], max(draft[START], 0), draft[BACK]
    if start < draft[END] and state.free[start : draft[END]].min() < size:
        return False
    return back == NONE or back >= facts.num_slots or bool(state.free[back:].min() >= size)


@compiled
def tightest(facts: Facts, state: State, draft: Ints) -> int:
    """The slot of the draft's life that has least free; NONE if it has none."""
    start, end, back = max(draft[START], 0), draft[END], draft[BACK]
    slot = NONE
    if start < end:
        slot = start + int(state.free[start:end].argmin())
    if back != NONE and back < facts.num_slots:
        other = back + int(state.free[back:].argmin())
        if slot == NONE or state.free[other] < state.free[slot]:
            slot = other
    return slot


@compiled
def holds_slot(stay: Ints, slot: int) -> bool:
    """Whether a stay has its place in a slot."""
    return bool(stay[START] <= slot < stay[END] or NONE != stay[BACK] <= slot)
