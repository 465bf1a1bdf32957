"""A plan read off as a point of its program's integer form, as `docs/bound.md` says.

Only the 0/1 variables are read; whether the others can be chosen to go with them, and at what
cost, is for the linear program to say (`least_cost`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

import highspy
import numpy as np

from engine.plan.bounds.bound import Formulation
from engine.plan.levels import copy_level
from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.program.model import TOP_LEVEL, Program

Choice = tuple[str, int, int]


@dataclass
class _Reading:
    """What a plan does with one group, in the order in which slots stand."""

    program: Program
    plan: Plan
    group: int
    choices: set[Choice] = field(default_factory=set)
    made_by: dict[Choice, Copy] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stays = sorted((s for s in self.plan.stays if s.group == self.group), key=_start)
        self.copies = [c for c in self.plan.copies if c.group == self.group]
        self.indices = self.program.touches_of_group[self.group]
        self.touches = [self.program.touches[i] for i in self.indices]
        self.fast = [self.plan.is_fast[t.accesses[0]] for t in self.touches]
        # Per touch, and at the end of the program: the stay that holds the content just before,
        # and how often the content has changed its place until then.
        self.home: list[int | None] = []
        self.moves: list[int] = []
        self.filled: dict[int, Copy] = {}
        self._walk()

    def stay_at(self, time: int) -> int | None:
        index = bisect_right([s.start for s in self.stays], time) - 1
        return index if index >= 0 and time < self.stays[index].end else None

    def stay_of(self, copy: Copy) -> int:
        is_empty_write_back = copy.start == copy.deadline and not copy.is_prefetch
        find = bisect_left if is_empty_write_back else bisect_right
        return find([s.start for s in self.stays], copy.start) - 1

    def _walk(self) -> None:
        """Follow the content: which stay holds it before each touch."""
        home, moves = self.stay_at(BEFORE_START), 0
        arrivals = sorted((c for c in self.copies if c.is_prefetch), key=lambda c: c.deadline)
        for index, time in enumerate([t.time for t in self.touches] + [self.program.num_slots]):
            for copy in [c for c in arrivals if c.deadline <= time]:
                arrivals.remove(copy)
                target = self.stay_of(copy)
                if home != target or self.stays[target].start > self._since(index):
                    home, moves = target, moves + 1
                    self.filled[index] = copy
            if home is not None and not self._reaches(self.stays[home], time):
                home, moves = None, moves + 1
            self.home.append(home)
            self.moves.append(moves)
            if index < len(self.touches) and self.touches[index].writes:
                written = self.stay_at(time) if self.fast[index] else None
                if written != home:
                    home, moves = written, moves + 1

    def _since(self, index: int) -> int:
        return self.touches[index - 1].time if index > 0 else -2

    def _reaches(self, stay: Stay, time: int) -> bool:
        return time < stay.end or time == stay.end == self.program.num_slots

    def is_served(self, index: int) -> bool:
        """`x`: fast, or a slow read of content from which a later touch is served."""
        if self.fast[index]:
            return True
        if not self.touches[index].reads or self.home[index] is None:
            return False
        later = range(index + 1, len(self.touches))
        is_used = any(
            self.fast[j] and self.touches[j].reads and self._is_held(index, j) for j in later
        )
        end = len(self.touches)
        return is_used or (self.is_kept() and self._is_held(index, end))

    def _is_held(self, first: int, last: int) -> bool:
        """Whether one stay holds the content from touch `first` until just before `last`."""
        written = any(self.touches[j].writes and not self.fast[j] for j in range(first, last))
        is_same = self.home[last] is not None and self._stay_after(first) == self.home[last]
        return is_same and not written and self._moves_after(first) == self.moves[last]

    def _stay_after(self, index: int) -> int | None:
        return self.stay_at(self.touches[index].time) if self._is_made(index) else self.home[index]

    def _moves_after(self, index: int) -> int:
        return self.moves[index] + (self._is_made(index) and self.home[index] != self._made(index))

    def _is_made(self, index: int) -> bool:
        return self.touches[index].writes and self.fast[index]

    def _made(self, index: int) -> int | None:
        return self.stay_at(self.touches[index].time)

    def is_kept(self) -> bool:
        return self.stay_at(BEFORE_START) is not None

    def read(self) -> set[Choice]:
        """All 0/1 variables that are 1."""
        if self.is_kept():
            self.choices.add(("z", self.group, TOP_LEVEL))
        for index, touch in enumerate(self.touches):
            if self.is_served(index):
                self.choices.add(("x", self.indices[index], TOP_LEVEL))
                if touch.reads:
                    self._read_source(index, self.indices[index])
        if self.is_kept():
            self._read_source(len(self.touches), -1 - self.group)
        for index in range(len(self.touches)):
            if self._is_made(index):
                self._read_write_back(index)
        for sink in self.program.sinks:
            if sink.group == self.group and sink.region != TOP_LEVEL:
                self._read_sink(sink.time, sink.region)
        return self.choices

    def _read_source(self, index: int, number: int) -> None:
        """`r`, or the prefetch that brought the content."""
        if self._stayed(index):
            self.choices.add(("r", number, TOP_LEVEL))
            before = self.touches[index - 1].time if index > 0 else -1
            time = self.touches[index].time if index < len(self.touches) else -1
            self._cover(self._around(before) ^ self._around(time))
            return
        copy = self.filled[index]
        if index == len(self.touches):
            self.choices.add(("p", number, TOP_LEVEL))
            self.made_by["p", number, TOP_LEVEL] = copy
            return
        self._read_copy("p", number, copy, self.touches[index].time)

    def _stayed(self, index: int) -> bool:
        if index == 0:
            return self.is_kept() and self.home[0] == self.stay_at(BEFORE_START)
        return self.is_served(index - 1) and self._is_held(index - 1, index)

    def _read_copy(self, letter: str, number: int, copy: Copy, time: int) -> None:
        level = copy_level(self.program, copy, self.stays)
        around_copy = set(self.program.outwards(level))
        around_time = self.program.outwards(self.program.level_at(time))
        home = next(a for a in around_time if a in around_copy)
        self.choices.add((letter, number, home))
        self.made_by[letter, number, home] = copy
        self._cover(self._around(time) - around_copy)

    def _read_write_back(self, index: int) -> None:
        time = self.touches[index].time
        later = (t.time for t in self.touches[index + 1 :] if t.writes)
        last = next(later, self.program.num_slots)
        copies = [c for c in self.copies if not c.is_prefetch and time < c.start <= last]
        if copies:
            copy = min(copies, key=lambda c: c.deadline)
            self._read_copy("b", self.indices[index], copy, time)

    def _read_sink(self, time: int, region: int) -> None:
        """`c`: the content is at the region's end in a stay from before it, or past a branch."""
        done = [j for j, t in enumerate(self.touches) if t.time < time]
        stay = self._stay_after(done[-1])
        begins = self.program.regions[region].start
        if stay is not None:
            start, end = self.stays[stay].start, self.stays[stay].end
            is_branch = self.program.regions[region].kind == "branch"
            outlasts = end > time and (is_branch or start == begins)
            if end >= time and (start < begins or outlasts):
                self._cover({region})

    def _around(self, time: int) -> set[int]:
        return set(self.program.outwards(self.program.level_at(time))) - {TOP_LEVEL}

    def _cover(self, regions: set[int]) -> None:
        """`c` of these regions, and of all inside the loops among them."""
        loops = {r for r in regions if self.program.regions[r].kind != "branch"}
        for index in range(len(self.program.regions)):
            if index in regions or set(self.program.outwards(index)) & loops:
                self.choices.add(("c", self.group, index))


