"""Recreate: groups served anew by drafts of stays, of which the cheapest are kept.

A draft is a row like a stay's, without a place in memory yet. `outline` fixes what the program and
the other stays of the group ask of it, `time_copies` chooses when its copies begin and end.
"""

from __future__ import annotations

import math

from engine.program.model import TOP_LEVEL
from engine.solvers.local.arrays import (
    Facts,
    child_at,
    common_level,
    enter,
    enter_loops,
    free_from,
    holds,
    interval_level,
    is_around,
    is_border,
    leave,
    serves_all_ways,
    write_back_level,
)
from engine.solvers.local.compiled import compiled
from engine.solvers.local.state import (
    BACK,
    COMPUTE_S,
    DUE,
    END,
    FETCH,
    FIRST,
    GROUP,
    HOME,
    IS_PRICED,
    LAST,
    LIMIT,
    NEED,
    NONE,
    NUM_KEPT,
    READY,
    STALL_S,
    START,
    WORK_S,
    WRITE_BACK,
    State,
    below,
    has_room,
    set_mark,
    uniform,
)
from engine.solvers.local.stays import add_draft, fits, undo
from engine.solvers.local.timeline import settle

LOOK_AROUND = 2048
"""The farthest a copy is stretched in search of idle slots."""


@compiled
def outline(facts: Facts, state: State, first: int, last: int, home: int, is_kept: bool) -> bool:
    """Draft a stay at level `home` that serves the touches `first … last` of one group.

    Where the stay covers a region it serves all that the region touches, so the ends may move
    outwards. `is_kept`: the run before left the group in place. False where there is no such stay.
    """
    draft, group = state.draft, facts.group[first]
    draft[:] = NONE
    first, last = _widen(facts, group, first, last, home)
    if not _is_free(facts, state, first, last, home):
        return False
    draft[GROUP], draft[FIRST], draft[LAST], draft[HOME] = group, first, last, home
    before = _served_before(facts, state, group, first)
    if before != NONE and state.stay[before, BACK] != NONE:
        return False
    if is_kept:
        return _outline_kept(facts, state, group, first, home)
    if facts.reads[first]:
        draft[NEED] = enter(facts, home, facts.time[first])
    else:
        draft[NEED] = enter_loops(facts, home, facts.time[first])
    draft[READY] = max(facts.region_start[home], facts.born[group])
    if before != NONE:
        draft[READY] = max(draft[READY], state.stay[before, END])
    after = _served_after(facts, state, group, last)
    draft[LIMIT] = facts.region_end[home]
    if after != NONE:
        draft[LIMIT] = min(draft[LIMIT], state.stay[after, START])
    if facts.reads[first] and not _wait_for_slow_copy(facts, state, group, first):
        return False
    if not _ask_for_write_back(facts, state, group, first, last, home):
        return False
    return bool(draft[READY] <= draft[NEED])


@compiled
def _widen(facts: Facts, group: int, first: int, last: int, home: int) -> tuple[int, int]:
    """The run and what else the children at its ends touch."""
    child = child_at(facts, home, facts.time[first])
    while (
        child >= 0
        and first > facts.touch_first[group]
        and holds(facts, child, facts.time[first - 1])
    ):
        first -= 1
    child = child_at(facts, home, facts.time[last])
    while (
        child >= 0
        and last + 1 < facts.touch_first[group + 1]
        and holds(facts, child, facts.time[last + 1])
    ):
        last += 1
    return first, last


@compiled
def _is_free(facts: Facts, state: State, first: int, last: int, home: int) -> bool:
    if not (holds(facts, home, facts.time[first]) and holds(facts, home, facts.time[last])):
        return False
    for touch in range(first, last + 1):
        if state.served_by[touch] != NONE or not facts.may_be_fast[touch]:
            return False
    return True


@compiled
def _served_before(facts: Facts, state: State, group: int, first: int) -> int:
    for touch in range(first - 1, facts.touch_first[group] - 1, -1):
        if state.served_by[touch] != NONE:
            return int(state.served_by[touch])
    return NONE


