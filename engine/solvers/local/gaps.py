"""Gaps: the bytes that stay free over the whole life of a stay, and which of them it takes."""

from __future__ import annotations

import numpy as np

from engine.solvers.local.chance import below, uniform
from engine.solvers.local.compiled import compiled
from engine.solvers.local.facts import Facts, Ints
from engine.solvers.local.sorting import sort
from engine.solvers.local.state import (
    BACK,
    END,
    GROUP,
    NONE,
    OFFSET,
    START,
    State,
)
from engine.solvers.local.stays import BITS, bucket_of

SHIFT = 31
"""A place is one number, `low << SHIFT | high`: sorted numbers are sorted places."""

BIT_NUMBER = np.zeros(67, dtype=np.int64)
"""The exponent of a power of two, by its remainder modulo 67 (2 generates all of them)."""
for _exponent in range(64):
    BIT_NUMBER[2**_exponent % 67] = _exponent


@compiled
def most_reserved(facts: Facts, start: int, end: int) -> int:
    """Granules of scratch at the bottom that the slots `[start, end)` leave to nobody."""
    start = max(start, 0)
    if start >= end:
        return 0
    row, width = 0, 1
    while 2 * width <= end - start:
        row, width = row + 1, 2 * width
    return max(facts.reserved[row, start], facts.reserved[row, end - width])


@compiled
def shares_slot(stays: Ints, row: int, start: int, end: int) -> bool:
    """Whether a stay of these rows holds its place in some slot of `[start, end)`."""
    if stays[row, START] < end and start < stays[row, END]:
        return True
    back = stays[row, BACK]
    return bool(back != NONE and back < end)


@compiled
def find_neighbours(facts: Facts, state: State, start: int, end: int, back: int) -> int:
    """How many stays share a slot with `[start, end)` or `[back, T)`; `gap_high` lists them."""
    num, first, last = 0, bucket_of(facts, start), bucket_of(facts, end - 1)
    final = bucket_of(facts, facts.num_slots - 1)
    held, rows, stays, num_slots = state.bucket, state.gap_high, state.stay, facts.num_slots
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
def find_gaps(facts: Facts, state: State, draft: Ints, size: int) -> int:
    """How many free gaps hold `size` granules over the draft's life; `gap_low`, `gap_high`."""
    start, end, back = draft[START], draft[END], draft[BACK]
    num = find_neighbours(facts, state, start, end, back)
    keys, lows, highs, stays, sizes = (
        state.gap_key,
        state.gap_low,
        state.gap_high,
        state.stay,
        facts.size,
    )
    for index in range(num):
        row = highs[index]
        low = stays[row, OFFSET]
        keys[index] = low << SHIFT | (low + sizes[stays[row, GROUP]])
    sort(keys, num)
    floor, gaps = most_reserved(facts, start, end), 0
    if back != NONE:
        floor = max(floor, most_reserved(facts, back, facts.num_slots))
    for index in range(num + 1):
        ceiling = keys[index] >> SHIFT if index < num else facts.capacity
        if ceiling - floor >= size:
            lows[gaps], highs[gaps] = floor, ceiling
            gaps += 1
        if index < num:
            floor = max(floor, keys[index] & ((1 << SHIFT) - 1))
    return gaps


@compiled
def choose_offset(state: State, num: int, size: int) -> int:
    """The tightest gap, the lowest, the highest, or any; at one of its ends."""
    chosen, rule = 0, uniform(state)
    if rule < 0.4:
        for index in range(1, num):
            room = state.gap_high[index] - state.gap_low[index]
            if room < state.gap_high[chosen] - state.gap_low[chosen]:
                chosen = index
    elif rule < 0.55:
        return state.gap_low[0]
    elif rule < 0.7:
        return state.gap_high[num - 1] - size
    else:
        chosen = below(state, num)
    is_low = uniform(state) < 0.5
    return state.gap_low[chosen] if is_low else state.gap_high[chosen] - size
