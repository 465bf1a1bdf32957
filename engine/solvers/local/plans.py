"""Plans made of the state's stays, and stays made of any plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.plan.model import Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import TOP_LEVEL, Program
from engine.solvers.local.arrays import (
    Facts,
    Ints,
    free_from,
    interval_level,
    is_border,
    write_back_level,
)
from engine.solvers.local.compiled import Code, compiled, interpreted
from engine.solvers.local.packing import Life, pack
from engine.solvers.local.recreate import outline, start_with_write, time_copies
from engine.solvers.local.state import (
    BACK,
    DUE,
    END,
    FETCH,
    FIRST,
    GROUP,
    HOME,
    KINDS,
    LAST,
    LIMIT,
    NEED,
    NONE,
    NUM_STAYS,
    READY,
    RETURNING,
    START,
    WRITE_BACK,
    WRITING_BACK,
    State,
    set_mark,
)
from engine.solvers.local.stays import add_draft, fits, undo
from engine.solvers.local.timeline import settle


@compiled
def load_stay(
    facts: Facts,
    state: State,
    first: int,
    last: int,
    start: int,
    end: int,
    deadline: int,
    back: int,
) -> bool:
    """Put a stay for these touches into the state, with these times where they can be said.

    `deadline`: of its write-back, NONE without one; `back`: as the column of a stay. False, and
    nothing changed, where there is no such stay or no room for it.
    """
    draft = state.draft
    home = interval_level(facts, start, end)
    while end > facts.region_end[home]:
        # It outlasts the branch in which it begins.
        home = facts.region_parent[home]
    if not outline(facts, state, first, last, home, start < 0):
        return False
    if not time_copies(facts, state, 0.0, 0.0, 1.0) and not time_copies(
        facts, state, 0.0, 1.0, 1.0
    ):
        return False
    _take_given_times(facts, state, start, deadline, back)
    if not fits(facts, state, draft):
        return False
    set_mark(state, 1)
    add_draft(facts, state)
    if settle(facts, state):
        return True
    undo(facts, state, 1)
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
    if draft[WRITE_BACK] != NONE and draft[WRITE_BACK] <= deadline <= draft[LIMIT]:
        _take_deadline(facts, state, deadline)
    if need == NONE and back != NONE and facts.level[back] == TOP_LEVEL:
        ends = free_from(facts, home, draft[FIRST], draft[LAST])
        if back > ends:
            draft[BACK], draft[END] = back, ends


@compiled
def _take_deadline(facts: Facts, state: State, deadline: int) -> None:
    """Give the draft's write-back this deadline, and its life what follows from it."""
    draft = state.draft
    home, due, start, end = draft[HOME], draft[DUE], draft[START], draft[END]
    draft[DUE] = deadline
    draft[END] = max(free_from(facts, home, draft[FIRST], draft[LAST]), deadline)
    is_possible = is_border(facts, home, deadline) and (
        draft[FETCH] != NONE or start_with_write(facts, state, draft[END])
    )
    level = write_back_level(facts, draft[WRITE_BACK], deadline, draft[START])
    if not is_possible or level != home:
        draft[DUE], draft[START], draft[END] = due, start, end


Places = Mapping[tuple[int, int], int]
"""The first granule of a stay, by its group and the first touch that it serves."""


def key_of(stay: Ints) -> tuple[int, int]:
    """The key of a stay among places."""
    return int(stay[GROUP]), int(stay[FIRST])


def spans_of(facts: Facts, stay: Ints) -> tuple[tuple[int, int], ...]:
    """The slots in which a stay has its place; what is there from before the start has slot -1."""
    spans = [(int(stay[START]), int(stay[END]))]
    if stay[BACK] != NONE:
        spans.append((int(stay[BACK]), facts.num_slots))
    return tuple(spans)


def place_stays(
    facts: Facts, stays: Sequence[Ints], hints: Places, code: Code = interpreted
) -> dict[tuple[int, int], int]:
    """Places for the stays; those that found none are missing. `hints`: what they had before."""
    lives = [_life(facts, stay, hints.get(key_of(stay))) for stay in stays]
    places = pack(lives, facts.capacity, code)
    return {
        key_of(stay): place for stay, place in zip(stays, places, strict=True) if place is not None
    }


def _life(facts: Facts, stay: Ints, hint: int | None) -> Life:
    spans = spans_of(facts, stay)
    return Life(
        spans=spans,
        size=int(facts.size[stay[GROUP]]),
        lowest=max(
            (int(facts.reserved[max(a, 0) : b].max()) for a, b in spans if max(a, 0) < b), default=0
        ),
        worth_s=float(facts.saving_s[stay[FIRST] : stay[LAST] + 1].sum()),
        hint=hint,
    )