@compiled
def _served_after(facts: Facts, state: State, group: int, last: int) -> int:
    for touch in range(last + 1, facts.touch_first[group + 1]):
        if state.served_by[touch] != NONE:
            return int(state.served_by[touch])
    return NONE


@compiled
def _outline_kept(facts: Facts, state: State, group: int, first: int, home: int) -> bool:
    """Kept inputs are few, are there from the first touch on, and have no other stay."""
    if home != TOP_LEVEL or not facts.may_be_kept[group] or first != facts.touch_first[group]:
        return False
    last = state.draft[LAST]
    if state.counts[NUM_KEPT] >= facts.max_kept or _served_after(facts, state, group, last) != NONE:
        return False
    state.draft[LIMIT] = facts.num_slots
    return True


@compiled
def _wait_for_slow_copy(facts: Facts, state: State, group: int, first: int) -> bool:
    """The prefetch waits until the last write before it has reached slow memory."""
    draft = state.draft
    for touch in range(first - 1, facts.touch_first[group] - 1, -1):
        if facts.writes[touch]:
            row = state.served_by[touch]
            ready = facts.over[touch]
            if row != NONE:
                ready = state.stay[row, DUE]
                if ready == NONE:
                    return False
            draft[READY] = max(draft[READY], ready)
            break
    draft[FETCH] = draft[NEED]
    return True


@compiled
def _ask_for_write_back(
    facts: Facts, state: State, group: int, first: int, last: int, home: int
) -> bool:
    """Fill WRITE_BACK and narrow LIMIT, if later code needs in slow memory what the stay wrote.

    False where it would be there only if one branch of a conditional ran, and not another.
    """
    wrote = last
    while wrote >= first and not facts.writes[wrote]:
        wrote -= 1
    if wrote < first:
        return True
    if not facts.reads[first] and not serves_all_ways(facts, home, first, last, first):
        return False
    if not serves_all_ways(facts, home, first, last, wrote):
        return False
    draft, sink_time = state.draft, facts.num_slots + 1
    for sink in range(facts.sink_first[group], facts.sink_first[group + 1]):
        if is_around(facts, facts.sink_region[sink], home):
            time = facts.sink_time[sink]
            if facts.time[last] < time < sink_time:
                sink_time = time
    following = last + 1
    if following < facts.touch_first[group + 1] and facts.time[following] < sink_time:
        if not facts.reads[following]:
            return True
        if holds(facts, home, facts.time[following]):
            draft[LIMIT] = min(draft[LIMIT], enter(facts, home, facts.time[following]))
    elif sink_time > facts.num_slots:
        return True
    else:
        draft[LIMIT] = min(draft[LIMIT], sink_time)
    draft[WRITE_BACK] = leave(facts, home, facts.over[wrote] - 1)
    return True


@compiled
def time_copies(facts: Facts, state: State, lead: float, lag: float, share: float) -> bool:
    """Choose the slots of the draft's copies and with them its life; False where none will do.

    A prefetch begins where the idle time up to its deadline covers `lead` times its work, a
    write-back must be complete when as much as `lag` times its work has passed. Of the idle time
    that other copies use, `1 - share` counts too: they may make room.
    """
    draft = state.draft
    home = draft[HOME]
    end = free_from(facts, home, draft[FIRST], draft[LAST])
    if draft[NEED] == NONE:
        return _time_return(facts, state, end, lead, share)
    if draft[FETCH] != NONE:
        start = _fetch_start(facts, state, lead, share)
        if start == NONE:
            return False
        draft[FETCH] = draft[START] = start
    if draft[WRITE_BACK] != NONE:
        draft[DUE] = _write_back_deadline(facts, state, lag, share)
        if draft[DUE] == NONE:
            return False
        end = max(end, draft[DUE])
    if draft[FETCH] == NONE and not start_with_write(facts, state, end):
        return False
    if end > draft[LIMIT]:
        return False
    draft[END] = end
    if draft[WRITE_BACK] != NONE:
        level = write_back_level(facts, draft[WRITE_BACK], draft[DUE], draft[START])
        return bool(level == home)
    return True


