"""What placed groups have taken: addresses in time, repacked or not, and bandwidth of copies."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.plan.model import Copy
from engine.program.model import TOP_LEVEL, Program
from engine.solvers.xla_msa.slots import ElapsedTimes, IntervalPicker, Levels, MsaOptions, Visit

_Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes `[offset, offset + size)` during slots `[start, end)`."""

    start: int
    end: int
    offset: int
    size: int


class RangeMax:
    """Maximum over any range of a fixed sequence, by a sparse table."""

    def __init__(self, items: Sequence[int]) -> None:
        self._rows = [np.asarray(items, np.int64)]
        while 2 ** len(self._rows) <= len(items):
            row, half = self._rows[-1], 2 ** (len(self._rows) - 1)
            self._rows.append(np.maximum(row[:-half], row[half:]))

    def over(self, start: int, end: int) -> int:
        """Maximum of the items `[start, end)`; 0 for an empty range."""
        if end <= start:
            return 0
        level = (end - start).bit_length() - 1
        row = self._rows[level]
        return int(max(row[start], row[end - 2**level]))


class Heap:
    """Blocks by number; the newest can be taken back, and all can be moved at once.

    Slots run from -1 (before the program) to its end; `reserved[t]` are the scratch bytes of `t`.
    `followers` maps a block's number to that of a later block that must share its offset.
    """

    def __init__(self, capacity: int, alignment: int, reserved: Sequence[int]) -> None:
        self.capacity = capacity
        self.alignment = alignment
        self._reserved = RangeMax(reserved)
        self._used: _Ints = np.asarray([0, *reserved], np.int64)
        self._rows: _Ints = np.zeros((4, 64), np.int64)
        self._count = 0
        self.followers: dict[int, int] = {}

    def __len__(self) -> int:
        return self._count

    def block(self, number: int) -> Block:
        """The block of that number."""
        start, end, low, high = (int(x) for x in self._rows[:, number])
        return Block(start, end, low, high - low)

    def place(self, size: int, *spans: tuple[int, int]) -> int | None:
        """Best-fit offset for `size` bytes over all `[start, end)`; None where nothing fits.

        The smallest gap wins, then the lowest; the open end above all blocks comes last.
        """
        lows, tops = self._used_ranges(spans)
        begins = -(-np.concatenate([[0], tops]) // self.alignment) * self.alignment
        spaces = lows - begins[:-1]
        fitting = np.flatnonzero(spaces >= size)
        if len(fitting):
            return int(begins[fitting[np.argmin(spaces[fitting])]])
        return int(begins[-1]) if int(begins[-1]) + size <= self.capacity else None

    def free_until(self, offset: int, size: int, start: int, end: int) -> int:
        """The latest time up to `end` until which those bytes are free from `start` on."""
        starts, ends, lows, highs = self._rows[:, : self._count]
        hit = (starts < end) & (ends > start) & (lows < offset + size) & (highs > offset)
        free = min(end, max(start, int(starts[hit].min()))) if hit.any() else end
        if self._reserved.over(max(start, 0), free) > offset:
            free = self._first_scratch(offset, max(start, 0), free)
        return free

    def add(self, block: Block) -> int:
        """Take the bytes; returns the block's number."""
        if self._count == self._rows.shape[1]:
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)], axis=1)
        top = block.offset + block.size
        self._rows[:, self._count] = (block.start, block.end, block.offset, top)
        self._used[block.start + 1 : block.end + 1] += block.size
        self._count += 1
        return self._count - 1

    def extend(self, number: int, end: int) -> None:
        """Let a block stand until `end`."""
        block = self.block(number)
        self._used[block.end + 1 : end + 1] += block.size
        self._rows[1, number] = end

    def truncate(self, count: int) -> None:
        """Take back all blocks but the first `count`."""
        for number in range(count, self._count):
            block = self.block(number)
            self._used[block.start + 1 : block.end + 1] -= block.size
        self._count = count

    def move_all(self, offsets: Sequence[int]) -> None:
        """Give every block a new offset."""
        sizes = self._rows[3, : self._count] - self._rows[2, : self._count]
        self._rows[2, : self._count] = offsets
        self._rows[3, : self._count] = self._rows[2, : self._count] + sizes

    def first_roomy(self, start: int, end: int, size: int) -> int:
        """Earliest slot from which `size` more bytes fit, gaps or not, in every slot to `end`."""
        crowded = np.flatnonzero(self._used[start + 1 : end + 1] + size > self.capacity)
        return start + 1 + int(crowded[-1]) if len(crowded) else start

    def _first_scratch(self, offset: int, start: int, end: int) -> int:
        while end - start > 1:
            middle = (start + end) // 2
            if self._reserved.over(start, middle) > offset:
                end = middle
            else:
                start = middle
        return start

    def _used_ranges(self, spans: Sequence[tuple[int, int]]) -> tuple[_Ints, _Ints]:
        """Low ends of the blocks met in the spans, ascending, and the tops reached so far."""
        starts, ends, lows, highs = self._rows[:, : self._count]
        met = np.zeros(self._count, np.bool_)
        scratch = 0
        for start, end in spans:
            met |= (starts < end) & (ends > start)
            scratch = max(scratch, self._reserved.over(max(start, 0), end))
        low = np.concatenate([[0], lows[met]])
        high = np.concatenate([[scratch], highs[met]])
        order = np.argsort(low, kind="stable")
        return low[order], np.maximum.accumulate(high[order])


