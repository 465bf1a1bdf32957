"""The journal: what a move changed, so that it can be undone without copies of the state.

Two marks can be set: mark 0 before a whole move, mark 1 before one attempt within it.
"""

from __future__ import annotations

from engine.solvers.local.compiled import compiled
from engine.solvers.local.state import (
    NUM_LOG,
    NUM_LOG_PENDING,
    NUM_LOG_QUEUES,
    NUM_LOG_SLOTS,
    STAMP,
    State,
)

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
