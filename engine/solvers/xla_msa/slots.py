"""Slots and loops as copies see them: levels, uses as a tree, and when a prefetch may start."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from engine.program.model import TOP_LEVEL, Program


@dataclass(frozen=True)
class MsaOptions:
    """Options of XLA's memory space assignment, named after its flags.

    The three overlap ratios compare the time between a copy's start and its use with the copy's
    own time; the largest counts in copies of the whole fast memory. `while_execution_count` is the
    trip count that the heuristic assumes for every loop. `priorities` moves groups in the order of
    placement (lower is earlier, 0 where absent), like XLA's sort order overrides.

    The compiler's flag for repacking says 4, but its plans come out the same with 0, also where
    repacking would change ours: none of its repackers is switched on. So the default is 0 here.
    """

    min_overlap_ratio: float = 1.0
    preferred_overlap_ratio: float = 2.0
    max_overlap_to_mem_size_ratio: float = 8.0
    max_outstanding_prefetches: int = 40
    max_outstanding_evictions: int = 40
    max_retries: int = 2
    max_repacks: int = 0
    inefficient_use_to_copy_ratio: float = 0.5
    while_execution_count: float = 5.0
    frees_cross_program_prefetch: bool = True
    max_occupied_ratio: float = 0.6
    priorities: Mapping[int, int] = field(default_factory=dict)


class Levels:
    """Answers about the levels of a program's slots (`docs/model.md`, Time and loops)."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.slots: dict[int, list[int]] = {TOP_LEVEL: []}
        for index in range(len(program.regions)):
            self.slots[index] = []
        for time, instruction in enumerate(program.instructions):
            self.slots[instruction.level].append(time)

    def first_from(self, level: int, time: int) -> int | None:
        """First slot of that level at or after `time`."""
        slots = self.slots[level]
        position = bisect_left(slots, time)
        return slots[position] if position < len(slots) else None

    def last_until(self, level: int, time: int) -> int | None:
        """Last slot of that level at or before `time`; the end of the level's region counts."""
        end = self._program.level_end(level)
        if time >= end:
            return end
        slots = self.slots[level]
        position = bisect_right(slots, time) - 1
        return slots[position] if position >= 0 else None

    def start(self, level: int) -> int:
        """First slot of a level's region; 0 for the top level."""
        return 0 if level == TOP_LEVEL else self._program.regions[level].start

    def path(self, level: int) -> list[int]:
        """The regions that hold a level, outermost first, itself included."""
        return self._program.outwards(level)[-2::-1]

    def loop_depth(self, level: int) -> int:
        """How many while loops hold a level; branches do not count."""
        return sum(self._program.regions[r].kind == "while" for r in self.path(level))


@dataclass(frozen=True, slots=True)
class Visit:
    """What one group meets in one region (or, for `TOP_LEVEL`, in the whole program).

    `items` are numbers of touches directly at this level and inner visits, in time order;
    `touches` are all touches inside. `is_sink`: the slow copy must hold the content at the end.
    """

    region: int
    items: tuple[int | Visit, ...]
    touches: tuple[int, ...]
    is_sink: bool


class VisitTree:
    """Builds the visits of any group of a program."""

    def __init__(self, program: Program, levels: Levels) -> None:
        self._program = program
        self._paths = {level: levels.path(level) for level in levels.slots}
        self._sinks = {(sink.region, sink.group) for sink in program.sinks}

    def of(self, group: int) -> Visit:
        """The whole program as the group meets it."""
        return self._visit(group, TOP_LEVEL, self._program.touches_of_group[group], 0)

    def _visit(self, group: int, region: int, touches: Sequence[int], depth: int) -> Visit:
        items: list[int | Visit] = []
        inner: list[int] = []
        within = TOP_LEVEL
        for touch in touches:
            path = self._paths[self._program.level_at(self._program.touches[touch].time)]
            entered = path[depth] if len(path) > depth else TOP_LEVEL
            if inner and entered != within:
                items.append(self._visit(group, within, inner, depth + 1))
                inner = []
            within = entered
            if entered == TOP_LEVEL:
                items.append(touch)
            else:
                inner.append(touch)
        if inner:
            items.append(self._visit(group, within, inner, depth + 1))
        return Visit(region, tuple(items), tuple(touches), (region, group) in self._sinks)


MIN_STEP_SHARE = 100
"""Once only earlier starts are left, each must add this part of the longest overlap."""


