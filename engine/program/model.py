"""Program: a flattened schedule of instructions and the values they read and write.

Words and rules stand in `docs/model.md`. Times are instruction numbers, intervals are half-open,
sizes are bytes, and all seconds are totals over one run of the program (loops multiplied out).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

INPUT_TIME = -1
"""Defining time of program inputs and constants."""
TOP_LEVEL = -1
"""Level of a slot that no region holds."""
LEAST_SHARE = 1e-5
"""No branch of a conditional is taken more rarely: a sum of shares tells whether one is missing."""


@dataclass(frozen=True, slots=True)
class Region:
    """A while body, or a branch of a conditional, inlined at slots `[start, end)`.

    `multiplicity` is how often the body runs in one run of the program, outer loops included.
    `parent` is the index of the enclosing region, or `TOP_LEVEL`.
    """

    name: str
    start: int
    end: int
    multiplicity: float
    parent: int = TOP_LEVEL
    kind: str = "while"
    is_trip_count_known: bool = True


_Key = TypeVar("_Key", bound=Hashable)


def in_turn(keys: Iterable[_Key]) -> list[tuple[_Key, int]]:
    """Each key with how many like it came before: what is inlined twice has its name twice.

    >>> in_turn(["a", "b", "a"])
    [('a', 0), ('b', 0), ('a', 1)]
    """
    seen: Counter[_Key] = Counter()
    turns = []
    for key in keys:
        turns.append((key, seen[key]))
        seen[key] += 1
    return turns


def branch_name(conditional: str, number: int) -> str:
    """The name of the region of one branch."""
    return f"{conditional}[{number}]"


def branch_of(name: str, kind: str) -> tuple[str, int | None]:
    """The conditional and the number of the branch that a region is, if it says so."""
    conditional, bracket, number = name.partition("[")
    is_branch = kind == "branch" and bracket and number.removesuffix("]").isdecimal()
    return conditional, int(number.removesuffix("]")) if is_branch else None


@dataclass(frozen=True, slots=True)
class Conditional:
    """The branches of one conditional that have instructions, as numbers of regions, in order.

    They take the slots `[start, end)`. `is_whole`: whether all branches are among them. A loop of
    unknown length is one too, whose only branch may not run at all.
    """

    branches: tuple[int, ...]
    start: int
    end: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One scheduled instruction.

    `fast_s`: seconds with every access fast, if savings add up. `floor_s`: seconds that it takes at
    least, where it is bound by compute; at most those with every access slow. `reserved_bytes`:
    scratch at offset 0 of the fast memory that no stay may touch in this slot; `scratch_bytes`: the
    part of it that is really used (shown, never judged). `flops`: floating-point operations over
    one run, 0 where nobody counted them (they never change a plan's cost). `priced_s`: the part of
    `fast_s` that is no estimate of the compiler's (`engine.program.prices`).
    """

    name: str
    opcode: str
    fast_s: float
    level: int = TOP_LEVEL
    reserved_bytes: int = 0
    scratch_bytes: int = 0
    op_name: str = ""
    flops: float = 0.0
    floor_s: float = 0.0
    priced_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Value:
    """One array in memory; `size_bytes` includes layout and tile padding."""

    name: str
    shape: str
    size_bytes: int
    defined: int
    group: int
    is_live_out: bool = False
    may_be_fast: bool = True

    @property
    def is_input(self) -> bool:
        """Whether the value exists before the program starts."""
        return self.defined == INPUT_TIME


@dataclass(frozen=True, slots=True)
class Access:
    """Instruction `time` reads or writes `value`.

    `saving_s`: seconds saved when served from fast instead of slow memory; of a write it may be
    negative (`docs/costs.md`). `slow_bytes`: bytes drawn from slow memory when it is not.
    `operand`: number of the operand that is read, or of the result. `uncertainty_s`: how much more
    it may save, as far as anybody has seen; it changes no plan's latency. `must_be_slow`: the
    hardware cannot serve it from fast memory, though it may other accesses of the value.
    `in_flight`: slots after `time` during which it goes on, because the instruction only starts
    what another one awaits; 0 where the access is over with its instruction.
    """

    time: int
    value: int
    is_write: bool
    saving_s: float
    slow_bytes: int
    operand: int = 0
    uncertainty_s: float = 0.0
    must_be_slow: bool = False
    in_flight: int = 0

    @property
    def end(self) -> int:
        """The first slot before which the access is over."""
        return self.time + 1 + self.in_flight


