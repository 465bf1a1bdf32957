"""The referee: which rule of `docs/model.md` a plan breaks first, if any.

Written apart from everything that makes plans, for clarity before speed. A plan is judged in two
parts: where its stays lie (rules up to `alias`), and then, group by group, what each place holds
when the program runs. Loop bodies are walked until an iteration begins as an earlier one did, so
that what the first iteration leaves behind is seen by the second.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.plan.simulate import copy_level, enclosing_levels
from engine.program.io import content_hash
from engine.program.model import TOP_LEVEL, Program

RULES = (
    "wrong-program",
    "unknown-access",
    "capacity",
    "alignment",
    "reserved",
    "overlap",
    "alias",
    "liveness",
    "region",
    "copy-before-data",
    "copy-late",
    "live-out-lost",
)


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule (a name of `RULES`), and where: a slot and a group, if it has them."""

    rule: str
    message: str
    time: int | None = None
    group: int | None = None


def check(program: Program, plan: Plan) -> Violation | None:
    """The first rule in the order of `RULES` that the plan breaks, or None for a valid plan.

    Total over all integers in `plan`: nonsense is a violation, never an exception.
    """
    for rule in (_wrong_program, _unknown, _capacity, _alignment, _reserved, _overlap, _alias):
        for violation in rule(program, plan):
            return violation
    found = list(_cross_program(program, plan))
    for referee in _referees(program, plan):
        found += referee.violations()
    return min(found, key=lambda v: (RULES.index(v.rule), v.time or 0), default=None)


def _wrong_program(program: Program, plan: Plan) -> Iterator[Violation]:
    expected = content_hash(program)
    if plan.program_hash != expected:
        yield Violation(
            "wrong-program", f"the plan is for program {plan.program_hash}, this is {expected}"
        )


def _unknown(program: Program, plan: Plan) -> Iterator[Violation]:
    rule, slots, groups = "unknown-access", program.num_slots, range(len(program.groups))
    if len(plan.is_fast) != len(program.accesses):
        message = f"{len(plan.is_fast)} flags for {len(program.accesses)} accesses"
        yield Violation(rule, message)
    for stay in plan.stays:
        if stay.group not in groups or not BEFORE_START <= stay.start < stay.end <= slots:
            yield Violation(rule, f"{stay} names an unknown group or an impossible interval")
    for copy in plan.copies:
        if copy.group not in groups or not 0 <= copy.start <= copy.deadline <= slots:
            yield Violation(rule, f"{copy} names an unknown group or an impossible interval")


def _capacity(program: Program, plan: Plan) -> Iterator[Violation]:
    for stay in plan.stays:
        group = program.groups[stay.group]
        top = stay.offset + group.size_bytes
        if not group.may_be_fast:
            message = f"group {stay.group} may not live in fast memory"
            yield Violation("capacity", message, stay.start, stay.group)
        elif stay.offset < 0 or top > program.hardware.fast_bytes:
            message = f"bytes [{stay.offset}, {top}) are not all in the fast memory"
            yield Violation("capacity", message, stay.start, stay.group)


def _alignment(program: Program, plan: Plan) -> Iterator[Violation]:
    for stay in plan.stays:
        if stay.offset % program.hardware.alignment:
            message = f"offset {stay.offset} is no multiple of {program.hardware.alignment}"
            yield Violation("alignment", message, stay.start, stay.group)


def _reserved(program: Program, plan: Plan) -> Iterator[Violation]:
    reserved = np.array([i.reserved_bytes for i in program.instructions], dtype=np.int64)
    for stay in plan.stays:
        first = max(0, stay.start)
        hit = reserved[first : stay.end] > stay.offset
        if program.groups[stay.group].size_bytes > 0 and hit.any():
            time = first + int(hit.argmax())
            message = f"offset {stay.offset} lies in the {reserved[time]} bytes of scratch"
            yield Violation("reserved", f"{message} of instruction {time}", time, stay.group)