class ElapsedTimes:
    """Seconds between slots with everything in slow memory, as XLA's roofline counts them.

    `once[t]`: seconds of one execution of slot `t`, the larger of its compute and memory times.
    Between two slots, a loop counts `while_execution_count` times, but the loops that hold both
    count once.
    """

    def __init__(self, program: Program, levels: Levels, while_execution_count: float) -> None:
        drawn = [0] * program.num_slots
        for access in program.accesses:
            drawn[access.time] += access.slow_bytes
        self.once = [
            max(least_s, slow_bytes / program.hardware.bandwidth)
            / program.multiplicity(instruction.level)
            for instruction, least_s, slow_bytes in zip(
                program.instructions, program.least_s, drawn, strict=True
            )
        ]
        self.weights = {
            level: while_execution_count ** levels.loop_depth(level) for level in levels.slots
        }
        weighted = (
            seconds * self.weights[instruction.level]
            for seconds, instruction in zip(self.once, program.instructions, strict=True)
        )
        self.prefix = [0.0, *accumulate(weighted)]

    def between(self, start: int, end: int, level: int) -> float:
        """Seconds strictly between two slots; `level` is the innermost that holds both."""
        if end <= start:
            return 0.0
        return (self.prefix[end] - self.prefix[start + 1]) / self.weights[level]


class IntervalPicker:
    """Decides how long values may stay without use and when copies start."""

    def __init__(
        self, times: ElapsedTimes, levels: Levels, options: MsaOptions, memory_copy_s: float
    ) -> None:
        """`memory_copy_s`: seconds to copy the whole fast memory."""
        self._times = times
        self._levels = levels
        self._options = options
        self._longest_s = options.max_overlap_to_mem_size_ratio * memory_copy_s
        self._ready = {
            level: [times.prefix[slot] for slot in slots] for level, slots in levels.slots.items()
        }

    def may_stay(self, start: int, end: int, level: int) -> bool:
        """Whether a value may wait in fast memory from slot `start` to slot `end`."""
        return self._times.between(start, end, level) < self._longest_s

    def preferred_eviction_end(
        self, start: int, latest: int, level: int, copy_s: float, retry: int
    ) -> int:
        """First slot until which an eviction after `start` overlaps as long as preferred."""
        wanted = (1 + 2 * retry) * self._options.preferred_overlap_ratio * copy_s
        prefix = self._times.prefix
        goal = prefix[start + 1] + wanted * self._times.weights[level]
        return min(latest, max(start + 1, bisect_left(prefix, goal)))

    def starts(
        self, earliest: int, end: int, level: int, copy_s: float, gain_s: float
    ) -> Sequence[int]:
        """Exclusive starts that are allowed for a copy needed at slot `end`, in time order.

        `gain_s`: seconds that the user of the copy saves. Empty where the range is too short.
        """
        slots, ready = self._levels.slots[level], self._ready[level]
        weight, until = self._times.weights[level], self._times.prefix[end]
        shortest = max(0.0, self._options.min_overlap_ratio * copy_s - gain_s)
        after = min(bisect_right(ready, until - shortest * weight), bisect_right(slots, end))
        first = bisect_left(slots, earliest + 1)
        if after <= first:
            return ()
        first = max(first, min(bisect_left(ready, until - self._longest_s * weight), after - 1))
        return [slot - 1 for slot in slots[first:after]]

    def preferred(self, starts: Sequence[int], end: int, level: int, copy_s: float) -> int:
        """Position of the start whose overlap is nearest to the preferred one (ties: earliest)."""
        wanted = self._options.preferred_overlap_ratio * copy_s

        def shortness(start: int) -> float:
            return -self._times.between(start, end, level)

        after = bisect_left(starts, -wanted, key=shortness)
        nearest = []
        for position in (after - 1, after):
            if 0 <= position < len(starts):
                gap = shortness(starts[position])
                nearest.append((abs(wanted + gap), bisect_left(starts, gap, key=shortness)))
        return min(nearest)[1]

    def search(self, starts: Sequence[int], end: int, level: int, copy_s: float) -> Iterator[int]:
        """The starts in the order of trial: the preferred one, then later, earlier, later …"""
        first = self.preferred(starts, end, level, copy_s)
        yield starts[first]
        later, earlier = first + 1, first - 1
        longest = self._times.between(starts[0], end, level)
        reached = self._times.between(starts[first], end, level)
        while later < len(starts) or earlier >= 0:
            if later < len(starts):
                yield starts[later]
                later += 1
                step = 0.0
            else:
                step = longest / MIN_STEP_SHARE
            while earlier >= 0:
                overlap = self._times.between(starts[earlier], end, level)
                earlier -= 1
                if overlap >= reached + step:
                    reached = overlap
                    yield starts[earlier + 1]
                    break
