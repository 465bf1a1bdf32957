"""The plan that XLA's own solver chose, read off the HLO and buffer assignment it returned."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from engine.compiler.reading.held import (
    Held,
    delay_slices,
    housed,
    joined,
    kept_for_the_next_run,
    repacked,
    share_places,
    stays_of,
)
from engine.compiler.reading.matching import Matching
from engine.compiler.reading.observation import fast_accesses
from engine.errors import ProgramFormatError
from engine.plan.levels import level_of_interval
from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.program.hlo.alias import boundary
from engine.program.hlo.build import Imported
from engine.program.hlo.flow import Flow
from engine.program.hlo.record import COPY_DONE, COPY_START, JOIN, FlowRegion
from engine.program.io import content_hash
from engine.program.model import TOP_LEVEL, in_turn

_VALUE = re.compile(r"value: <\d+ (\S+?)(\{[\d,]*\})? @(\d+)> \(size=(\d+),offset=(\d+)\)")


def fast_offsets(buffers: str, space: int) -> dict[str, int]:
    """Offset of every value in memory space `space`, by label, from a buffer-assignment dump."""
    return {
        row[1] + (row[2] or "{}"): int(row[5])
        for row in _VALUE.finditer(buffers)
        if int(row[3]) == space
    }


def fast_end(buffers: str, space: int) -> int:
    """Where the last value in memory space `space` ends, by a buffer-assignment dump."""
    rows = (row for row in _VALUE.finditer(buffers) if int(row[3]) == space)
    return max((int(row[4]) + int(row[5]) for row in rows), default=0)


REPACKED = "packed anew: the buffer assignment was not at hand, or does not name all"
"""What a plan's notes say of its offsets, where they are not XLA's own."""


def read_plan(imported: Imported, flow: Flow, buffers: str | None, heap_base: int) -> Plan:
    """XLA's plan for the imported program.

    `flow` and `buffers` (the buffer assignment) come from the default compile. `heap_base`: where
    the compiler's heap begins in fast memory, above its scoped region; the dump's offsets count
    from there. Without `buffers` the offsets are our own, and the notes say so. Raises
    ProgramFormatError if `buffers` lacks what the compile has in fast memory.
    """
    return _Reader(imported, flow, buffers, heap_base).plan()


def read_own_plan(imported: Imported, flow: Flow, buffers: str | None, heap_base: int) -> Plan:
    """As `read_plan`, of a compile of our own, whose buffer assignment is surely its own.

    XLA's parser renames instructions whose names it has given away before, so that now and then
    the dump lacks a value; then the offsets are our own.
    """
    try:
        return read_plan(imported, flow, buffers, heap_base)
    except ProgramFormatError:
        if buffers is None:
            raise
        return read_plan(imported, flow, None, 0)


class _Reader:
    def __init__(self, imported: Imported, flow: Flow, buffers: str | None, heap_base: int) -> None:
        self.imported = imported
        self.program = imported.program
        self.flow = flow
        self.heap_base = heap_base
        self.matching = Matching(imported, flow)
        self.offsets = None if buffers is None else fast_offsets(buffers, self.matching.space)
        self.slot_of = self.matching.slot_of
        self.done_of = self._done_events()
        self.next_slot = self._next_slots()
        self.end_slots = [self._end_slot(region) for region in flow.regions]
        self.carried_ends = self._carried_ends()
        self.stands_for = self.matching.copies
        self.level_of = self._levels()

    def plan(self) -> Plan:
        held = self._held()
        if self.offsets is None:
            share_places(held)
        else:
            delay_slices(self.program, held)
        held = joined(held)
        kept_for_the_next_run(self.program, held, self._copies({}))
        stays = repacked(self.program, held) if self.offsets is None else stays_of(held)
        copies = self._copies({h.value: h.start for h in held})
        copies = housed(copies, stays)
        is_fast, dropped = self._flags(stays)
        notes: dict[str, object] = {"left_out_accesses": dropped}
        if self.offsets is None:
            notes["offsets"] = REPACKED
        return Plan(
            program_hash=content_hash(self.program),
            solver="xla_compiled",
            is_fast=tuple(is_fast),
            stays=tuple(sorted(stays, key=lambda s: (s.start, s.offset))),
            copies=tuple(copies),
            notes=notes,
        )

    def _next_slots(self) -> list[int]:
        """Per event of the compile, the slot of the next program instruction at or after it."""
        following = [self.program.num_slots] * (len(self.flow.events) + 1)
        for number in range(len(self.flow.events) - 1, -1, -1):
            following[number] = following[number + 1]
            if number in self.slot_of and number not in self.matching.delayed:
                following[number] = self.slot_of[number]
        return following

    def _held(self) -> list[Held]:
        """One entry per value of the compile that has a place in fast memory."""
        ends: dict[int, int] = defaultdict(int)
        for number, event in enumerate(self.flow.events):
            for _, value, _ in event.reads:
                if event.kind == COPY_START:
                    end = self.next_slot[self.done_of[number]]
                elif number in self.slot_of:
                    end = self._read_end(value, number)
                else:
                    end = self.next_slot[number]
                ends[value] = max(ends[value], end)
            if event.flight is not None and event.flight.done >= 0:
                for value in [*(v for _, v, _ in event.reads), *event.writes]:
                    ends[value] = max(ends[value], self.next_slot[event.flight.done])
        held = []
        for value, known in enumerate(self.flow.values):
            group = self.matching.group(value)
            if group is None or known.event < 0 or not self.matching.is_in_fast_memory(value):
                continue
            if self.matching.is_slice(value):
                continue
            starts = self._starts(value)
            if starts[0] >= self.program.num_slots:
                continue
            end = max(ends[value], starts[0] + 1, self.carried_ends.get(value, 0))
            starts = [*self._before_a_region(value, group, starts[0]), *starts]
            place = self._place(value)
            held.append(Held(value, group, place, starts[0], end, tuple(starts[1:])))
        return held

    def _place(self, value: int) -> int:
        """The offset, or without a dump of offsets a number that one place's values share."""
        if self.offsets is None:
            return self.flow.place_of[value]
        for label in self._labels(value):
            if label in self.offsets:
                return self.heap_base + self.offsets[label]
        raise ProgramFormatError(
            f"the buffer assignment has no offset of {self._labels(value)[0]}, which is in fast"
            " memory; it is of another compile: leave it out, and offsets are packed anew"
        )

    def _labels(self, value: int) -> list[str]:
        """XLA's names of a value: the program's and the compile's, as the parser may rename."""
        known = self.flow.values[value]
        if known.event not in self.slot_of:
            return [known.label]
        own = self.imported.flow.events[self.imported.events[self.slot_of[known.event]]]
        position = self.flow.events[known.event].writes.index(value)
        # Another compile may have made the same instruction under another name.
        return [self.imported.flow.values[own.writes[position]].label, known.label]

    def _starts(self, value: int) -> list[int]:
        """When the value's place begins to be held; a sliced prefetch has one time per slice."""
        event = self.flow.values[value].event
        if event in self.matching.delayed:
            return [self.next_slot[event]]
        if event in self.slot_of or event in self.stands_for:
            return [self.slot_of[event] if event in self.slot_of else self.stands_for[event]]
        if self.flow.events[event].kind == JOIN:
            slices = [v for _, v, _ in self.flow.events[event].reads]
            return sorted(self.next_slot[self.flow.values[v].event] for v in slices)
        if self._is_cross_program(event):
            return [BEFORE_START]
        return [self.next_slot[event]]

    def _before_a_region(self, value: int, group: int, start: int) -> list[int]:
        """The slot before `start` for a prefetch before a loop or branch that begins with `start`.

        A copy from `start` on that ends with the region or in it would be made again in each
        iteration. Empty where there is no such slot: another loop ends with it, or it writes the
        value.
        """
        event = self.flow.values[value].event
        if start <= 0 or event in self.stands_for:
            return []
        if self.flow.events[event].kind == JOIN:
            issued = min(self.flow.values[v].event for _, v, _ in self.flow.events[event].reads)
            deadline = self.next_slot[event]
        elif self.flow.events[event].kind == COPY_START:
            issued, deadline = event, self.next_slot[self.done_of[event]]
        else:
            return []
        own, level = self._level_of(issued), level_of_interval(self.program, start, deadline)
        is_inside = own != level and own in self.program.outwards(level)
        if not is_inside or self.program.level_at(start - 1) != own:
            return []
        touches = (self.program.touches[n] for n in self.program.touches_of_group[group])
        is_written = any(touch.time == start - 1 and touch.writes for touch in touches)
        return [] if is_written else [start - 1]

    def _level_of(self, event: int) -> int:
        """The innermost region of the program around an event of the compile."""
        number = self.flow.events[event].region
        while number >= 0 and self.level_of[number] == TOP_LEVEL:
            number = self.flow.regions[number].parent
        return TOP_LEVEL if number < 0 else self.level_of[number]

    def _levels(self) -> list[int]:
        """The program's region for each of the compile, by name and turn; else the top level."""
        names = in_turn(region.name for region in self.program.regions)
        levels = {name: level for level, name in enumerate(names)}
        return [levels.get(r, TOP_LEVEL) for r in in_turn(r.name for r in self.flow.regions)]

    def _is_cross_program(self, event: int) -> bool:
        instruction = self.flow.events[event].instruction
        return bool(instruction.HasField("cross_program_prefetch_index"))

    def _read_end(self, value: int, reader: int) -> int:
        """End of the place of a value read at event `reader`: past every loop that it entered."""
        born = self.flow.values[value].event
        end = self.slot_of[reader] + 1
        number = self.flow.events[reader].region
        while number >= 0:
            region = self.flow.regions[number]
            if not region.start <= born < region.end:
                end = max(end, self.end_slots[number])
            number = region.parent
        return end

    def _end_slot(self, region: FlowRegion) -> int:
        """The slot after the last program instruction of a region of the compile."""
        inside = [self.slot_of[e] for e in range(region.start, region.end) if e in self.slot_of]
        return max(inside, default=-1) + 1

    def _carried_ends(self) -> dict[int, int]:
        """Value -> the slot up to which a loop or a conditional holds its place.

        What enters a loop and changes there, and what goes round, to the loop's end; what a branch
        returns, to the branch's.
        """
        ends: dict[int, int] = {}
        for pair in self.flow.aliases:
            for value, merged in (pair, pair[::-1]):
                region = self._held_by(value, merged)
                if region >= 0:
                    ends[value] = max(ends.get(value, 0), self.end_slots[region])
        return ends

    def _held_by(self, value: int, merged: int) -> int:
        """The loop or branch that holds `value` in the place of what it merges into; -1: none."""
        known, other = self.flow.values[value], self.flow.values[merged]
        if known.event < 0 or not other.is_merged:
            return -1
        loop = other.region
        if loop >= 0 and other.point == boundary(self.flow.regions[loop].start):
            return loop
        return known.region

    def _done_events(self) -> dict[int, int]:
        """Copy-start event -> its copy-done event."""
        start_of = {
            event.writes[0]: number
            for number, event in enumerate(self.flow.events)
            if event.kind == COPY_START
        }
        dones = {}
        for number, event in enumerate(self.flow.events):
            if event.kind == COPY_DONE:
                dones[start_of.get(event.reads[0][1], number)] = number
        return {s: dones.get(s, len(self.flow.events)) for s in start_of.values()}

    def _copies(self, starts: dict[int, int]) -> list[Copy]:
        """Copies in order of their start, as the compiler issues them."""
        copies: list[tuple[int, Copy]] = []
        for number, event in enumerate(self.flow.events):
            if event.kind == COPY_START and not self._is_cross_program(number):
                target, source = event.writes[0], event.reads[0][1]
                fast = [self.matching.is_in_fast_memory(v) for v in (target, source)]
                group = self.matching.group(target)
                if group is None or fast[0] == fast[1] or number in self.stands_for:
                    continue
                start, deadline = self.next_slot[number], self.next_slot[self.done_of[number]]
                if fast[0]:
                    start = min(start, starts.get(target, start))
                copies.append((number, Copy(group, fast[0], start, deadline)))
            elif event.kind == JOIN and self.matching.is_in_fast_memory(event.writes[0]):
                group = self.matching.group(event.writes[0])
                first = min(self.flow.values[v].event for _, v, _ in event.reads)
                if group is not None and number not in self.stands_for:
                    start = starts.get(event.writes[0], self.next_slot[first])
                    copies.append((first, Copy(group, True, start, self.next_slot[number])))
            elif number in self.matching.delayed:
                copies += [(number, copy) for copy in self._fetched_late(number)]
        return [copy for _, copy in sorted(copies, key=lambda pair: (pair[1].start, pair[0]))]

    def _fetched_late(self, number: int) -> Iterator[Copy]:
        """The copies to fast memory of what a delayed event writes, each due at its first reader.

        In the program the value is made before, in slow memory.
        """
        for value in self.flow.events[number].writes:
            readers = [
                slot
                for event, slot in self.slot_of.items()
                if event > number and any(v == value for _, v, _ in self.flow.events[event].reads)
            ]
            group, start = self.matching.group(value), self.next_slot[number]
            if group is not None and readers and self.matching.is_in_fast_memory(value):
                yield Copy(group, True, start, max(start, min(readers)))

    def _flags(self, stays: Iterable[Stay]) -> tuple[list[bool], int]:
        """Which accesses are fast, and how many are left out: those outside their group's stays.

        An instruction that the compile has not, or has later, is served from where its operands
        are.
        """
        by_group: dict[int, list[Stay]] = defaultdict(list)
        for stay in stays:
            by_group[stay.group].append(stay)
        fast_values = {
            slot: fast_accesses(self.imported, self.flow, slot, self.flow.events[number])
            for number, slot in self.slot_of.items()
            if number not in self.matching.delayed
        }
        flags, dropped = [], 0
        for access in self.program.accesses:
            group = self.program.values[access.value].group
            covered = any(s.start <= access.time < s.end for s in by_group[group])
            fast_here = fast_values.get(access.time)
            is_fast = covered if fast_here is None else access.value in fast_here
            dropped += is_fast and not covered
            flags.append(is_fast and covered)
        return flags, dropped
