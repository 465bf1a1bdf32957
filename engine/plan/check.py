"""The checker: which rule of `docs/model.md` a plan breaks first, if any.

Written apart from everything that makes plans or times them, for clarity before speed. First come
the rules on where stays lie, then those on what stays and slow memory hold, one group at a time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from engine.plan.levels import copy_level, level_of_interval
from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import TOP_LEVEL, Conditional, Program, Touch

RULES = (
    "wrong-program",
    "unknown-access",
    "capacity",
    "alignment",
    "reserved",
    "overlap",
    "alias",
    "must-be-slow",
    "liveness",
    "in-flight",
    "region",
    "copy-before-data",
    "copy-late",
    "live-out-lost",
)


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule (a name of `RULES`), and where: a slot and a group, if it has them.

    >>> from engine.plan.model import Plan
    >>> from engine.program.library import load_sample
    >>> violation = check(load_sample("teach-prefetch"), Plan("", "mine", (), (), ()))
    >>> violation.rule, violation.rule in RULES
    ('wrong-program', True)
    """

    rule: str
    message: str
    time: int | None = None
    group: int | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What the checker says of a plan. As a condition it is true for a valid plan.

    `violation`: the first rule that is broken, None for a valid plan.

    >>> print(CheckResult(None), bool(CheckResult(None)))
    valid True
    >>> broken = CheckResult(Violation("overlap", "bytes of two groups", 3))
    >>> print(broken, broken.is_valid)
    breaks overlap: bytes of two groups False
    """

    violation: Violation | None

    @property
    def is_valid(self) -> bool:
        """Whether no rule is broken."""
        return self.violation is None

    def __bool__(self) -> bool:
        return self.is_valid

    def __str__(self) -> str:
        broken = self.violation
        return "valid" if broken is None else f"breaks {broken.rule}: {broken.message}"


def check(program: Program, plan: Plan) -> Violation | None:
    """The first rule in the order of `RULES` that the plan breaks, or None for a valid plan.

    Accepts any integers in `plan`: an impossible value is a violation, never an exception.

    >>> from engine.program.library import load_sample
    >>> from engine.solvers import solve
    >>> program = load_sample("teach-prefetch")
    >>> plan = solve("greedy", program)
    >>> check(program, plan) is None
    True
    >>> check(load_sample("teach-keep-or-drop"), plan).rule
    'wrong-program'
    """
    for rule in _RULES_BEFORE_CONTENT:
        for violation in rule(program, plan):
            return violation
    violations = [*_cross_program(program, plan), *_content(program, plan)]
    return min(violations, key=lambda v: (RULES.index(v.rule), v.time or 0), default=None)


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
            message = f"group {stay.group} at {stay.offset} overlaps group {other.group}"
            message = f"{message} at {other.offset} in slot {other.start}"
            yield Violation("overlap", message, other.start, stay.group)


def _alias(program: Program, plan: Plan) -> Iterator[Violation]:
    for touch in program.touches:
        if len({bool(plan.is_fast[index]) for index in touch.accesses}) > 1:
            message = f"instruction {touch.time} touches group {touch.group} in both memories"
            yield Violation("alias", message, touch.time, touch.group)


def _must_be_slow(program: Program, plan: Plan) -> Iterator[Violation]:
    for access, is_fast in zip(program.accesses, plan.is_fast, strict=True):
        if access.must_be_slow and is_fast:
            group = program.values[access.value].group
            message = f"instruction {access.time} cannot serve group {group} from fast memory"
            yield Violation("must-be-slow", message, access.time, group)


_RULES_BEFORE_CONTENT = (
    _wrong_program,
    _unknown,
    _capacity,
    _alignment,
    _reserved,
    _overlap,
    _alias,
    _must_be_slow,
)
"""The rules before `liveness`, each of which presumes that those before it hold."""


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


def _content(program: Program, plan: Plan) -> Iterator[Violation]:
    """All violations of the rules on content, in a plan whose places are in order."""
    groups = range(len(program.groups))
    stays: list[list[Stay]] = [[] for _ in groups]
    copies: list[list[Copy]] = [[] for _ in groups]
    sinks: list[list[int]] = [[] for _ in groups]
    for stay in sorted(plan.stays, key=lambda s: s.start):
        stays[stay.group].append(stay)
    for copy in plan.copies:
        copies[copy.group].append(copy)
    for index, sink in enumerate(program.sinks):
        sinks[sink.group].append(index)
    either = {branch: c for c in program.conditionals for branch in c.branches}
    for group in groups:
        one = _GroupChecker(program, plan, group, stays[group], copies[group], sinks[group])
        yield from one.violations(either)


class _Moment(IntEnum):
    """What can happen between slot `t - 1` and the end of slot `t`, in this order.

    A copy is *instant* if its deadline is its start: it happens between the two slots.
    """

    DONE = 0
    """An access in flight ends: what it wrote is there from here on."""
    DEADLINE = 1
    """A copy is complete: before SINK, which it may satisfy, and before copies that start here."""
    INSTANT_WRITE_BACK = 2
    """Before SINK, which it may satisfy, and before STAY: it writes what an earlier stay holds."""
    SINK = 3
    STAY = 4
    """A stay begins, without content."""
    INSTANT_PREFETCH = 5
    """After STAY, since it may fill that stay, and before TOUCH, which it serves."""
    COPY = 6
    """A copy starts: before TOUCH, so that a write in the same slot finds it under way."""
    TOUCH = 7
    REGION = 8
    """A region begins: what starts in its first slot at this level starts before it."""


@dataclass(frozen=True, slots=True)
class _State:
    """Where a group's content is: in which stay, in slow memory or not; and copies under way."""

    stay: int | None
    is_slow_valid: bool
    under_way: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Ways:
    """The ways through a conditional so far.

    `entry`: the state in which the branches `left` begin; `exits`: those in which others ended;
    `goes_past`: whether a way leads through none of the branches that have to do with the group.
    """

    entry: _State
    left: set[int]
    goes_past: bool
    exits: list[_State] = field(default_factory=list)

    def met(self) -> _State:
        """What holds whichever way was taken."""
        ends = [*self.exits, self.entry] if self.goes_past else self.exits
        stays = {end.stay for end in ends}
        return _State(
            stays.pop() if len(stays) == 1 else None,
            all(end.is_slow_valid for end in ends),
            frozenset().union(*(end.under_way for end in ends)),
        )


