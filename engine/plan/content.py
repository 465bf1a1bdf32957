"""Content: what a group's stays and its slow copy hold while the program runs.

The rules of `docs/model.md` from `liveness` on, one group at a time. A loop body is walked until
its entry state repeats, so that each iteration starts from what the previous one left.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum

from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.plan.simulate import copy_level, level_of_interval
from engine.plan.violation import Violation
from engine.program.model import TOP_LEVEL, Program, Touch


@dataclass
class _Part:
    """What a plan says about one group: stays by start, copies in plan order, sinks by index."""

    stays: list[Stay] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    sinks: list[int] = field(default_factory=list)


def content_violations(program: Program, plan: Plan) -> Iterator[Violation]:
    """All violations of the rules about content, in a plan whose places are in order."""
    parts = [_Part() for _ in program.groups]
    for stay in sorted(plan.stays, key=lambda s: s.start):
        parts[stay.group].stays.append(stay)
    for copy in plan.copies:
        parts[copy.group].copies.append(copy)
    for index, sink in enumerate(program.sinks):
        parts[sink.group].sinks.append(index)
    for group, part in enumerate(parts):
        yield from _GroupReferee(program, plan, group, part).violations()


class _Moment(IntEnum):
    """What can happen between slot `t - 1` and the end of slot `t`, in this order."""

    DONE = 0
    DEADLINE = 1
    EMPTY_WRITE_BACK = 2
    SINK = 3
    STAY = 4
    EMPTY_PREFETCH = 5
    COPY = 6
    TOUCH = 7
    REGION = 8


@dataclass(frozen=True, slots=True)
class _State:
    """Where a group's content is: in which stay, in slow memory or not; and copies under way."""

    stay: int | None
    is_slow_valid: bool
    under_way: frozenset[int] = frozenset()


class _GroupReferee:
    """Judges one group: walks its touches, copies and sinks, and notes what is violated."""

    def __init__(self, program: Program, plan: Plan, group: int, part: _Part) -> None:
        self._program, self._plan, self._group = program, plan, group
        self._stays, self._copies, self._sinks = part.stays, part.copies, part.sinks
        self._starts = [stay.start for stay in part.stays]
        self._stay_of_copy = [self._find_stay_of_copy(copy) for copy in part.copies]
        self._levels = [copy_level(program, copy, part.stays) for copy in part.copies]
        self._violations: dict[Violation, None] = {}
        self._events: dict[int, list[tuple[int, _Moment, int]]] = {TOP_LEVEL: []}
        self._exits: dict[tuple[int, _State], _State] = {}

    def violations(self) -> list[Violation]:
        """All that this group's part of the plan violates, from `liveness` on."""
        self._judge_stays()
        self._judge_regions()
        self._list_events()
        self._walk(TOP_LEVEL, self._first_state())
        return list(self._violations)

    def _note(self, rule: str, message: str, time: int) -> None:
        message = f"group {self._group}, slot {time}: {message}"
        self._violations[Violation(rule, message, time, self._group)] = None

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
            level = program.loop_around(level_of_interval(program, stay.start, stay.end))
            if stay.end > program.level_end(level):
                self._note("region", "a stay outlives the loop in which it begins", stay.start)
        for copy, level, index in zip(self._copies, self._levels, self._stay_of_copy, strict=True):
            is_empty = copy.start == copy.deadline
            if not (is_empty or program.ends_at_level(copy.start, copy.deadline, level)):
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
                level = level_of_interval(program, stay.start, stay.end)
                self._add_event(level, stay.start, _Moment.STAY, index)
        for index, (copy, level) in enumerate(zip(self._copies, self._levels, strict=True)):
            if copy.start < copy.deadline:
                self._add_event(level, copy.start, _Moment.COPY, index)
                self._add_event(level, copy.deadline, _Moment.DEADLINE, index)
            elif copy.is_prefetch:
                self._add_event(level, copy.start, _Moment.EMPTY_PREFETCH, index)
            else:
                self._add_event(level, copy.start, _Moment.EMPTY_WRITE_BACK, index)
        for index in program.touches_of_group[self._group]:
            touch = program.touches[index]
            level = program.level_at(touch.time)
            self._add_event(level, touch.time, _Moment.TOUCH, index)
            if touch.is_in_flight:
                self._add_event(level, touch.end, _Moment.DONE, index)
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
            elif moment is _Moment.DONE:
                state = self._written(index, state)
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
        else:
            self._judge_fast(touch, state)
        if touch.writes and touch.is_in_flight:
            # Until it is done the content is nowhere.
            return _State(None, False, state.under_way)
        return self._written(index, state)

    def _judge_fast(self, touch: Touch, state: _State) -> None:
        """A fast access needs a stay, with the content if it reads, and up to its end."""
        stay = self._stay_at(touch.time)
        if stay is None:
            self._note("liveness", "a fast access outside the stays", touch.time)
            return
        if touch.reads and state.stay != stay:
            self._judge_missing_content(stay, touch.time, state)
        if self._stays[stay].end < touch.end:
            message = f"an access in flight until slot {touch.end} loses its place"
            self._note("in-flight", message, self._stays[stay].end)

    def _written(self, index: int, state: _State) -> _State:
        """The state once a touch is over: where it wrote, the new content is."""
        touch = self._program.touches[index]
        if not touch.writes:
            return state
        if self._plan.is_fast[touch.accesses[0]]:
            return _State(self._stay_at(touch.time), False, state.under_way)
        return _State(None, True, state.under_way)

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
            and self._keeps_past(self._stays[state.stay], sink.region)
        )
        if not (state.is_slow_valid or is_carried_in_place):
            message = "slow memory does not hold what later code needs"
            self._note("live-out-lost", message, sink.time)

    def _keeps_past(self, stay: Stay, number: int) -> bool:
        """Whether a stay keeps content past the end of a region.

        Past a loop if it begins before that, or with it and outlasts it; past a branch if it
        outlasts that.
        """
        region = self._program.regions[number]
        outlasts = stay.end > region.end
        return stay.start < region.start or (
            outlasts and (region.kind == "branch" or stay.start == region.start)
        )