def _overlap(program: Program, plan: Plan) -> Iterator[Violation]:
    """Every stay against all that begin no earlier and before its end.

    Two stays of one group at one slot count too: the group has one place, and a copy or a touch
    could not say which it means.
    """
    stays = sorted(plan.stays, key=lambda s: s.start)
    group = np.array([s.group for s in stays], dtype=np.int64)
    start = np.array([s.start for s in stays], dtype=np.int64)
    low = np.array([s.offset for s in stays], dtype=np.int64)
    size = np.array([program.groups[s.group].size_bytes for s in stays], dtype=np.int64)
    high = low + size
    for index, stay in enumerate(stays):
        later = slice(index + 1, int(np.searchsorted(start, stay.end)))
        shares = (low[later] < high[index]) & (low[index] < high[later])
        clash = shares & (size[later] > 0) & bool(size[index] > 0)
        clash |= group[later] == stay.group
        if clash.any():
            other = stays[index + 1 + int(clash.argmax())]
            message = f"group {stay.group} at {stay.offset} meets group {other.group}"
            message = f"{message} at {other.offset} in slot {other.start}"
            yield Violation("overlap", message, other.start, stay.group)


def _alias(program: Program, plan: Plan) -> Iterator[Violation]:
    for touch in program.touches:
        if len({bool(plan.is_fast[index]) for index in touch.accesses}) > 1:
            message = f"instruction {touch.time} touches group {touch.group} in both memories"
            yield Violation("alias", message, touch.time, touch.group)


def _cross_program(program: Program, plan: Plan) -> Iterator[Violation]:
    """Stays from before the start: few, of unwritten inputs, and there again at the end."""
    early = [stay for stay in plan.stays if stay.start == BEFORE_START]
    limit = program.hardware.max_cross_program_prefetches
    if len(early) > limit:
        message = f"{len(early)} cross-program prefetches, allowed are {limit}"
        yield Violation("liveness", message, BEFORE_START)
    for stay in early:
        group = program.groups[stay.group]
        if not group.is_input or group.is_written:
            message = f"group {stay.group} is no unwritten input, but is there from the start"
            yield Violation("liveness", message, BEFORE_START, stay.group)
        elif stay.end < program.num_slots and not _is_brought_back(program, plan, stay):
            message = f"nothing brings group {stay.group} back to {stay.offset} by the end"
            yield Violation("liveness", message, stay.end, stay.group)


def _is_brought_back(program: Program, plan: Plan, early: Stay) -> bool:
    end = program.num_slots
    back = [s.start for s in plan.stays if s == replace(early, start=s.start, end=end)]
    return any(
        copy.group == early.group
        and copy.is_prefetch
        and copy.deadline == end
        and copy.start >= start
        for copy in plan.copies
        for start in back
    )


def _referees(program: Program, plan: Plan) -> Iterator[_GroupReferee]:
    stays: list[list[Stay]] = [[] for _ in program.groups]
    copies: list[list[Copy]] = [[] for _ in program.groups]
    for stay in sorted(plan.stays, key=lambda s: s.start):
        stays[stay.group].append(stay)
    for copy in plan.copies:
        copies[copy.group].append(copy)
    sinks: list[list[int]] = [[] for _ in program.groups]
    for index, sink in enumerate(program.sinks):
        sinks[sink.group].append(index)
    for group in range(len(program.groups)):
        yield _GroupReferee(program, plan, group, stays[group], copies[group], sinks[group])


class _Moment(IntEnum):
    """What can happen between slot `t - 1` and the end of slot `t`, in this order."""

    DEADLINE = 0
    EMPTY_WRITE_BACK = 1
    SINK = 2
    STAY = 3
    EMPTY_PREFETCH = 4
    COPY = 5
    TOUCH = 6
    REGION = 7


@dataclass(frozen=True, slots=True)
class _State:
    """Where a group's content is: in which stay, in slow memory or not; and copies under way."""

    stay: int | None
    is_slow_valid: bool
    under_way: frozenset[int] = frozenset()