class _GroupChecker:
    """Checks what one group's stays and its slow copy hold, from `liveness` on.

    `stays` by start, `copies` in plan order, `sinks`: indices. It walks touches, copies and sinks;
    a loop body until its entry state repeats, so that each iteration starts from what the previous
    one left. It walks twice: as if all branches ran, one after another, and as if of each
    conditional one did, whichever, and loops of unknown length ran or did not.
    """

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
        values = program.groups[group].values
        self._first = min(program.values[v].defined for v in values)
        self._starts = [stay.start for stay in stays]
        self._stay_of_copy = [self._find_stay_of_copy(copy) for copy in copies]
        self._levels = [copy_level(program, copy, stays) for copy in copies]
        self._violations: dict[Violation, None] = {}
        self._events: dict[int, list[tuple[int, _Moment, int]]] = {TOP_LEVEL: []}
        self._exits: dict[tuple[int, _State], _State] = {}
        self._either: dict[int, Conditional] = {}

    def violations(self, either: dict[int, Conditional]) -> list[Violation]:
        """All that this group's part of the plan violates, from `liveness` on.

        `either`: the conditional of each region that may be left out of a run.
        """
        self._check_stays()
        self._check_regions()
        self._list_events()
        self._run()
        if not (self._violations or self._events.keys().isdisjoint(either)):
            self._either = either
            self._exits.clear()
            self._run()
        return list(self._violations)

    def _run(self) -> None:
        """Walk through the program once; what was in place before is so again for the next run."""
        first, end = self._first_state(), self._program.num_slots
        last = self._walk(TOP_LEVEL, first)
        if first.stay is None:
            return
        early = self._stays[first.stay]
        left = None if last.stay is None else self._stays[last.stay]
        if left is None or left != replace(early, start=left.start, end=end):
            self._note("liveness", f"it is not back at {early.offset} for the next run", end)

    def _note(self, rule: str, message: str, time: int) -> None:
        if self._either:
            message += ", where only one branch of a conditional runs, or a loop does not"
        message = f"group {self._group}, slot {time}: {message}"
        self._violations[Violation(rule, message, time, self._group)] = None

    def _stay_at(self, time: int) -> int | None:
        """The stay that holds slot `time`."""
        index = bisect_right(self._starts, time) - 1
        return index if index >= 0 and time < self._stays[index].end else None

    def _find_stay_of_copy(self, copy: Copy) -> int | None:
        """The stay that a copy lies in; a write-back without slots may end its stay."""
        is_instant_write_back = copy.start == copy.deadline and not copy.is_prefetch
        find = bisect_left if is_instant_write_back else bisect_right
        index = find(self._starts, copy.start) - 1
        return index if index >= 0 and copy.deadline <= self._stays[index].end else None

    def _check_stays(self) -> None:
        first = self._first
        for stay in self._stays:
            if stay.start < first:
                self._note(
                    "liveness", f"a stay begins before instruction {first} defines it", first
                )

    def _check_regions(self) -> None:
        program = self._program
        for stay in self._stays:
            level = program.loop_around(level_of_interval(program, stay.start, stay.end))
            if stay.end > program.level_end(level):
                self._note("region", "a stay outlives the loop in which it begins", stay.start)
        for copy, level, index in zip(self._copies, self._levels, self._stay_of_copy, strict=True):
            is_instant = copy.start == copy.deadline
            if not (is_instant or program.ends_at_level(copy.start, copy.deadline, level)):
                self._note("region", "a copy starts and ends at different levels", copy.start)
            self._check_cover(index, level, copy.start)
        for touch_index in program.touches_of_group[self._group]:
            touch = program.touches[touch_index]
            if self._plan.is_fast[touch.accesses[0]]:
                level = program.level_at(touch.time)
                self._check_cover(self._stay_at(touch.time), level, touch.time)

    def _check_cover(self, index: int | None, level: int, time: int) -> None:
        """A stay from before a region that is used in it must cover it, in every iteration."""
        if index is None:
            return
        stay = self._stays[index]
        for number in self._program.outwards(level)[:-1]:
            region = self._program.regions[number]
            if stay.start < region.start and stay.end < region.end:
                self._note("region", f"a stay from before region {number} ends inside it", time)

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
                self._add_event(level, copy.start, _Moment.INSTANT_PREFETCH, index)
            else:
                self._add_event(level, copy.start, _Moment.INSTANT_WRITE_BACK, index)
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
        ways: _Ways | None = None
        for time, moment, index in self._events[level]:
            if moment is _Moment.REGION and index in self._either:
                ways = ways or self._ways(self._either[index], state)
                ways.exits.append(self._through(index, ways.entry))
                ways.left.remove(index)
            elif ways is None:
                state = self._step(time, moment, index, state)
            else:
                # Between two branches: at the end of those before, and at the start of the others.
                ways.entry = self._step(time, moment, index, ways.entry)
                ways.exits = [self._step(time, moment, index, exit) for exit in ways.exits]
            if ways is not None and not ways.left:
                state, ways = ways.met(), None
        return state

    def _ways(self, conditional: Conditional, state: _State) -> _Ways:
        """The ways through a conditional; past branches that leave the group alone as well."""
        left = {branch for branch in conditional.branches if branch in self._events}
        goes_past = len(left) < len(conditional.branches) or not conditional.is_whole
        is_made = self._program.is_made_before(self._group, conditional)
        return _Ways(state, left, goes_past and is_made)

    def _step(self, time: int, moment: _Moment, index: int, state: _State) -> _State:
        """The state after one event of a level's own code."""
        if moment is _Moment.REGION:
            return self._through(index, state)
        if moment is _Moment.SINK:
            self._check_sink(index, state)
            return state
        if moment is _Moment.STAY:
            return replace(state, stay=None) if state.stay == index else state
        if moment is _Moment.TOUCH:
            return self._touch(index, state)
        if moment is _Moment.DONE:
            return self._written(index, state)
        if moment is _Moment.DEADLINE:
            return self._complete_copy(index, state)
        state = self._start_copy(index, time, state)
        return state if moment is _Moment.COPY else self._complete_copy(index, state)

    def _through(self, region: int, state: _State) -> _State:
        """The state after a region: a branch runs once, a loop until its state repeats."""
        if self._program.regions[region].kind == "branch":
            return self._walk(region, state)
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
            self._check_fast(touch, state)
        if touch.writes and touch.is_in_flight:
            # Until it is done the content is nowhere.
            return _State(None, False, state.under_way)
        return self._written(index, state)

    def _check_fast(self, touch: Touch, state: _State) -> None:
        """A fast access needs a stay, with the content if it reads, and up to its end."""
        stay = self._stay_at(touch.time)
        if stay is None:
            self._note("liveness", "a fast access outside the stays", touch.time)
            return
        if touch.reads and state.stay != stay:
            self._check_missing_content(stay, touch.time, state)
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

    def _check_missing_content(self, stay: int, time: int, state: _State) -> None:
        is_coming = any(
            self._copies[i].is_prefetch and self._stay_of_copy[i] == stay for i in state.under_way
        )
        if is_coming:
            self._note("copy-late", "a fast read before the deadline of its prefetch", time)
        else:
            self._note("liveness", "a fast read of a stay that has no content", time)

    def _check_sink(self, index: int, state: _State) -> None:
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