@compiled
def _time_return(facts: Facts, state: State, end: int, lead: float, share: float) -> bool:
    """A kept input stays for good, or is brought back by the end after its last touch."""
    draft, work_s = state.draft, facts.size_bytes[state.draft[GROUP]] / facts.bandwidth
    draft[END], draft[BACK] = facts.num_slots, NONE
    if lead <= 0.0:
        return True
    idle_s, time = 0.0, facts.num_slots
    # Its place takes a slot, also where the copy takes none.
    while time > end and (time == facts.num_slots or idle_s < lead * work_s):
        time -= 1
        idle_s += state.idle_s[time] - share * state.used_s[time]
    while time > end and facts.level[time] != TOP_LEVEL:
        time -= 1
    if time > end:
        draft[END], draft[BACK] = end, time
    return True


@compiled
def start_with_write(facts: Facts, state: State, end: int) -> bool:
    """The stay begins with the write, or before the region that holds it."""
    draft = state.draft
    start = draft[NEED]
    child = child_at(facts, draft[HOME], facts.time[draft[FIRST]])
    if child >= 0 and end <= facts.region_end[child]:
        start -= 1
        if start < draft[READY] or facts.level[start] != draft[HOME]:
            return False
    draft[START] = start
    return bool(start >= draft[READY])


@compiled
def _fetch_start(facts: Facts, state: State, lead: float, share: float) -> int:
    draft = state.draft
    home, need = draft[HOME], draft[NEED]
    target_s = lead * facts.multiplicity[home] * facts.size_bytes[draft[GROUP]] / facts.bandwidth
    lowest = max(draft[READY], need - LOOK_AROUND)
    best, idle_s, time = NONE, 0.0, need
    while time >= lowest:
        if time < need:
            idle_s += state.idle_s[time] - share * state.used_s[time]
        if is_border(facts, home, time) and interval_level(facts, time, need) == home:
            best = time
            if idle_s >= target_s:
                break
        time -= 1
    return best


@compiled
def _write_back_deadline(facts: Facts, state: State, lag: float, share: float) -> int:
    draft = state.draft
    home, time = draft[HOME], draft[WRITE_BACK]
    target_s = lag * facts.multiplicity[home] * facts.size_bytes[draft[GROUP]] / facts.bandwidth
    highest = min(draft[LIMIT], time + LOOK_AROUND)
    best, idle_s = NONE, 0.0
    while time <= highest:
        if is_border(facts, home, time) and (
            time == draft[WRITE_BACK] or interval_level(facts, draft[WRITE_BACK], time) == home
        ):
            best = time
            if idle_s >= target_s:
                break
        if time < facts.num_slots:
            idle_s += state.idle_s[time] - share * state.used_s[time]
        time += 1
    return best


COPY_PRICE = 1e-3
"""Seconds that a second of copying counts: a hair, so that of equal plans the one that copies
less wins, and idle time is left for others."""

BETWEEN = 0.3
"""How often a stay in a loop is tried around some of the loops about it in place of all."""

CUT_FIRST = 0.1
"""How often a run is cut anywhere before it is tried whole: short stays may pay more."""

MAX_ATTEMPTS = 12
"""Stays tried for one run of touches before what is left of it stays slow."""
GO_ON = 0.3
"""Chance that a stay goes on over touches that save nothing, one or all that follow."""


@compiled
def objective(state: State) -> float:
    """Simulated seconds, and a hair for the work of copies."""
    return state.sums[COMPUTE_S] + state.sums[STALL_S] + COPY_PRICE * state.sums[WORK_S]


@compiled
def serve_group(facts: Facts, state: State, group: int) -> None:
    """Try to serve all that is slow of a group, its longest runs of touches first tried whole."""
    touch, end = facts.touch_first[group], facts.touch_first[group + 1]
    while touch < end:
        if state.served_by[touch] != NONE:
            touch += 1
            continue
        first = touch
        while touch < end and state.served_by[touch] == NONE:
            touch += 1
        serve_run(facts, state, first, touch - 1)