def repack_order(blocks: Sequence[Block], followers: Mapping[int, int]) -> list[int]:
    """Numbers of the blocks that lead: longest duration first, then largest, then first.

    A block with a follower lasts from its own start to the follower's end.
    """

    def key(number: int) -> tuple[int, int, int]:
        block = blocks[number]
        end = blocks[followers[number]].end if number in followers else block.end
        return block.start - end, -block.size, number

    led = set(followers.values())
    return sorted((n for n in range(len(blocks)) if n not in led), key=key)


def repack(heap: Heap, reserved: Sequence[int]) -> bool:
    """Place all blocks anew by best fit; keeps the old offsets and is False if one does not fit.

    `reserved`: scratch bytes per slot, which stay at offset 0.
    """
    blocks = [heap.block(number) for number in range(len(heap))]
    fresh = Heap(heap.capacity, heap.alignment, reserved)
    offsets = [0] * len(blocks)
    for number in repack_order(blocks, heap.followers):
        members = [number]
        if number in heap.followers:
            members.append(heap.followers[number])
        spans = [(blocks[m].start, blocks[m].end) for m in members]
        offset = fresh.place(blocks[number].size, *spans)
        if offset is None:
            return False
        for member in members:
            block = blocks[member]
            fresh.add(Block(block.start, block.end, offset, block.size))
            offsets[member] = offset
    heap.move_all(offsets)
    return True


SCALE = 2**40


@dataclass(frozen=True, slots=True)
class Job:
    """A copy that may use the slots strictly between `start` and `end`; `work` is scaled."""

    start: int
    end: int
    work: int


class CopyServer:
    """Serves jobs in the order of their starts; a new job may delay those that start later.

    `seconds[t]` is what slot `t` can serve. With `ready[t]` the sum over the slots before `t`, a
    job that begins at position `p` of that sum ends at `p + work`, and is in time if that is at
    most `ready[end]`.
    """

    def __init__(self, seconds: Sequence[float]) -> None:
        self._ready = [0, *accumulate(int(s * SCALE) for s in seconds)]
        self._jobs: list[Job] = []
        self._starts: list[int] = []
        self._finish: list[int] = []

    def has_room(self, start: int, end: int, seconds: float) -> bool:
        """Whether a copy fits strictly between `start` and `end` with all others still in time."""
        job = Job(start, end, int(seconds * SCALE))
        return not job.work or self._delayed(job) is not None

    def book(self, start: int, end: int, seconds: float) -> None:
        """Add a copy for which `has_room` holds."""
        job = Job(start, end, int(seconds * SCALE))
        finish = self._delayed(job) if job.work else None
        if finish is None:
            assert not job.work, "booked a copy that has no room"
            return
        position = bisect_right(self._starts, start)
        self._starts.insert(position, start)
        self._jobs.insert(position, job)
        self._finish.insert(position, 0)
        self._finish[position : position + len(finish)] = finish

    def snapshot(self) -> tuple[list[Job], list[int], list[int]]:
        """The state, for `restore`."""
        return list(self._jobs), list(self._starts), list(self._finish)

    def restore(self, state: tuple[list[Job], list[int], list[int]]) -> None:
        """Go back to a snapshot."""
        self._jobs, self._starts, self._finish = list(state[0]), list(state[1]), list(state[2])

    def _delayed(self, new: Job) -> list[int] | None:
        """Finishing positions of `new` and of the jobs that it delays; None if one is late."""
        position = bisect_right(self._starts, new.start)
        served = self._finish[position - 1] if position else 0
        finish: list[int] = []
        for index in range(position - 1, len(self._jobs)):
            job = new if index < position else self._jobs[index]
            served = max(served, self._ready[job.start + 1]) + job.work
            if index >= position and served == self._finish[index]:
                break
            if served > self._ready[max(job.end, job.start + 1)]:
                return None
            finish.append(served)
        return finish