def to_plan(
    program: Program,
    facts: Facts,
    stays: Iterable[Ints],
    places: Places,
    notes: Mapping[str, Any],
) -> Plan:
    """The plan of these stays; copies in the order of service (`timeline.is_before`)."""
    is_fast = [False] * len(program.accesses)
    listed: list[Stay] = []
    copies: list[tuple[int, int, int, Copy]] = []
    for stay in stays:
        offset = places[key_of(stay)] * program.hardware.alignment
        group = int(facts.number[stay[GROUP]])
        listed += [Stay(group, offset, start, end) for start, end in spans_of(facts, stay)]
        number = int(facts.number[stay[GROUP]])
        for kind, start, end in _copies(program, stay):
            copy = Copy(number, kind != WRITING_BACK, start, end)
            copies.append((end, start, KINDS * int(stay[FIRST]) + kind, copy))
        for touch in range(stay[FIRST], stay[LAST] + 1):
            for access in program.touches[facts.touch_index[touch]].accesses:
                is_fast[access] = True
    listed.sort(key=lambda s: (s.start, s.offset, s.end))
    copies.sort(key=lambda c: c[:3])
    served = tuple(c[3] for c in copies)
    return Plan(content_hash(program), "local", tuple(is_fast), tuple(listed), served, notes)


def present_stays(state: State) -> list[Ints]:
    """The stays in use."""
    return [state.stay[row].copy() for row in state.listed[: state.counts[NUM_STAYS]]]


def _copies(program: Program, stay: Ints) -> list[tuple[int, int, int]]:
    copies = []
    if stay[FETCH] != NONE:
        copies.append((0, int(stay[FETCH]), int(stay[NEED])))
    if stay[WRITE_BACK] != NONE:
        copies.append((WRITING_BACK, int(stay[WRITE_BACK]), int(stay[DUE])))
    if stay[BACK] != NONE:
        copies.append((RETURNING, int(stay[BACK]), program.num_slots))
    return copies


def load_plan(
    program: Program, facts: Facts, code: Code, handles: tuple[Facts, State], plan: Plan
) -> dict[tuple[int, int], int]:
    """Put the stays of a valid plan into an empty state, as near as the search can say them.

    `handles` are what the code takes. A stay serves all touches from its first to its last fast
    one; one that the search cannot say is left out, and its touches are slow. Returns the plan's
    places.
    """
    places: dict[tuple[int, int], int] = {}
    row_of = {int(index): position for position, index in enumerate(facts.touch_index)}
    fast = _fast_touches(program, plan)
    copies: dict[int, list[Copy]] = {}
    for copy in plan.copies:
        copies.setdefault(copy.group, []).append(copy)
    for stay in sorted(plan.stays, key=lambda s: (s.start, s.group)):
        touches = [row_of[i] for i in fast.get(stay.group, ()) if i in row_of]
        inside = [i for i in touches if stay.start <= facts.time[i] < stay.end]
        if not inside:
            continue
        code(set_mark)(handles[1], 0)
        code(load_stay)(
            *handles,
            inside[0],
            inside[-1],
            stay.start,
            stay.end,
            _deadline(copies.get(stay.group, ()), stay),
            _return_start(program, plan, stay),
        )
        first = int(facts.group[inside[0]]), inside[0]
        places.setdefault(first, stay.offset // program.hardware.alignment)
    return places


def _fast_touches(program: Program, plan: Plan) -> dict[int, list[int]]:
    """The touches that the plan serves from fast memory, by group, in time order."""
    fast: dict[int, list[int]] = {}
    for index, touch in enumerate(program.touches):
        if plan.is_fast[touch.accesses[0]]:
            fast.setdefault(touch.group, []).append(index)
    return fast


def _deadline(copies: Iterable[Copy], stay: Stay) -> int:
    """When the last write-back of a stay must be complete; NONE without one."""
    inside = (
        c.deadline
        for c in copies
        if not c.is_prefetch and stay.start <= c.start and c.deadline <= stay.end
    )
    return max(inside, default=NONE)


def _return_start(program: Program, plan: Plan, stay: Stay) -> int:
    """Where the copy starts that brings a kept input back by the end; NONE without one."""
    if stay.start >= 0 or stay.end == program.num_slots:
        return NONE
    end = program.num_slots
    later = (s.start for s in plan.stays if s.group == stay.group and s.end == end)
    return max(later, default=NONE)