@compiled
def serve_run(facts: Facts, state: State, first: int, last: int) -> None:
    """The whole run in one stay, else what is left and right of its widest pause, and so on."""
    runs = state.runs
    runs[0, 0], runs[0, 1] = first, last
    num = 1
    if first < last and uniform(state) < CUT_FIRST:
        # What is copied in for a later touch has more slots to be copied in.
        runs[0, 1] = first + below(state, last - first)
        runs[1, 0], runs[1, 1] = runs[0, 1] + 1, last
        num = 2
    for _ in range(MAX_ATTEMPTS):
        if num == 0 or not has_room(state):
            return
        num -= 1
        first, last = _trim(facts, state, runs[num, 0], runs[num, 1])
        if first > last or serve_together(facts, state, first, last) or first == last:
            continue
        cut = _widest_pause(facts, state, first, last)
        runs[num, 0], runs[num, 1] = first, cut
        runs[num + 1, 0], runs[num + 1, 1] = cut + 1, last
        num += 2


@compiled
def _trim(facts: Facts, state: State, first: int, last: int) -> tuple[int, int]:
    """The run without what is served or gains nothing at its ends; a write is a way to enter."""
    while first <= last and (
        state.served_by[first] != NONE
        or not facts.may_be_fast[first]
        or (not facts.writes[first] and facts.saving_s[first] <= 0)
    ):
        first += 1
    while first <= last and (
        state.served_by[last] != NONE or not facts.may_be_fast[last] or facts.saving_s[last] <= 0
    ):
        last -= 1
    return first, last


@compiled
def _widest_pause(facts: Facts, state: State, first: int, last: int) -> int:
    """The touch before the longest time without a touch; now and then any."""
    if uniform(state) < 0.1:
        return first + below(state, last - first)
    cut = first
    for touch in range(first + 1, last):
        pause = facts.time[touch + 1] - facts.time[touch]
        if pause > facts.time[cut + 1] - facts.time[cut]:
            cut = touch
    return cut


@compiled
def serve_together(facts: Facts, state: State, first: int, last: int) -> bool:
    """Serve a run by one stay, at the level that suits it; whether that was possible and paid.

    It may go on over touches that save nothing: what is written back before one may stall for it.
    """
    if state.counts[IS_PRICED]:
        return _serve_by_price(facts, state, first, last)
    if uniform(state) < GO_ON:
        furthest = _idle_after(facts, state, last)
        last = furthest if uniform(state) < 0.5 else min(last + 1, furthest)
    if facts.may_be_kept[facts.group[first]] and state.counts[NUM_KEPT] < facts.max_kept:
        lead = 0.0 if uniform(state) < 0.5 else 1.5
        if _draft_fitting(facts, state, first, last, TOP_LEVEL, True, lead) and keep_if_better(
            facts, state
        ):
            return True
    home = common_level(facts, facts.time[first], facts.time[last])
    other = _outer_level(facts, state, home)
    if uniform(state) < 0.75:
        home, other = other, home
    lead = _some_lead(state)
    if _draft_fitting(facts, state, first, last, home, False, lead) and keep_if_better(
        facts, state
    ):
        return True
    if other == home:
        return False
    return _draft_fitting(facts, state, first, last, other, False, lead) and keep_if_better(
        facts, state
    )


@compiled
def _outer_level(facts: Facts, state: State, home: int) -> int:
    """Around all loops, or around some of those that `home` lies in."""
    if home == TOP_LEVEL or uniform(state) >= BETWEEN:
        return TOP_LEVEL
    level = facts.region_parent[home]
    while level != TOP_LEVEL and uniform(state) < 0.5:
        level = facts.region_parent[level]
    return int(level)


