"""Recreate: runs of touches that slow memory serves get stays, one by one, where that pays."""

from __future__ import annotations

from engine.program.model import TOP_LEVEL
from engine.solvers.local.chance import below, uniform
from engine.solvers.local.compiled import compiled
from engine.solvers.local.drafts import outline, time_copies
from engine.solvers.local.facts import Facts
from engine.solvers.local.gaps import choose_offset, find_gaps
from engine.solvers.local.journal import has_room, set_mark
from engine.solvers.local.levels import common_level
from engine.solvers.local.state import (
    COMPUTE_S,
    FETCH,
    GROUP,
    NEED,
    NONE,
    NUM_KEPT,
    OFFSET,
    SAVE,
    STALL_S,
    WORK_S,
    State,
)
from engine.solvers.local.stays import add_draft, undo
from engine.solvers.local.timeline import settle

COPY_PRICE = 1e-3
"""Seconds that a second of copying counts: a hair, so that of equal plans the one that copies
less wins, and idle time is left for others."""

CUT_FIRST = 0.1
"""How often a run is cut anywhere before it is tried whole: short stays may pay more."""

MAX_ATTEMPTS = 12
"""Stays tried for one run of touches before what is left of it stays slow."""


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
    """Serve a run by one stay, at the level that suits it; whether that was possible and paid."""
    if facts.may_be_kept[facts.group[first]] and state.counts[NUM_KEPT] < facts.max_kept:
        lead = 0.0 if uniform(state) < 0.5 else 1.5
        if _draft_place(facts, state, first, last, TOP_LEVEL, True, lead) and keep_if_better(
            facts, state
        ):
            return True
    home = common_level(facts, facts.time[first], facts.time[last])
    other = TOP_LEVEL
    if uniform(state) < 0.75:
        home, other = other, home
    lead = _some_lead(state)
    if _draft_place(facts, state, first, last, home, False, lead) and keep_if_better(facts, state):
        return True
    if other == home:
        return False
    return _draft_place(facts, state, first, last, other, False, lead) and keep_if_better(
        facts, state
    )


@compiled
def _some_lead(state: State) -> float:
    """How much of its work a copy's slots are to cover: mostly all, sometimes a stall is chosen."""
    chance = uniform(state)
    if chance < 0.65:
        return 1.0
    if chance < 0.8:
        return 1.5
    return 0.5 if chance < 0.9 else 0.0


@compiled
def _draft_place(
    facts: Facts, state: State, first: int, last: int, home: int, is_kept: bool, lead: float
) -> bool:
    """A draft with an offset; where no place is found, shorter copies make its life shorter."""
    draft = state.draft
    if not outline(facts, state, first, last, home, is_kept):
        return False
    share = 1.0 if uniform(state) < 0.7 else 0.3
    lag = 1.0 if uniform(state) < 0.8 else 0.5
    size = facts.size[draft[GROUP]]
    for _ in range(3):
        if not time_copies(facts, state, lead, lag, share):
            return False
        num = find_gaps(facts, state, draft, size)
        if num > 0:
            draft[OFFSET] = choose_offset(state, num, size)
            return True
        if draft[NEED] == NONE or (draft[FETCH] == NONE and draft[SAVE] == NONE):
            return False
        lead, lag = (0.5 * lead, 0.5 * lag) if lead > 0.5 else (0.0, 0.0)
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
