"""One stay with given times and place, as an existing plan has it."""

from __future__ import annotations

from engine.program.model import TOP_LEVEL
from engine.solvers.local.compiled import compiled
from engine.solvers.local.drafts import outline, start_with_write, time_copies
from engine.solvers.local.facts import Facts
from engine.solvers.local.gaps import find_gaps
from engine.solvers.local.journal import set_mark
from engine.solvers.local.levels import interval_level, is_border, leave, write_back_level
from engine.solvers.local.state import (
    BACK,
    DUE,
    END,
    FETCH,
    GROUP,
    HOME,
    LAST,
    LIMIT,
    NEED,
    NONE,
    OFFSET,
    READY,
    SAVE,
    START,
    State,
)
from engine.solvers.local.stays import add_draft, undo
from engine.solvers.local.timeline import settle


@compiled
def load_stay(
    facts: Facts,
    state: State,
    first: int,
    last: int,
    offset: int,
    start: int,
    end: int,
    deadline: int,
    back: int,
) -> bool:
    """Put a stay for these touches into the state, with these times where they can be said.

    `deadline`: of its write-back, NONE without one; `back`: as the column of a stay. False, and
    nothing changed, where there is no such stay or its place is taken.
    """
    draft = state.draft
    home = interval_level(facts, start, end)
    if not outline(facts, state, first, last, home, start < 0):
        return False
    if not time_copies(facts, state, 0.0, 0.0, 1.0) and not time_copies(
        facts, state, 0.0, 1.0, 1.0
    ):
        return False
    _take_given_times(facts, state, start, deadline, back)
    size = facts.size[draft[GROUP]]
    for gap in range(find_gaps(facts, state, draft, size)):
        if state.gap_low[gap] <= offset and offset + size <= state.gap_high[gap]:
            draft[OFFSET] = offset
            set_mark(state, 1)
            add_draft(facts, state)
            if settle(facts, state):
                return True
            undo(facts, state, 1)
            return False
    return False


@compiled
def _take_given_times(facts: Facts, state: State, start: int, deadline: int, back: int) -> None:
    """Give the copies of a draft the times of a plan, where it can have them."""
    draft = state.draft
    home, need = draft[HOME], draft[NEED]
    is_fetched = draft[FETCH] != NONE and draft[READY] <= start < need
    is_at_home = interval_level(facts, start, need) == home
    if is_fetched and is_at_home and is_border(facts, home, start):
        draft[FETCH] = draft[START] = start
    if draft[SAVE] != NONE and draft[SAVE] <= deadline <= draft[LIMIT]:
        _take_deadline(facts, state, deadline)
    if need == NONE and back != NONE and facts.level[back] == TOP_LEVEL:
        ends = leave(facts, home, facts.time[draft[LAST]])
        if back > ends:
            draft[BACK], draft[END] = back, ends


@compiled
def _take_deadline(facts: Facts, state: State, deadline: int) -> None:
    """Give the draft's write-back this deadline, and its life what follows from it."""
    draft = state.draft
    home, due, start, end = draft[HOME], draft[DUE], draft[START], draft[END]
    draft[DUE] = deadline
    draft[END] = max(leave(facts, home, facts.time[draft[LAST]]), deadline)
    is_possible = is_border(facts, home, deadline) and (
        draft[FETCH] != NONE or start_with_write(facts, state, draft[END])
    )
    level = write_back_level(facts, draft[SAVE], deadline, draft[START])
    if not is_possible or level != home:
        draft[DUE], draft[START], draft[END] = due, start, end
