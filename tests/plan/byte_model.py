"""Brute-force model of a plan's execution, to hold the checker to: fast memory granule by granule.

Each granule holds a piece of one version of one group's content, or garbage. Copies, work in flight
and scratch write their granules when the plan says so; a place that is given up becomes garbage.
Every read compares the granules with the version that it must find. Each loop runs three times and
each branch once; with a source of chance, of each conditional at most one branch runs, and loops of
unknown length run or do not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from engine.plan.levels import copy_level, level_of_interval
from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.program.model import TOP_LEVEL, Program, Touch

PASSES = 3
Content = tuple[int, int]
"""Group and version."""
GARBAGE: Content = (-1, -1)

DONE, COMPLETE, SWAP_OUT, END, BEGIN, SWAP_IN, START, RUN, REGION = range(9)


@dataclass
class _Flight:
    """A touch under way: where it found or leaves its content, and which one."""

    touch: Touch
    place: Stay | None
    content: Content


@dataclass
class ByteModel:
    """One run of a program under a plan; `faults` tells what went wrong, in words."""

    program: Program
    plan: Plan
    chance: random.Random | None = None
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        program = self.program
        self._granule = program.hardware.alignment
        self._fast: list[Content] = [GARBAGE] * (program.hardware.fast_bytes // self._granule)
        self._version = [0] * len(program.groups)
        self._slow: list[Content] = [self._before(g) for g in range(len(program.groups))]
        self._copying: dict[int, Content] = {}
        self._flights: dict[int, _Flight] = {}
        self._taken: dict[int, bool] = {}
        self._undefined: set[int] = set()
        self._events: dict[int, list[tuple[int, int, int]]] = {}
        for stay in self.plan.stays:
            if stay.start == BEFORE_START:
                self._fill(stay, self._slow[stay.group])
        self._list_events()

    def run(self) -> list[str]:
        """Carry the plan out; the faults."""
        self._pass(TOP_LEVEL)
        for group, facts in enumerate(self.program.groups):
            is_due = facts.is_live_out and group not in self._undefined
            if is_due and self._slow[group] != (group, self._version[group]):
                self.faults.append(f"group {group} is lost at the end")
        for stay in self.plan.stays:
            if stay.start == BEFORE_START:
                self._expect(stay, "the next run")
        return self.faults

    def _before(self, group: int) -> Content:
        """Inputs are in slow memory, and so is what is read before it is written."""
        touches = self.program.touches_of_group[group]
        is_read_first = not touches or self.program.touches[touches[0]].reads
        return (group, 0) if self.program.groups[group].is_input or is_read_first else GARBAGE

    def _list_events(self) -> None:
        program = self.program
        levels = [TOP_LEVEL, *range(len(program.regions))]
        self._events = {level: [] for level in levels}
        for number, region in enumerate(program.regions):
            self._events[region.parent].append((region.start, REGION, number))
        for time in range(program.num_slots):
            self._events[program.level_at(time)].append((time, RUN, time))
        for number, touch in enumerate(program.touches):
            if touch.is_in_flight:
                self._events[program.level_at(touch.time)].append((touch.end, DONE, number))
        for number, stay in enumerate(self.plan.stays):
            level = level_of_interval(program, stay.start, stay.end)
            if stay.start != BEFORE_START:
                self._events[level].append((stay.start, BEGIN, number))
            while stay.end > program.level_end(level):
                level = program.regions[level].parent
            # One that ends inside a region serves nothing there.
            cut = (r.start for r in program.regions if stay.start < r.start < stay.end < r.end)
            if stay.end < program.num_slots:
                self._events[level].append((min(cut, default=stay.end), END, number))
        for number, copy in enumerate(self.plan.copies):
            events = self._events[copy_level(program, copy, self.plan.stays)]
            if copy.start < copy.deadline:
                events += [(copy.start, START, number), (copy.deadline, COMPLETE, number)]
            else:
                events.append((copy.start, SWAP_IN if copy.is_prefetch else SWAP_OUT, number))
        for events in self._events.values():
            events.sort()

    def _pass(self, level: int) -> None:
        for time, kind, number in self._events[level]:
            if kind == REGION:
                for _ in range(self._passes(number)):
                    self._pass(number)
            elif kind == RUN:
                self._execute(time)
            elif kind == DONE:
                self._land(number)
            elif kind in (BEGIN, END):
                self._fill(self.plan.stays[number], GARBAGE)
            else:
                self._copy(number, kind)
            self._look_at_flights()

    def _passes(self, region: int) -> int:
        """How often a region runs, now that the code around it reaches it."""
        passes = PASSES if self.program.regions[region].kind == "while" else 1
        either = [c for c in self.program.conditionals if region in c.branches]
        if self.chance is None or not either:
            return passes
        (conditional,) = either
        if region == conditional.branches[0]:
            ways = [*conditional.branches] + [-1] * (not conditional.is_whole)
            taken = self.chance.choice(ways)
            self._taken |= {branch: branch == taken for branch in conditional.branches}
            # What the branches make is there only where one has made it.
            for group, facts in enumerate(self.program.groups):
                made = min(self.program.values[v].defined for v in facts.values)
                if conditional.start <= made < conditional.end:
                    self._undefined.add(group)
        return passes if self._taken[region] else 0

    def _place_of(self, group: int, time: int) -> Stay | None:
        found = (s for s in self.plan.stays if s.group == group and s.start <= time < s.end)
        return next(found, None)

    def _granules(self, place: Stay) -> range:
        first = place.offset // self._granule
        size = self.program.groups[place.group].size_bytes
        return range(first, first + -(-size // self._granule))

    def _fill(self, place: Stay, content: Content) -> None:
        for granule in self._granules(place):
            self._fast[granule] = content

    def _content(self, place: Stay) -> Content:
        held = {self._fast[granule] for granule in self._granules(place)}
        return held.pop() if len(held) == 1 else GARBAGE

    def _expect(self, place: Stay | None, who: str) -> None:
        group = place.group if place else -1
        if group in self._undefined:
            return
        if place is None or self._content(place) != (group, self._version[group]):
            self.faults.append(f"{who} finds no content of group {group} in its place")

    def _execute(self, time: int) -> None:
        instruction = self.program.instructions[time]
        for granule in range(-(-instruction.reserved_bytes // self._granule)):
            self._fast[granule] = GARBAGE
        touches = [(n, t) for n, t in enumerate(self.program.touches) if t.time == time]
        for _, touch in touches:
            if touch.reads:
                self._read(touch)
        for number, touch in touches:
            self._begin(number, touch)

    def _read(self, touch: Touch) -> None:
        """Look for the content where the plan has it."""
        group = touch.group
        if self.plan.is_fast[touch.accesses[0]]:
            self._expect(self._place_of(group, touch.time), f"slot {touch.time}")
        elif group not in self._undefined and self._slow[group] != (group, self._version[group]):
            self.faults.append(f"slot {touch.time} finds group {group} stale in slow memory")

    def _begin(self, number: int, touch: Touch) -> None:
        """A writer scribbles until it is done; a reader in flight looks until then."""
        is_fast = self.plan.is_fast[touch.accesses[0]]
        place = self._place_of(touch.group, touch.time) if is_fast else None
        if is_fast and place is None:
            self.faults.append(f"slot {touch.time} has no place for group {touch.group}")
        if touch.writes:
            self._undefined.discard(touch.group)
            self._version[touch.group] += 1
            self._put(place, touch.group, GARBAGE)
        content = (touch.group, self._version[touch.group])
        self._flights[number] = _Flight(touch, place, content)
        if not touch.is_in_flight:
            self._land(number)

    def _put(self, place: Stay | None, group: int, content: Content) -> None:
        if place is None:
            self._slow[group] = content
        else:
            self._fill(place, content)

    def _land(self, number: int) -> None:
        flight = self._flights.pop(number)
        if flight.touch.writes:
            self._put(flight.place, flight.touch.group, flight.content)

    def _look_at_flights(self) -> None:
        """Who reads or writes in flight has its place to itself."""
        for flight in self._flights.values():
            touch, place = flight.touch, flight.place
            if touch.group in self._undefined:
                continue
            there = self._slow[touch.group] if place is None else self._content(place)
            if there != (GARBAGE if touch.writes else flight.content):
                self.faults.append(f"what slot {touch.time} started meets others")

    def _copy(self, number: int, kind: int) -> None:
        copy = self.plan.copies[number]
        if kind in (START, SWAP_IN, SWAP_OUT):
            self._start(number, copy)
        if kind in (COMPLETE, SWAP_IN, SWAP_OUT):
            self._complete(number, copy)

    def _ends(self, copy: Copy) -> tuple[Stay | None, Stay | None]:
        """Source and target; None is slow memory. The stay ends at the deadline at the earliest."""
        stays = [s for s in self.plan.stays if s.group == copy.group and copy.deadline <= s.end]
        is_empty = copy.start == copy.deadline and not copy.is_prefetch
        held = [s for s in stays if s.start < copy.start + (not is_empty)]
        place = max(held, key=lambda s: s.start, default=None)
        if place is None:
            self.faults.append(f"{copy} has no place")
            place = Stay(copy.group, 0, 0, 1)
        return (None, place) if copy.is_prefetch else (place, None)

    def _start(self, number: int, copy: Copy) -> None:
        source, target = self._ends(copy)
        found = self._slow[copy.group] if source is None else self._content(source)
        there = self._slow[copy.group] if target is None else self._content(target)
        self._copying[number] = found
        if there != found:
            # Each byte is the old one or the new one.
            self._put(target, copy.group, GARBAGE)

    def _complete(self, number: int, copy: Copy) -> None:
        source, target = self._ends(copy)
        found = self._copying.pop(number)
        now = self._slow[copy.group] if source is None else self._content(source)
        self._put(target, copy.group, found if found == now else GARBAGE)