@compiled
def _serve_by_price(facts: Facts, state: State, first: int, last: int) -> bool:
    """Of the stays that could serve a run, keep what costs least with the price of its memory.

    Among them some that go on over touches that save nothing, see `serve_together`.
    """
    common = common_level(facts, facts.time[first], facts.time[last])
    state.chosen[GROUP], least_s = NONE, math.inf
    if facts.may_be_kept[facts.group[first]] and state.counts[NUM_KEPT] < facts.max_kept:
        for lead in (0.0, 1.5):
            least_s = _offer(facts, state, first, last, TOP_LEVEL, True, lead, least_s)
    for lead in (1.0, 0.5, 0.0):
        least_s = _offer(facts, state, first, last, common, False, lead, least_s)
    if common != TOP_LEVEL:
        for lead in (1.0, 0.0):
            least_s = _offer(facts, state, first, last, TOP_LEVEL, False, lead, least_s)
    further, furthest = last, _idle_after(facts, state, last)
    while further < furthest:
        further = last + 1 if further == last else furthest
        level = common_level(facts, facts.time[first], facts.time[further])
        least_s = _offer(facts, state, first, further, level, False, 1.0, least_s)
    if state.chosen[GROUP] == NONE:
        return False
    state.draft[:] = state.chosen
    add_draft(facts, state)
    return bool(settle(facts, state))


@compiled
def _idle_after(facts: Facts, state: State, last: int) -> int:
    """The last of the touches right behind that save nothing and that nothing serves yet."""
    end = facts.touch_first[facts.group[last] + 1]
    while (
        last + 1 < end
        and state.served_by[last + 1] == NONE
        and facts.may_be_fast[last + 1]
        and facts.saving_s[last + 1] <= 0
    ):
        last += 1
    return last


@compiled
def _offer(
    facts: Facts,
    state: State,
    first: int,
    last: int,
    home: int,
    is_kept: bool,
    lead: float,
    least_s: float,
) -> float:
    """Choose the stay if it pays and costs less than `least_s`; what then costs least."""
    if not _draft_fitting(facts, state, first, last, home, is_kept, lead):
        return least_s
    if keep_if_better(facts, state):
        start, end = max(0, state.draft[START]), state.draft[END]
        taken_s = state.price_s[end] - state.price_s[start]
        cost_s = objective(state) + facts.size[facts.group[first]] * taken_s
        if cost_s < least_s:
            least_s = cost_s
            state.chosen[:] = state.draft
        undo(facts, state, 1)
    return least_s


@compiled
def _some_lead(state: State) -> float:
    """How much of its work a copy's slots are to cover: mostly all, sometimes a stall is chosen."""
    chance = uniform(state)
    if chance < 0.65:
        return 1.0
    if chance < 0.8:
        return 1.5
    return uniform(state) if chance < 0.9 else 0.0


@compiled
def _draft_fitting(
    facts: Facts, state: State, first: int, last: int, home: int, is_kept: bool, lead: float
) -> bool:
    """A draft that fits; where it does not, shorter copies make its life shorter, by any share.

    By halves alone a copy would miss the slots right behind a loop through which it does not fit.
    """
    draft = state.draft
    if not outline(facts, state, first, last, home, is_kept):
        return False
    share = 1.0 if uniform(state) < 0.7 else 0.3
    lag = 1.0 if uniform(state) < 0.8 else 0.5
    for _ in range(3):
        if not time_copies(facts, state, lead, lag, share):
            return False
        if fits(facts, state, draft):
            return True
        if draft[NEED] == NONE or (draft[FETCH] == NONE and draft[WRITE_BACK] == NONE):
            return False
        less = uniform(state) if lead > 0.5 else 0.0
        lead, lag = less * lead, less * lag
    return False


@compiled
def keep_if_better(facts: Facts, state: State) -> bool:
    """Put the draft into the state; take it out again unless the objective falls."""
    before = objective(state)
    set_mark(state, 1)
    add_draft(facts, state)
    if settle(facts, state) and objective(state) < before:
        return True
    undo(facts, state, 1)
    return False