@dataclass(frozen=True, slots=True)
class Touch:
    """All accesses of one alias group by one instruction: served from one place, together.

    `reads`: whether the content of before must be there; so it must also where a branch, or a loop
    of unknown length, writes what the group holds, unread, if on another way that is kept. `end`:
    the first slot before which all are over. `must_be_slow`: one of the accesses must be.
    `is_alternative`: a write, unread, that begins a branch as one does that begins another before
    it.
    """

    time: int
    group: int
    reads: bool
    writes: bool
    saving_s: float
    slow_bytes: int
    accesses: tuple[int, ...]
    end: int
    must_be_slow: bool = False
    is_alternative: bool = False

    @property
    def is_in_flight(self) -> bool:
        """Whether it outlasts its instruction."""
        return self.end > self.time + 1


@dataclass(frozen=True, slots=True)
class Sink:
    """A time by which the slow copy of `group` must be valid (`docs/model.md`).

    `region` ends there (`TOP_LEVEL`: the program does); a stay from before it owes nothing.
    """

    time: int
    group: int
    region: int


@dataclass(frozen=True, slots=True)
class Group:
    """An alias group: values that share one location and are placed as one thing."""

    values: tuple[int, ...]
    size_bytes: int
    may_be_fast: bool
    is_input: bool
    is_live_out: bool
    is_written: bool


@dataclass(frozen=True)
class Hardware:
    """The memories of one chip; `bandwidth` is in bytes per second, `clock_hz` in cycles."""

    name: str
    fast_bytes: int
    alignment: int
    bandwidth: float
    clock_hz: float
    fast_name: str = "VMEM"
    max_cross_program_prefetches: int = 1

    @property
    def holds_scratch(self) -> bool:
        """Whether instructions have their scratch in the fast memory: XLA has none in CMEM."""
        return self.fast_name != "CMEM"


