"""Ruin: stays taken out where a change may pay, and the groups that are to be served anew."""

from __future__ import annotations

from engine.program.model import TOP_LEVEL
from engine.solvers.local.arrays import Facts, Ints, common_level
from engine.solvers.local.compiled import compiled
from engine.solvers.local.recreate import outline, time_copies
from engine.solvers.local.state import (
    BACK,
    COPIES,
    END,
    FIRST,
    GROUP,
    KINDS,
    LAST,
    NONE,
    NUM_PICKED,
    NUM_STAYS,
    PICK_STAMP,
    START,
    State,
    below,
    uniform,
)
from engine.solvers.local.stays import add_draft, find_neighbours, holds_slot, remove, tightest

MAX_PICKED = 48
"""Groups served anew after one ruin."""


@compiled
def ruin(facts: Facts, state: State) -> None:
    """One of several kinds of damage; then groups that would like to use what became free."""
    state.counts[PICK_STAMP] += 1
    state.counts[NUM_PICKED] = 0
    kind = uniform(state)
    if kind < 0.4:
        time = _make_room(facts, state)
    elif kind < 0.6:
        time = _clear_around(facts, state)
    elif kind < 0.75:
        time = _relieve_stall(facts, state)
    else:
        time = _lift_groups(facts, state)
    _pick_wanting(facts, state, time)


@compiled
def _pick(state: State, group: int) -> None:
    num = state.counts[NUM_PICKED]
    if num < MAX_PICKED and state.picked_stamp[group] != state.counts[PICK_STAMP]:
        state.picked_stamp[group] = state.counts[PICK_STAMP]
        state.picked[num] = group
        state.counts[NUM_PICKED] = num + 1


@compiled
def _take_out(facts: Facts, state: State, row: int) -> None:
    """Take out a stay; one that is out already is left alone (two of its copies were met)."""
    if _is_in(state, row):
        _pick(state, state.stay[row, GROUP])
        remove(facts, state, row)