def _start(stay: Stay) -> int:
    return stay.start


def point(formulation: Formulation, plan: Plan) -> dict[int, float]:
    """The 0/1 variables of `formulation`, by index, as the plan sets them."""
    chosen: set[Choice] = set()
    made_by: dict[Choice, Copy] = {}
    for group in range(len(formulation.program.groups)):
        reading = _Reading(formulation.program, plan, group)
        chosen |= reading.read()
        made_by |= reading.made_by
    found = {v: float(name in chosen) for name, v in formulation.parts.choices.items()}
    for (*choice, slot), variable in formulation.parts.under_way.items():
        copy = made_by.get((choice[0], choice[1], choice[2]))
        found[variable] = float(copy is not None and _is_under_way(copy, slot))
    return found


def _is_under_way(copy: Copy, slot: int) -> bool:
    """Whether the place is held for the copy: from a prefetch's start, to a write-back's end."""
    return copy.start <= slot if copy.is_prefetch else slot < copy.deadline


def least_cost(formulation: Formulation, fixed: dict[int, float]) -> float | None:
    """The least objective with these variables fixed; None if no point has them."""
    linear = formulation.linear
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.passModel(linear.model())
    for variable, value in fixed.items():
        solver.changeColBounds(variable, value, value)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return float(np.dot(solver.getSolution().col_value, linear.costs))
