"""Where two plans of one program differ: touch by touch, and stay by stay.

Plans are aligned by alias group: a touch is the same touch in both, and a stay is compared with
the stays of its group in the other plan. Words as in `docs/model.md`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.program.model import Program, Touch

NO_STAY = -1


class Mark(IntEnum):
    """How a stay compares with the other plan's stays of its group."""

    SAME = 0
    MOVED = 1
    """The same slots at another address."""
    RETIMED = 2
    """The other plan has the group fast during some of these slots, but not exactly these."""
    ONLY_HERE = 3
    """The other plan has the group nowhere in these slots."""


class Source(StrEnum):
    """Where the content of a touch comes from."""

    SLOW = "slow memory"
    KEPT = "kept"
    PREFETCH = "prefetch"
    PREVIOUS_RUN = "previous run"
    MADE = "made there"


class Change(StrEnum):
    """What differs at a touch, most consequential first."""

    MEMORY = "memory"
    SOURCE = "source"
    COPY_TIME = "copy time"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True)
class Service:
    """How a plan serves a touch. `stay`: its index, or `NO_STAY` when slow memory serves.

    `copy`: the prefetch that brought the content for this touch, if one did.
    """

    source: Source
    stay: int = NO_STAY
    offset: int = -1
    copy: Copy | None = None

    @property
    def is_fast(self) -> bool:
        """Whether fast memory serves."""
        return self.source is not Source.SLOW


@dataclass(frozen=True, slots=True)
class TouchDifference:
    """A touch (index into `program.touches`) that the two plans serve differently."""

    touch: int
    time: int
    group: int
    change: Change
    first: Service
    second: Service


def marks(first: Plan, second: Plan) -> tuple[list[Mark], list[Mark]]:
    """One mark per stay of each plan, against the other plan."""
    return _marks(first.stays, second.stays), _marks(second.stays, first.stays)


def services(program: Program, plan: Plan) -> list[Service]:
    """How each touch of the program is served, in the order of `program.touches`."""
    stays = _by_group(plan)
    prefetches: dict[int, list[Copy]] = {}
    for copy in plan.copies:
        if copy.is_prefetch:
            prefetches.setdefault(copy.group, []).append(copy)
    last_time: dict[int, int] = {}
    served = []
    for touch in program.touches:
        service = Service(Source.SLOW)
        if plan.is_fast[touch.accesses[0]]:
            stay = _stay_at(plan, stays.get(touch.group, []), touch.time)
            if stay != NO_STAY:
                before = last_time.get(stay, BEFORE_START - 1)
                service = _service(plan, stay, touch, before, prefetches.get(touch.group, []))
                last_time[stay] = touch.time
        served.append(service)
    return served


def touch_differences(program: Program, first: Plan, second: Plan) -> list[TouchDifference]:
    """Every touch that is served differently, in schedule order."""
    pairs = zip(services(program, first), services(program, second), strict=True)
    differences = []
    for index, (one, other) in enumerate(pairs):
        change = _change(one, other)
        if change is not None:
            touch = program.touches[index]
            differences.append(TouchDifference(index, touch.time, touch.group, change, one, other))
    return differences


def first_divergence(
    program: Program, differences: Sequence[TouchDifference], least_s: float = 0.0
) -> TouchDifference | None:
    """The first touch at which the plans part; an address alone counts only if nothing else does.

    Touches with less than `least_s` to save are passed over, if others differ. None: the plans
    serve every touch alike.
    """
    deciding = [d for d in differences if d.change is not Change.ADDRESS]
    weighty = (d for d in deciding if program.touches[d.touch].saving_s >= least_s)
    return next(weighty, None) or next(iter([*deciding, *differences]), None)


def _marks(mine: Sequence[Stay], others: Sequence[Stay]) -> list[Mark]:
    of_group: dict[int, list[Stay]] = {}
    for stay in others:
        of_group.setdefault(stay.group, []).append(stay)
    return [_mark(stay, of_group.get(stay.group, [])) for stay in mine]


def _mark(stay: Stay, others: Sequence[Stay]) -> Mark:
    if stay in others:
        return Mark.SAME
    if any((o.start, o.end) == (stay.start, stay.end) for o in others):
        return Mark.MOVED
    if any(o.start < stay.end and stay.start < o.end for o in others):
        return Mark.RETIMED
    return Mark.ONLY_HERE


def _by_group(plan: Plan) -> dict[int, list[int]]:
    """Indices of the stays of each group, by start."""
    indices: dict[int, list[int]] = {}
    for index in sorted(range(len(plan.stays)), key=lambda i: plan.stays[i].start):
        indices.setdefault(plan.stays[index].group, []).append(index)
    return indices


def _stay_at(plan: Plan, indices: Sequence[int], time: int) -> int:
    place = bisect_right(indices, time, key=lambda i: plan.stays[i].start) - 1
    if place < 0 or plan.stays[indices[place]].end <= time:
        return NO_STAY
    return indices[place]


def _service(
    plan: Plan, index: int, touch: Touch, before: int, prefetches: Sequence[Copy]
) -> Service:
    """A fast touch in stay `index`, whose touch before this one was at slot `before`."""
    stay = plan.stays[index]
    arriving = [
        c for c in prefetches if max(before, stay.start - 1) < c.start and c.deadline <= touch.time
    ]
    if arriving and touch.reads:
        return Service(Source.PREFETCH, index, stay.offset, arriving[-1])
    if before >= BEFORE_START:
        return Service(Source.KEPT, index, stay.offset)
    if stay.start == BEFORE_START:
        return Service(Source.PREVIOUS_RUN, index, stay.offset)
    return Service(Source.MADE, index, stay.offset)


def _change(first: Service, second: Service) -> Change | None:
    if first.is_fast != second.is_fast:
        return Change.MEMORY
    if first.source is not second.source:
        return Change.SOURCE
    if first.copy != second.copy:
        return Change.COPY_TIME
    return Change.ADDRESS if first.offset != second.offset else None