@compiled
def _pick_wanting(facts: Facts, state: State, time: int) -> None:
    """A few groups with slow touches near a slot."""
    reach = 2 + below(state, 1 + facts.num_slots // 16)
    for _ in range(2 + below(state, 12)):
        near = time - reach + below(state, 2 * reach + 1)
        near = min(max(near, 0), facts.num_slots - 1)
        num = facts.slot_first[near + 1] - facts.slot_first[near]
        if num > 0:
            touch = facts.slot_touch[facts.slot_first[near] + below(state, num)]
            if state.served_by[touch] == NONE and facts.saving_s[touch] > 0:
                _pick(state, facts.group[touch])


@compiled
def _wanted_touch(facts: Facts, state: State) -> int:
    """A slow touch, of several the one that would save most; NONE if none was met."""
    best, rounds = NONE, 1 + below(state, 6)
    for _ in range(8 * rounds):
        touch = below(state, len(facts.time))
        if state.served_by[touch] == NONE and facts.may_be_fast[touch]:
            if best == NONE or facts.saving_s[touch] > facts.saving_s[best]:
                best = touch
            rounds -= 1
            if rounds == 0:
                break
    return best


@compiled
def _make_room(facts: Facts, state: State) -> int:
    """Draft a stay for a slow touch and take out what is in its way, where that is worth least."""
    touch = _wanted_touch(facts, state)
    if touch == NONE:
        return _clear_around(facts, state)
    group, time = facts.group[touch], int(facts.time[touch])
    _pick(state, group)
    first = last = touch
    reach = 1 + below(state, 3) if uniform(state) < 0.4 else len(facts.time)
    low, high = facts.touch_first[group], facts.touch_first[group + 1]
    while first > low and state.served_by[first - 1] == NONE and touch - first < reach:
        first -= 1
    while last + 1 < high and state.served_by[last + 1] == NONE and last - touch < reach:
        last += 1
    home = TOP_LEVEL
    if uniform(state) < 0.3:
        home = common_level(facts, facts.time[first], facts.time[last])
    lead = 1.0 if uniform(state) < 0.7 else 2.0 * uniform(state)
    if not outline(facts, state, first, last, home, False):
        return time
    if not time_copies(facts, state, lead, 1.0, 1.0 if uniform(state) < 0.7 else 0.0):
        return time
    if _clear_cheapest(facts, state):
        add_draft(facts, state)
    return time


@compiled
def _clear_cheapest(facts: Facts, state: State) -> bool:
    """Take stays out until the draft fits: at its tightest slot the one that saves least.

    The smaller a stay, the more of them are to be taken out: now and then what it saves counts per
    granule, or per root of its granules.
    """
    draft = state.draft
    size = facts.size[draft[GROUP]]
    num = find_neighbours(facts, state, draft[START], draft[END], draft[BACK])
    power = below(state, 3)
    for index in range(num):
        row = state.near[index]
        worth = (0.5 + uniform(state)) * _saved_s(facts, state.stay[row])
        state.worth[row] = worth / facts.size[state.stay[row, GROUP]] ** (0.5 * power)
    while True:
        slot = tightest(facts, state, draft)
        if slot == NONE or state.free[slot] >= size:
            return True
        cheapest = NONE
        for index in range(num):
            row = state.near[index]
            is_there = _is_in(state, row) and holds_slot(state.stay[row], slot)
            if is_there and (cheapest == NONE or state.worth[row] < state.worth[cheapest]):
                cheapest = row
        if cheapest == NONE:
            return False
        _take_out(facts, state, cheapest)


@compiled
def _saved_s(facts: Facts, stay: Ints) -> float:
    """The seconds that the touches of a stay save."""
    saved_s = 0.0
    for touch in range(stay[FIRST], stay[LAST] + 1):
        saved_s += facts.saving_s[touch]
    return saved_s


@compiled
def _is_in(state: State, row: int) -> bool:
    """Whether the stay that had this row has not been taken out since."""
    return bool(state.served_by[state.stay[row, FIRST]] == row)


@compiled
def _clear_around(facts: Facts, state: State) -> int:
    """Take out some of the stays that share slots with one of them."""
    num = state.counts[NUM_STAYS]
    if num == 0:
        return below(state, facts.num_slots)
    stay = state.stay[state.listed[below(state, num)]]
    start, end = max(0, stay[START]), stay[END]
    time = start + below(state, end - start)
    num = find_neighbours(
        facts, state, time, min(time + 1 + below(state, 3), facts.num_slots), NONE
    )
    wanted = 1 + below(state, 10)
    for index in range(num):
        if below(state, num - index) < wanted:
            wanted -= 1
            _take_out(facts, state, state.near[index])
    return time


@compiled
def _relieve_stall(facts: Facts, state: State) -> int:
    """Take out stays whose copies are under way, or begin, at a slot that stalls."""
    time, most = 0, 0.0
    for slot in range(facts.num_slots + 1):
        if state.stall_s[slot] > 0:
            weight = state.stall_s[slot] * uniform(state)
            if weight > most:
                time, most = slot, weight
    if most == 0.0:
        return _lift_groups(facts, state)
    wanted = 1 + below(state, 4)
    num = state.num_pending[time]
    for index in range(num):
        if below(state, num - index) < wanted:
            wanted -= 1
            _take_out(facts, state, state.pending[time, index] % COPIES // KINDS)
    copy = state.starting[time]
    while copy != NONE and wanted > 0:
        following = state.next_copy[copy]
        if state.copy_end[copy] == time:
            _take_out(facts, state, copy // KINDS)
            wanted -= 1
            following = state.starting[time]
        copy = following
    return min(time, facts.num_slots - 1)


@compiled
def _lift_groups(facts: Facts, state: State) -> int:
    """Take out all stays of one or a few groups that meet in a slot: they may merge or move."""
    touch = below(state, len(facts.time))
    time = int(facts.time[touch])
    _lift(facts, state, facts.group[touch])
    while uniform(state) < 0.5:
        num = facts.slot_first[time + 1] - facts.slot_first[time]
        other = facts.slot_touch[facts.slot_first[time] + below(state, num)]
        _lift(facts, state, facts.group[other])
        time = min(max(time + below(state, 5) - 2, 0), facts.num_slots - 1)
        if facts.slot_first[time + 1] == facts.slot_first[time]:
            break
    return time


@compiled
def _lift(facts: Facts, state: State, group: int) -> None:
    _pick(state, group)
    for touch in range(facts.touch_first[group], facts.touch_first[group + 1]):
        row = state.served_by[touch]
        if row != NONE:
            _take_out(facts, state, row)