class _GroupReferee:
    """Judges one group: walks its touches, copies and sinks, and notes what is violated."""

    def __init__(
        self,
        program: Program,
        plan: Plan,
        group: int,
        stays: list[Stay],
        copies: list[Copy],
        sinks: list[int],
    ) -> None:
        self._program, self._plan, self._group = program, plan, group
        self._stays, self._copies, self._sinks = stays, copies, sinks
        self._starts = [stay.start for stay in stays]
        self._stay_of_copy = [self._find_stay_of_copy(copy) for copy in copies]
        self._levels = [copy_level(program, copy, stays) for copy in copies]
        self._found: dict[Violation, None] = {}
        self._events: dict[int, list[tuple[int, _Moment, int]]] = {TOP_LEVEL: []}
        self._exits: dict[tuple[int, _State], _State] = {}

    def violations(self) -> list[Violation]:
        """All that this group's part of the plan violates, from `liveness` on."""
        self._judge_stays()
        self._judge_regions()
        self._list_events()
        self._walk(TOP_LEVEL, self._first_state())
        return list(self._found)

    def _note(self, rule: str, message: str, time: int) -> None:
        message = f"group {self._group}, slot {time}: {message}"
        self._found[Violation(rule, message, time, self._group)] = None

    def _stay_at(self, time: int) -> int | None:
        """The stay that holds slot `time`."""
        index = bisect_right(self._starts, time) - 1
        return index if index >= 0 and time < self._stays[index].end else None

    def _find_stay_of_copy(self, copy: Copy) -> int | None:
        """The stay that a copy lies in; a write-back without slots may end its stay."""
        is_empty_write_back = copy.start == copy.deadline and not copy.is_prefetch
        find = bisect_left if is_empty_write_back else bisect_right
        index = find(self._starts, copy.start) - 1
        return index if index >= 0 and copy.deadline <= self._stays[index].end else None

    def _judge_stays(self) -> None:
        values = self._program.groups[self._group].values
        first = min(self._program.values[v].defined for v in values)
        for stay in self._stays:
            if stay.start < first:
                self._note(
                    "liveness", f"a stay begins before instruction {first} defines it", first
                )

    def _judge_regions(self) -> None:
        program = self._program
        for stay in self._stays:
            level = program.level_at(stay.start)
            if stay.end > program.level_end(level):
                self._note("region", "a stay outlives the region in which it begins", stay.start)
        for copy, level, index in zip(self._copies, self._levels, self._stay_of_copy, strict=True):
            if copy.deadline != program.level_end(program.level_at(copy.start)) and (
                program.level_at(copy.deadline) != program.level_at(copy.start)
            ):
                self._note("region", "a copy starts and ends at different levels", copy.start)
            self._judge_cover(index, level, copy.start)
        for touch_index in program.touches_of_group[self._group]:
            touch = program.touches[touch_index]
            if self._plan.is_fast[touch.accesses[0]]:
                level = program.level_at(touch.time)
                self._judge_cover(self._stay_at(touch.time), level, touch.time)

    def _judge_cover(self, index: int | None, level: int, time: int) -> None:
        """A stay from before a region that is used in it must cover it, in every iteration."""
        while index is not None and level != TOP_LEVEL:
            region = self._program.regions[level]
            if self._stays[index].start < region.start and self._stays[index].end < region.end:
                self._note("region", f"a stay from before region {level} ends inside it", time)
            level = region.parent

    def _list_events(self) -> None:
        program = self._program
        for index, stay in enumerate(self._stays):
            if stay.start != BEFORE_START:
                self._add_event(program.level_at(stay.start), stay.start, _Moment.STAY, index)
        for index, (copy, level) in enumerate(zip(self._copies, self._levels, strict=True)):
            if copy.start < copy.deadline:
                self._add_event(level, copy.start, _Moment.COPY, index)
                self._add_event(level, copy.deadline, _Moment.DEADLINE, index)
            elif copy.is_prefetch:
                self._add_event(level, copy.start, _Moment.EMPTY_PREFETCH, index)
            else:
                self._add_event(level, copy.start, _Moment.EMPTY_WRITE_BACK, index)
        for index in program.touches_of_group[self._group]:
            time = program.touches[index].time
            self._add_event(program.level_at(time), time, _Moment.TOUCH, index)
        for index in self._sinks:
            sink = program.sinks[index]
            self._add_event(sink.region, sink.time, _Moment.SINK, index)
        for events in self._events.values():
            events.sort()

    def _add_event(self, level: int, time: int, moment: _Moment, index: int) -> None:
        if level not in self._events:
            self._events[level] = []
            region = self._program.regions[level]
            self._add_event(region.parent, region.start, _Moment.REGION, level)
        self._events[level].append((time, moment, index))

    def _first_state(self) -> _State:
        """Inputs and constants are in slow memory; so is whatever is read before any write."""
        touches = self._program.touches_of_group[self._group]
        is_made_here = bool(touches) and not self._program.touches[touches[0]].reads
        is_input = self._program.groups[self._group].is_input
        return _State(self._stay_at(BEFORE_START), is_input or not is_made_here)

    def _walk(self, level: int, state: _State) -> _State:
        """Pass once through the code of a level; returns the state at its end."""
        for time, moment, index in self._events[level]:
            if moment is _Moment.REGION:
                state = self._loop(index, state)
            elif moment is _Moment.SINK:
                self._judge_sink(index, state)
            elif moment is _Moment.STAY:
                state = replace(state, stay=None) if state.stay == index else state
            elif moment is _Moment.TOUCH:
                state = self._touch(index, state)
            elif moment is _Moment.DEADLINE:
                state = self._complete_copy(index, state)
            else:
                state = self._start_copy(index, time, state)
                if moment is not _Moment.COPY:
                    state = self._complete_copy(index, state)
        return state

    def _loop(self, region: int, state: _State) -> _State:
        seen: set[_State] = set()
        while state not in seen:
            seen.add(state)
            if (region, state) not in self._exits:
                self._exits[region, state] = self._walk(region, state)
            state = self._exits[region, state]
        return state

    def _start_copy(self, index: int, time: int, state: _State) -> _State:
        copy, stay = self._copies[index], self._stay_of_copy[index]
        if stay is None:
            self._note("copy-before-data", "no stay holds its place while it is copied", time)
        elif copy.is_prefetch and not state.is_slow_valid:
            self._note("copy-before-data", "a prefetch starts before slow memory has it", time)
        elif not copy.is_prefetch and state.stay != stay:
            self._note("copy-before-data", "a write-back starts without content", time)
        return replace(state, under_way=state.under_way | {index})

    def _complete_copy(self, index: int, state: _State) -> _State:
        under_way = state.under_way - {index}
        if self._copies[index].is_prefetch:
            return _State(self._stay_of_copy[index], state.is_slow_valid, under_way)
        return _State(state.stay, True, under_way)

    def _touch(self, index: int, state: _State) -> _State:
        touch = self._program.touches[index]
        if touch.writes and state.under_way:
            self._note("copy-before-data", "it is written while it is copied", touch.time)
        if not self._plan.is_fast[touch.accesses[0]]:
            if touch.reads and not state.is_slow_valid:
                message = "a slow read, but no write-back has brought slow memory up to date"
                self._note("copy-late", message, touch.time)
            return _State(None, True, state.under_way) if touch.writes else state
        stay = self._stay_at(touch.time)
        if stay is None:
            self._note("liveness", "a fast access outside the stays", touch.time)
        elif touch.reads and state.stay != stay:
            self._judge_missing_content(stay, touch.time, state)
        return _State(stay, False, state.under_way) if touch.writes else state

    def _judge_missing_content(self, stay: int, time: int, state: _State) -> None:
        is_coming = any(
            self._copies[i].is_prefetch and self._stay_of_copy[i] == stay for i in state.under_way
        )
        if is_coming:
            self._note("copy-late", "a fast read before the deadline of its prefetch", time)
        else:
            self._note("liveness", "a fast read of a stay that has no content", time)

    def _judge_sink(self, index: int, state: _State) -> None:
        sink = self._program.sinks[index]
        is_carried_in_place = (
            sink.region != TOP_LEVEL
            and state.stay is not None
            and self._stays[state.stay].start < self._program.regions[sink.region].start
        )
        if not (state.is_slow_valid or is_carried_in_place):
            message = "slow memory does not hold what later code needs"
            self._note("live-out-lost", message, sink.time)
