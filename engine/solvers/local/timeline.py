"""The timeline: the simulator of `engine.plan.simulate`, run anew only where something changed.

Every slot remembers which copies were under way when it began. A simulation starts at a slot that
has become stale and ends where the copies under way are again those that are remembered.
"""

from __future__ import annotations

from engine.plan.simulate import ROUNDING
from engine.solvers.local.arrays import Facts, sort
from engine.solvers.local.compiled import compiled
from engine.solvers.local.state import (
    COMPUTE_S,
    COPIES,
    FIRST,
    KINDS,
    MAX_PENDING,
    NONE,
    NUM_AGENDA,
    STALL_S,
    WRITING_BACK,
    State,
    note_queue,
    note_slot,
)

MARK_STEP, MARKS = 1_000_003, 2**31 - 1


@compiled
def forget_agenda(state: State) -> None:
    """Take back that slots are stale; none is afterwards."""
    for index in range(state.counts[NUM_AGENDA]):
        state.is_stale[state.agenda[index]] = False
    state.counts[NUM_AGENDA] = 0


@compiled
def settle(facts: Facts, state: State) -> bool:
    """Simulate what is stale. Answers False, with nonsense left, if the journal or queue is full.

    What was noted in the journal brings back the times before.
    """
    num = state.counts[NUM_AGENDA]
    sort(state.agenda, num)
    index = 0
    while index < num:
        time = state.agenda[index]
        if not state.is_stale[time]:
            index += 1
            continue
        if not _simulate_from(facts, state, time):
            forget_agenda(state)
            return False
    state.counts[NUM_AGENDA] = 0
    return True


@compiled
def _simulate_from(facts: Facts, state: State, time: int) -> bool:
    num = state.num_pending[time]
    for index in range(num):
        state.queue[index] = state.pending[time, index] % COPIES
        state.rest_s[index] = state.left_s[time, index]
    while True:
        if not note_slot(state, time):
            return False
        if state.is_stale[time]:
            state.is_stale[time] = False
            _take_times(facts, state, time)
        num = _pass_slot(facts, state, time, num)
        time += 1
        if num < 0 or time > facts.num_slots:
            return num >= 0
        is_known = _is_as_remembered(state, time, num)
        if is_known and not state.is_stale[time]:
            return True
        if not is_known and not _remember(state, time, num):
            return False


@compiled
def _take_times(facts: Facts, state: State, time: int) -> None:
    """`d_k` and `c_k` of `docs/model.md` for one slot."""
    if time == facts.num_slots:
        return
    duration_s, draw = facts.base_s[time], facts.base_draw[time]
    for position in range(facts.slot_first[time], facts.slot_first[time + 1]):
        touch = facts.slot_touch[position]
        if state.served_by[touch] == NONE:
            duration_s += facts.saving_s[touch]
            draw += facts.slow_bytes[touch]
    duration_s = max(duration_s, facts.floor_s[time])
    state.sums[COMPUTE_S] += duration_s - state.duration_s[time]
    state.duration_s[time] = duration_s
    state.idle_s[time] = max(0.0, duration_s - draw / facts.bandwidth)


@compiled
def _pass_slot(facts: Facts, state: State, time: int, num: int) -> int:
    """Await, start and serve copies; the number under way after the slot, or NONE: too many."""
    num = _start_copies(state, time, num, True)
    if num < 0:
        return num
    stall_s = 0.0
    while num > 0 and state.copy_end[state.queue[0]] == time:
        stall_s += _drain(state, num)
        num = _drop_finished(state, num)
    state.sums[STALL_S] += stall_s - state.stall_s[time]
    state.stall_s[time] = stall_s
    num = _start_copies(state, time, num, False)
    if num < 0 or time == facts.num_slots:
        return num
    used_s = 0.0
    while num > 0 and used_s < state.idle_s[time]:
        share_s = min(state.rest_s[0], state.idle_s[time] - used_s)
        used_s += share_s
        state.rest_s[0] -= share_s
        num = _drop_finished(state, num)
    state.used_s[time] = used_s
    return num


@compiled
def _start_copies(state: State, time: int, num: int, is_due: bool) -> int:
    """Queue the copies that start here, by deadline: those due at once, or the others."""
    copy = state.starting[time]
    while copy != NONE:
        if (state.copy_end[copy] == time) == is_due:
            if num == MAX_PENDING:
                return NONE
            at = num
            while at > 0 and is_before(state, copy, state.queue[at - 1]):
                state.queue[at] = state.queue[at - 1]
                state.rest_s[at] = state.rest_s[at - 1]
                at -= 1
            state.queue[at] = copy
            state.rest_s[at] = state.copy_work_s[copy]
            num += 1
        copy = state.next_copy[copy]
    return num


@compiled
def is_before(state: State, one: int, other: int) -> bool:
    """The order of service: by deadline, then by start, then by the first touch that is served."""
    if state.copy_end[one] != state.copy_end[other]:
        return state.copy_end[one] < state.copy_end[other]
    if state.copy_start[one] != state.copy_start[other]:
        return state.copy_start[one] < state.copy_start[other]
    return order_key(state, one) < order_key(state, other)


@compiled
def order_key(state: State, copy: int) -> int:
    """Decides between copies with equal slots; the same wherever the stay's row is."""
    return KINDS * state.stay[copy // KINDS, FIRST] + copy % KINDS


@compiled
def _drain(state: State, num: int) -> float:
    """Serve the heads of both directions until one of them is complete; seconds that it takes."""
    is_write_back = state.queue[0] % KINDS == WRITING_BACK
    other = 1
    while other < num and (state.queue[other] % KINDS == WRITING_BACK) == is_write_back:
        other += 1
    if other == num:
        share_s = state.rest_s[0]
        state.rest_s[0] = 0.0
        return share_s
    share_s = min(state.rest_s[0], state.rest_s[other])
    state.rest_s[0] -= share_s
    state.rest_s[other] -= share_s
    return 2 * share_s


@compiled
def _drop_finished(state: State, num: int) -> int:
    kept, queue, rest_s, work_s = 0, state.queue, state.rest_s, state.copy_work_s
    for index in range(num):
        copy, left_s = queue[index], rest_s[index]
        if left_s > ROUNDING * work_s[copy]:
            queue[kept], rest_s[kept] = copy, left_s
            kept += 1
    return kept


@compiled
def under_way(state: State, copy: int) -> int:
    """A copy's number, marked with its slots and rank.

    A stay's row, and with it the numbers of its copies, is used again: what is remembered under the
    same number may be a copy that was served in another order.
    """
    times = state.copy_end[copy] * MARK_STEP + state.copy_start[copy]
    return (times * MARK_STEP + order_key(state, copy)) % MARKS * COPIES + copy


@compiled
def _is_as_remembered(state: State, time: int, num: int) -> bool:
    if state.num_pending[time] != num:
        return False
    for index in range(num):
        if state.pending[time, index] != under_way(state, state.queue[index]):
            return False
        if state.left_s[time, index] != state.rest_s[index]:
            return False
    return True


@compiled
def _remember(state: State, time: int, num: int) -> bool:
    if not note_queue(state, time):
        return False
    state.num_pending[time] = num
    for index in range(num):
        state.pending[time, index] = under_way(state, state.queue[index])
        state.left_s[time, index] = state.rest_s[index]
    return True
