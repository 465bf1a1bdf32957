"""The cascade of XLA's MSA for one group: stay without a copy, else evict, else prefetch.

A group is walked use by use. Each *segment* reaches from the last definition or use to the next
stop: a use, a region that the group enters, or a time by which the slow copy must be valid.
Source: the spec of `AllocateSegment`, `Evict` and `Prefetch`.

Simpler than XLA where loops are concerned: a stay that enters a region covers the region whole,
with all its uses, or the group is in slow memory when the region begins; a stay is never given up
and taken again inside a region that it entered.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from engine.plan.model import BEFORE_START, Copy
from engine.program.model import INPUT_TIME, TOP_LEVEL, Program, Touch
from engine.solvers.xla_msa.memory import Block, Bookings, Run, later_holds, may_cover, waits
from engine.solvers.xla_msa.slots import Visit


class Uncommit(Exception):
    """The group cannot go on from what it has placed: all of it must be undone."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a segment at slot `time`.

    `hold_until`: the stay that serves the stop must last so long. `copy_end`: deadline of copies
    that serve it, or None where no slot can be one. `gain_s`: what the user saves if served fast.
    """

    time: int
    hold_until: int
    copy_end: int | None
    gain_s: float = 0.0
    must_be_slow: bool = False


class GroupPlacer:
    """One attempt to place one group; books as it goes.

    `slow_touches` must be served from slow memory. `runs` and `is_out_of_memory` are the result.
    """

    def __init__(
        self,
        bookings: Bookings,
        visit: Visit,
        group: int,
        slow_touches: Collection[int],
        retry: int,
    ) -> None:
        self._book = bookings
        self._visit = visit
        self._group = group
        self._slow_touches = slow_touches
        self._retry = retry
        program = bookings.program
        self._size = program.groups[group].size_bytes
        self._copy_s = self._size / program.hardware.bandwidth
        self._waits = list(waits(bookings, visit))
        self.runs: list[Run] = []
        self.is_out_of_memory = False
        self._level = TOP_LEVEL
        self._run: Run | None = None
        self._pending: int | None = None
        self._last = INPUT_TIME
        self._made = INPUT_TIME
        self._written = INPUT_TIME
        self._slow_from = INPUT_TIME if program.groups[group].is_input else None

    def place(self) -> None:
        """Walk the whole program. Raises Uncommit."""
        first = self._touch(self._visit.touches[0])
        if self._slow_from is None and first.reads:
            return
        self._walk(self._visit)

    def _touch(self, number: int) -> Touch:
        return self._book.program.touches[number]

    def _walk(self, visit: Visit) -> None:
        outer, self._level = self._level, visit.region
        for item in visit.items:
            if isinstance(item, Visit):
                self._enter(item)
            else:
                self._use(item)
        if visit.is_sink and self._slow_from is None:
            end = self._book.program.level_end(visit.region)
            self._segment(Stop(end, end, end, must_be_slow=True))
        self._level = outer

    def _use(self, number: int) -> None:
        touch = self._touch(number)
        is_forced = number in self._slow_touches
        if touch.reads:
            gain = self._gain(touch)
            stop = Stop(touch.time, touch.end, touch.time, gain, is_forced)
            is_fast = self._segment(stop)
            if self._run and is_fast:
                self._run.touches.append(number)
            if touch.writes:
                self._rewrite(touch.end - 1, is_fast)
        else:
            self._run = None
            self._pending = None if is_forced else number
            self._slow_from = touch.end - 1 if is_forced else None
            self._written = touch.end - 1
        self._last = touch.time

    def _gain(self, touch: Touch) -> float:
        program = self._book.program
        saved = sum(
            program.accesses[a].saving_s for a in touch.accesses if not program.accesses[a].is_write
        )
        return saved / program.multiplicity(program.level_at(touch.time))

    def _rewrite(self, time: int, is_fast: bool) -> None:
        """The content is made anew by the end of slot `time`, in the place where it was."""
        if is_fast:
            self._made, self._slow_from = time, None
        else:
            self._run, self._slow_from = None, time

    def _enter(self, visit: Visit) -> None:
        """Cover a region, or come to it in slow memory and walk its inside."""
        region = self._book.program.regions[visit.region]
        if self._run or self._pending is not None or self._slow_from is not None:
            if self._segment(self._region_stop(visit)):
                assert self._run is not None
                self._run.touches.extend(visit.touches)
                if any(self._touch(k).writes for k in visit.touches):
                    self._made, self._slow_from = region.end - 1, None
                self._last = region.end - 1
                return
            self._run, self._last = None, region.start - 1
        self._walk(visit)
        # What began inside must end inside; what lives on is in slow memory by now.
        self._run, self._pending, self._last = None, None, region.end - 1
        self._slow_from = region.end - 1

    def _region_stop(self, visit: Visit) -> Stop:
        region = self._book.program.regions[visit.region]
        copy_end = self._book.levels.last_until(self._level, region.start - 1)
        is_slow = not may_cover(self._book, visit) or any(
            k in self._slow_touches for k in visit.touches
        )
        return Stop(region.start, region.end, copy_end, must_be_slow=is_slow)

    def _segment(self, stop: Stop) -> bool:
        """Serve one stop; whether from fast memory. Raises Uncommit."""
        if not stop.must_be_slow and self._stay(stop):
            return True
        if self._pending is not None:
            self._pending, self._slow_from = None, self._written
        elif self._slow_from is None:
            self._evict(stop)
        return not stop.must_be_slow and self._prefetch(stop)

    def _stay(self, stop: Stop) -> bool:
        """Go on in the place where the group is, or begin where it is made."""
        if self._run is None and self._pending is None:
            return False
        if not self._book.picker.may_stay(self._last, stop.time, self._level):
            return False
        if self._run is None:
            return self._begin(stop)
        heap = self._book.heap
        block = heap.block(self._run.block)
        if stop.hold_until > block.end:
            free = heap.free_until(block.offset, block.size, block.end, stop.hold_until)
            if free < stop.hold_until:
                self.is_out_of_memory = True
                return False
            heap.extend(self._run.block, stop.hold_until)
        return True

    def _begin(self, stop: Stop) -> bool:
        """Place the pending definition so that it lasts until the stop."""
        assert self._pending is not None
        offset = self._find(self._last, stop)
        if offset is None:
            self.is_out_of_memory = True
            return False
        self._open(self._last, stop.hold_until, offset).touches.append(self._pending)
        self._made, self._pending = self._written, None
        return True

    def _open(self, start: int, end: int, offset: int) -> Run:
        number = self._book.heap.add(Block(start, end, offset, self._size))
        self._run = Run(self._group, number)
        self.runs.append(self._run)
        return self._run

    def _find(self, start: int, stop: Stop) -> int | None:
        """A place from `start` to the stop, if possible one that is free for later uses too."""
        holds = later_holds(self._waits, stop.hold_until)
        best = self._book.heap.place(self._size, (start, holds[0]))
        low, high = 0, len(holds) - 1
        while best is not None and low < high:
            middle = (low + high + 1) // 2
            offset = self._book.heap.place(self._size, (start, holds[middle]))
            if offset is None:
                high = middle - 1
            else:
                best, low = offset, middle
        return best

    def _evict(self, stop: Stop) -> None:
        """Write the content back and give up the place. Raises Uncommit."""
        book, run = self._book, self._run
        assert run is not None
        block = book.heap.block(run.block)
        first = book.levels.first_from(self._level, self._made + 1)
        wanted = self._eviction_end(stop, block)
        deadline = None if wanted is None else book.levels.last_until(self._level, wanted)
        if first is None or deadline is None or deadline < first:
            raise Uncommit
        self._book_eviction(first, deadline)
        hold = min(deadline + 1, book.program.level_end(self._level))
        if hold > block.end:
            book.heap.extend(run.block, hold)
        run.writebacks.append(Copy(self._group, False, first, deadline))
        self._run, self._slow_from = None, deadline

    def _eviction_end(self, stop: Stop, block: Block) -> int | None:
        """How long an eviction may take: the preferred time, as far as the place is free."""
        book = self._book
        if stop.copy_end is None:
            return None
        preferred = book.picker.preferred_eviction_end(
            self._made, stop.copy_end, self._level, self._copy_s, self._retry
        )
        wanted = min(max(preferred, block.end - 1), stop.copy_end)
        limit = min(wanted + 1, book.program.level_end(self._level))
        if limit <= block.end:
            return wanted
        free = book.heap.free_until(block.offset, block.size, block.end, limit)
        return wanted if free == limit else free - 1

    def _book_eviction(self, first: int, deadline: int) -> None:
        """Take bandwidth; the last retry takes none where there is none. Raises Uncommit."""
        lane = self._book.evictions
        is_last_retry = self._retry == self._book.options.max_retries - 1
        for copy_s in [self._copy_s, 0.0] if is_last_retry else [self._copy_s]:
            if lane.has_room(first - 1, deadline, copy_s):
                lane.book(first - 1, deadline, copy_s)
                return
        raise Uncommit

    def _prefetch(self, stop: Stop) -> bool:
        """Bring the content in for the stop, at the first start that the picker offers and fits."""
        end, starts = stop.copy_end, self._prefetch_starts(stop)
        if end is None or not starts:
            return False
        if self._find(starts[-1] + 1, stop) is None:
            self.is_out_of_memory = True
            return False
        failed = INPUT_TIME - 1
        for start in self._book.picker.search(starts, end, self._level, self._copy_s):
            if start <= failed:
                self.is_out_of_memory = True
                break
            if not self._book.prefetches.has_room(start, end, self._copy_s):
                continue
            offset = self._find(start + 1, stop)
            if offset is not None:
                self._book.prefetches.book(start, end, self._copy_s)
                run = self._open(start + 1, stop.hold_until, offset)
                run.prefetch = Copy(self._group, True, start + 1, end)
                return True
            failed = start
        return False

    def _prefetch_starts(self, stop: Stop) -> Sequence[int]:
        """Exclusive starts of a prefetch that are allowed and not hopeless, in time order."""
        book, end = self._book, stop.copy_end
        assert self._slow_from is not None
        if end is None:
            return ()
        held = max((book.heap.block(run.block).end for run in self.runs), default=0)
        earliest = max(self._slow_from, book.levels.start(self._level) - 1, held - 1)
        if earliest >= end:
            return ()
        roomy = book.heap.first_roomy(earliest + 1, end, self._size)
        if roomy >= end > earliest + 1:
            self.is_out_of_memory = True
            return ()
        return book.picker.starts(roomy - 1, end, self._level, self._copy_s, stop.gain_s)


def candidates(program: Program) -> list[int]:
    """Read-only inputs, in XLA's order: largest first, then those with the largest users' results.

    Inputs that look like activations are left out.
    """
    written = [0] * program.num_slots
    for access in program.accesses:
        if access.is_write:
            written[access.time] += program.values[access.value].size_bytes

    def key(group: int) -> tuple[int, ...]:
        times = [program.touches[k].time for k in program.touches_of_group[group]]
        results = sum(written[t] for t in times)
        return -program.groups[group].size_bytes, -results, times[-1], group

    fit = [
        g
        for g, group in enumerate(program.groups)
        if group.is_input
        and group.may_be_fast
        and not (group.is_written or group.is_live_out)
        and program.touches_of_group[g]
        and not any(program.touches[k].must_be_slow for k in program.touches_of_group[g])
        and group.size_bytes
        and not _looks_like_activation(program, g)
    ]
    return sorted(fit, key=key)


def _looks_like_activation(program: Program, group: int) -> bool:
    """Whether a loop or branch uses the input, or its first dimension is the batch.

    XLA looks for the data side of dots and convolutions, also inside fused computations, and takes
    every operand of a loop for one. A program does not hold the fused computations, but its
    provenance may state the batch.
    """
    times = [program.touches[k].time for k in program.touches_of_group[group]]
    if any(program.level_at(t) != TOP_LEVEL for t in times):
        return True
    batch = program.provenance.get("batch")
    first = program.values[program.groups[group].values[0]]
    match = re.search(r"\[(\d+)[],]", first.shape)
    return match is not None and batch not in (None, 1) and int(match[1]) == batch


def place_cross_program(bookings: Bookings) -> list[Run]:
    """Book the cross-program prefetches; the stays, with those that bring a freed one back."""
    program = bookings.program
    runs: list[Run] = []
    for group in candidates(program)[: program.hardware.max_cross_program_prefetches]:
        size = program.groups[group].size_bytes
        offset = bookings.heap.place(size, (BEFORE_START, program.num_slots))
        if offset is None:
            continue
        runs.extend(_place(bookings, group, offset))
    return runs


def _place(bookings: Bookings, group: int, offset: int) -> list[Run]:
    program, heap = bookings.program, bookings.heap
    size, end = program.groups[group].size_bytes, program.num_slots
    touches = list(program.touches_of_group[group])
    used_until = max(program.touches[k].end for k in touches)
    start = _return_start(bookings, group, used_until)
    if start is None:
        number = heap.add(Block(BEFORE_START, end, offset, size))
        return [Run(group, number, touches=touches)]
    number = heap.add(Block(BEFORE_START, used_until, offset, size))
    back = heap.add(Block(start + 1, end, offset, size))
    heap.followers[number] = back
    bookings.prefetches.book(start, end, 0.0)
    return [
        Run(group, number, touches=touches),
        Run(group, back, prefetch=Copy(group, True, start + 1, end)),
    ]


def _return_start(bookings: Bookings, group: int, used_until: int) -> int | None:
    """Exclusive start of the copy that brings a freed input back; None if it should stay."""
    program, options, times = bookings.program, bookings.options, bookings.times
    end = program.num_slots
    wanted = sum(g.size_bytes for g in program.groups if g.may_be_fast)
    if not options.frees_cross_program_prefetch or wanted <= program.hardware.fast_bytes:
        return None
    copy_s = program.groups[group].size_bytes / program.hardware.bandwidth
    starts = bookings.picker.starts(used_until - 1, end, TOP_LEVEL, copy_s, 0.0)
    if not starts:
        return None
    start = starts[bookings.picker.preferred(starts, end, TOP_LEVEL, copy_s)]
    total = times.between(INPUT_TIME, end, TOP_LEVEL)
    occupied = times.between(INPUT_TIME, used_until, TOP_LEVEL)
    occupied += times.between(start, end, TOP_LEVEL)
    is_worth = total > 0 and occupied / total < options.max_occupied_ratio
    return start if is_worth and start >= used_until else None