@dataclass
class OutstandingCopies:
    """Counts copies whose windows overlap a given one."""

    limit: int
    _starts: list[int] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)

    def has_room(self, start: int, end: int) -> bool:
        """Whether one more copy with the window `[start, end]` stays within the limit."""
        begun = bisect_right(self._starts, end)
        over = bisect_right(self._ends, start - 1)
        return self.limit < 0 or begun - over < self.limit

    def add(self, start: int, end: int) -> None:
        """Add a copy with the window `[start, end]`."""
        insort(self._starts, start)
        insort(self._ends, end)

    def snapshot(self) -> tuple[list[int], list[int]]:
        """The state, for `restore`."""
        return list(self._starts), list(self._ends)

    def restore(self, state: tuple[list[int], list[int]]) -> None:
        """Go back to a snapshot."""
        self._starts, self._ends = list(state[0]), list(state[1])


@dataclass
class Run:
    """A stay being made: one block of the heap, how it is filled and emptied, whom it serves."""

    group: int
    block: int
    prefetch: Copy | None = None
    writebacks: list[Copy] = field(default_factory=list)
    touches: list[int] = field(default_factory=list)

    @property
    def copies(self) -> list[Copy]:
        """The copies into and out of the stay."""
        return [*([self.prefetch] if self.prefetch else []), *self.writebacks]


class CopyLane:
    """One direction of copying: its bandwidth and its limit of outstanding copies."""

    def __init__(self, seconds: list[float], limit: int) -> None:
        self._server = CopyServer(seconds)
        self._outstanding = OutstandingCopies(limit)

    def has_room(self, start: int, end: int, copy_s: float) -> bool:
        """Whether a copy strictly between two slots keeps within bandwidth and limit."""
        return self._outstanding.has_room(start, end) and self._server.has_room(start, end, copy_s)

    def book(self, start: int, end: int, copy_s: float) -> None:
        """Add a copy for which `has_room` holds."""
        self._server.book(start, end, copy_s)
        self._outstanding.add(start, end)

    def snapshot(self) -> tuple[Any, Any]:
        """The state, for `restore`."""
        return self._server.snapshot(), self._outstanding.snapshot()

    def restore(self, state: tuple[Any, Any]) -> None:
        """Go back to a snapshot."""
        self._server.restore(state[0])
        self._outstanding.restore(state[1])


class Bookings:
    """All that the groups share while a plan is made."""

    def __init__(self, program: Program, options: MsaOptions) -> None:
        hardware = program.hardware
        self.program = program
        self.options = options
        self.levels = Levels(program)
        self.times = ElapsedTimes(program, self.levels, options.while_execution_count)
        self.reserved = [i.reserved_bytes for i in program.instructions]
        # What is scratch in every slot is not part of XLA's heap.
        heap_bytes = hardware.fast_bytes - min(self.reserved, default=0)
        self.picker = IntervalPicker(
            self.times, self.levels, options, heap_bytes / hardware.bandwidth
        )
        self.heap = Heap(hardware.fast_bytes, hardware.alignment, self.reserved)
        self.prefetches = CopyLane(self.times.once, options.max_outstanding_prefetches)
        self.evictions = CopyLane(self.times.once, options.max_outstanding_evictions)

    def snapshot(self) -> tuple[Any, ...]:
        """The state, for `restore`."""
        return len(self.heap), self.prefetches.snapshot(), self.evictions.snapshot()

    def restore(self, state: tuple[Any, ...]) -> None:
        """Go back to a snapshot; blocks placed before it must not have been extended since."""
        self.heap.truncate(state[0])
        self.prefetches.restore(state[1])
        self.evictions.restore(state[2])


Wait = tuple[int, bool]
"""Until when a stay must last to serve a use, and whether the wait for it is short enough."""


def waits(bookings: Bookings, visit: Visit) -> Iterator[Wait]:
    """The waits of a stay through the visit, one per use in time order.

    A loop is a use at its start, and what follows it waits since its end.
    """
    program, region = bookings.program, visit.region
    last = bookings.levels.start(region) - 1
    for item in visit.items:
        if isinstance(item, Visit):
            time = program.regions[item.region].start
            yield time + 1, bookings.picker.may_stay(last, time, region)
            yield from waits(bookings, item)
            last = program.regions[item.region].end - 1
        else:
            touch = program.touches[item]
            yield touch.end, bookings.picker.may_stay(last, touch.time, region)
            last = touch.time
    if region != TOP_LEVEL or visit.is_sink:
        end = program.level_end(region)
        yield end, bookings.picker.may_stay(last, end, region)


def may_cover(bookings: Bookings, visit: Visit) -> bool:
    """Whether the visited region reads the group, and every wait inside is short enough."""
    return any(bookings.program.touches[k].reads for k in visit.touches) and all(
        is_short for _, is_short in waits(bookings, visit)
    )


def later_holds(all_waits: Iterable[Wait], hold_until: int) -> list[int]:
    """Ends of a stay: `hold_until`, and those of each further use that needs no copy."""
    holds = [hold_until]
    for end, is_short in all_waits:
        if end > holds[-1]:
            if not is_short:
                break
            holds.append(end)
    return holds
