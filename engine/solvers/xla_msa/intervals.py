"""When to start a copy: elapsed times between slots, and XLA's prefetch interval picker.

Starts are exclusive (the copy may use the slots after it), as in XLA. Source: the spec of
`CostAnalysisPrefetchIntervalPicker`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from engine.program.model import Program
from engine.solvers.xla_msa.levels import Levels
from engine.solvers.xla_msa.options import MsaOptions

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