@dataclass(frozen=True)
class Program:
    """A flattened schedule with its values, accesses and loops; immutable.

    `accesses` are sorted by time, reads of an instruction before its writes. `provenance` is free
    JSON: where the program comes from. `content_hash` (see `engine.program.io`) covers everything
    but the provenance and the name.

    >>> from engine.program.library import load_sample
    >>> program = load_sample("teach-prefetch")
    >>> [instruction.name for instruction in program.instructions]
    ['first_layer', 'attention', 'second_layer']
    >>> program.hardware.fast_bytes, program.all_slow_s > program.all_fast_s
    (1048576, True)
    """

    name: str
    hardware: Hardware
    instructions: tuple[Instruction, ...]
    values: tuple[Value, ...]
    accesses: tuple[Access, ...]
    regions: tuple[Region, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)

    @property
    def num_slots(self) -> int:
        """`T`, the number of instructions."""
        return len(self.instructions)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The alias groups, indexed by `Value.group`."""
        last = max((v.group for v in self.values), default=-1)
        members: list[list[int]] = [[] for _ in range(last + 1)]
        for index, value in enumerate(self.values):
            members[value.group].append(index)
        written = {self.values[a.value].group for a in self.accesses if a.is_write}
        return tuple(
            self._group(tuple(indices), number in written) for number, indices in enumerate(members)
        )

    def _group(self, indices: tuple[int, ...], is_written: bool) -> Group:
        values = [self.values[i] for i in indices]
        size = max(v.size_bytes for v in values)
        return Group(
            values=indices,
            size_bytes=size,
            may_be_fast=all(v.may_be_fast for v in values) and size <= self.hardware.fast_bytes,
            is_input=any(v.is_input for v in values),
            is_live_out=any(v.is_live_out for v in values),
            is_written=is_written,
        )

    @cached_property
    def touches(self) -> tuple[Touch, ...]:
        """Accesses merged per (time, group): in time order, reads before pure writes."""
        merged: dict[tuple[int, int], list[int]] = {}
        for index, access in enumerate(self.accesses):
            key = (access.time, self.values[access.value].group)
            merged.setdefault(key, []).append(index)
        touches = [self._touch(t, g, tuple(ids)) for (t, g), ids in merged.items()]
        kept, again = self._kept_or_overwritten(touches)
        touches = [
            replace(
                t,
                reads=t.reads or (t.time, t.group) in kept,
                is_alternative=(t.time, t.group) in again,
            )
            for t in touches
        ]
        return tuple(sorted(touches, key=lambda t: (t.time, not t.reads)))

    def _touch(self, time: int, group: int, indices: tuple[int, ...]) -> Touch:
        accesses = [self.accesses[i] for i in indices]
        return Touch(
            time=time,
            group=group,
            reads=any(not a.is_write for a in accesses),
            writes=any(a.is_write for a in accesses),
            saving_s=sum(a.saving_s for a in accesses),
            slow_bytes=sum(a.slow_bytes for a in accesses),
            accesses=indices,
            end=max(a.end for a in accesses),
            must_be_slow=any(a.must_be_slow for a in accesses),
        )

    def _kept_or_overwritten(
        self, touches: Sequence[Touch]
    ) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
        """Of touches in time order: time and group of those that begin a branch.

        Of groups that had a content before the conditional. First, those of which something needs
        that content. Second, where all branches begin with a write that does not read, so that
        nothing of it is left, those of all branches but the first. A write in a conditional within
        a branch may be one that reads so; inner ones come first.
        """
        times = [touch.time for touch in touches]
        kept: set[tuple[int, int]] = set()
        again: set[tuple[int, int]] = set()
        for conditional in reversed(self.conditionals):
            begun: dict[int, dict[int, Touch]] = {}
            for branch in conditional.branches:
                region = self.regions[branch]
                first = bisect_left(times, region.start)
                for touch in touches[first : bisect_left(times, region.end)]:
                    begun.setdefault(touch.group, {}).setdefault(branch, touch)
            for number, first_of in begun.items():
                is_overwritten = (
                    conditional.is_whole
                    and len(first_of) == len(conditional.branches)
                    and not any(t.reads or (t.time, number) in kept for t in first_of.values())
                )
                begins = [(t.time, number) for t in first_of.values()]
                if not self.is_made_before(number, conditional):
                    continue
                if is_overwritten:
                    again.update(begins[1:])
                else:
                    kept.update(begins)
        return kept, again

    def is_made_before(self, group: int, conditional: Conditional) -> bool:
        """Whether the group has a content when the conditional is reached, whichever branches ran.

        So it has none where only another branch around makes one: of those, one runs.
        """
        around = self.outwards(self.regions[conditional.branches[0]].parent)
        own = [(c, self.regions[b]) for c in self.conditionals for b in c.branches if b in around]

        def is_elsewhere(time: int) -> bool:
            """Whether it is in a branch that does not run where the conditional is reached."""
            return any(
                c.start <= time < c.end and not branch.start <= time < branch.end
                for c, branch in own
            )

        times = (self.values[v].defined for v in self.groups[group].values)
        return any(time < conditional.start and not is_elsewhere(time) for time in times)

    @cached_property
    def conditionals(self) -> tuple[Conditional, ...]:
        """The conditionals and the loops of unknown length, by their first regions.

        What is inlined twice follows itself: its branches begin again.
        """
        found: list[list[int]] = []
        newest: dict[int, list[int]] = {}
        for index, region in enumerate(self.regions):
            if region.kind == "branch":
                branches = newest.get(region.parent)
                if branches is None or not self._goes_on(branches[-1], region):
                    branches = newest[region.parent] = []
                    found.append(branches)
                branches.append(index)
            elif not region.is_trip_count_known:
                found.append([index])
        return tuple(self._conditional(tuple(branches)) for branches in found)

    def _goes_on(self, before: int, region: Region) -> bool:
        """Whether a branch is one more of the conditional that has the branch `before`."""
        last = self.regions[before]
        conditional, number = branch_of(region.name, region.kind)
        other, earlier = branch_of(last.name, last.kind)
        if number is None or earlier is None or conditional != other:
            return False
        return number > earlier and region.start == last.end

    def _conditional(self, branches: tuple[int, ...]) -> Conditional:
        regions = [self.regions[branch] for branch in branches]
        times = math.fsum(region.multiplicity for region in regions)
        of_all = self.multiplicity(regions[0].parent)
        is_whole = regions[0].kind == "branch" and times > (1 - LEAST_SHARE / 2) * of_all
        return Conditional(branches, regions[0].start, regions[-1].end, is_whole)

    @cached_property
    def touches_of_group(self) -> tuple[tuple[int, ...], ...]:
        """Indices into `touches`, per group, in time order."""
        lists: list[list[int]] = [[] for _ in self.groups]
        for index, touch in enumerate(self.touches):
            lists[touch.group].append(index)
        return tuple(tuple(indices) for indices in lists)

    @cached_property
    def sinks(self) -> tuple[Sink, ...]:
        """Where slow copies must be valid, sorted by time, inner regions first."""
        sinks = [
            Sink(region.end, group, index)
            for index, region in enumerate(self.regions)
            for group in self._carried(region)
        ]
        sinks.sort(key=lambda s: (s.time, -s.region, s.group))
        ends = [
            Sink(self.num_slots, g, TOP_LEVEL)
            for g, group in enumerate(self.groups)
            if group.is_live_out
        ]
        return tuple(sinks + ends)

    def _carried(self, region: Region) -> list[int]:
        """Groups written in `region` whose content is needed past its end or its back edge."""
        first, end = (
            bisect_left(self.touches, time, key=lambda t: t.time)
            for time in (region.start, region.end)
        )
        inside: dict[int, list[Touch]] = {}
        for touch in self.touches[first:end]:
            inside.setdefault(touch.group, []).append(touch)
        carried = []
        for number, touches in inside.items():
            if not any(t.writes for t in touches):
                continue
            of_group = self.touches_of_group[number]
            begins, ends = self.touches[of_group[0]].time, self.touches[of_group[-1]].time
            outlives = self.groups[number].is_live_out or ends >= region.end
            # A read before the first write of the body sees the previous iteration.
            loops_back = touches[0].reads or begins < region.start
            if outlives or loops_back or self.groups[number].is_input:
                carried.append(number)
        return carried

    @cached_property
    def fastest_s(self) -> tuple[float, ...]:
        """`[T]` seconds with every access where it is fastest, if savings add up: no floors."""
        seconds = [i.fast_s for i in self.instructions]
        for access in self.accesses:
            seconds[access.time] += min(0.0, access.saving_s)
        return tuple(seconds)

    @cached_property
    def least_s(self) -> tuple[float, ...]:
        """`[T]` seconds that each instruction takes at least, wherever its accesses are served."""
        return tuple(map(max, self.fastest_s, (i.floor_s for i in self.instructions)))

    @cached_property
    def all_fast_s(self) -> float:
        """Seconds with every access served where it is fastest: no plan takes less."""
        return sum(self.least_s)

    @cached_property
    def all_slow_s(self) -> float:
        """Seconds with every access served from slow memory; no floor is above that."""
        return sum(i.fast_s for i in self.instructions) + sum(a.saving_s for a in self.accesses)

    def level_at(self, time: int) -> int:
        """Innermost region that holds slot `time`; `TOP_LEVEL` outside the schedule."""
        return self.instructions[time].level if 0 <= time < self.num_slots else TOP_LEVEL

    def multiplicity(self, level: int) -> float:
        """How often code of that level runs in one run of the program."""
        return 1.0 if level == TOP_LEVEL else self.regions[level].multiplicity

    def level_end(self, level: int) -> int:
        """End of a level's region; `T` for the top level."""
        return self.num_slots if level == TOP_LEVEL else self.regions[level].end

    def outwards(self, level: int) -> list[int]:
        """The level and all around it, from the innermost region to the top level."""
        levels = [level]
        while levels[-1] != TOP_LEVEL:
            levels.append(self.regions[levels[-1]].parent)
        return levels

    def loop_around(self, level: int) -> int:
        """The level itself, or, of a branch, that of the loop around its conditional."""
        around = self.outwards(level)
        return next(x for x in around if x == TOP_LEVEL or self.regions[x].kind != "branch")

    def ends_at_level(self, start: int, end: int, level: int) -> bool:
        """Whether what begins at slot `start`, at that level, ends there at `end`.

        An end where a region begins is before the region, one where it ends is after it.
        """
        crosses = any(start < region.start < end < region.end for region in self.regions)
        return end <= self.level_end(level) and not crosses
