"""Another compile beside a program: which values are the same, which are in fast memory."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import replace

from engine.program.hlo.build import Imported
from engine.program.hlo.flow import Flow
from engine.program.hlo.record import COMPUTE, COPY_START, JOIN, SLICE_START
from engine.program.hlo.shape import fast_space, memory_space, shape_text, size_bytes
from engine.program.model import in_turn


def match_events(imported: Imported, flow: Flow) -> dict[int, int]:
    """Event number in `flow` -> slot, by instruction name (and turn, where one is inlined twice).

    What has other operands than in the program is another instruction of the same name. XLA's
    parser renames an instruction whose name it has given to a nameless one inside `slice-start`;
    such leftovers are matched by their operation, its origin and shapes, in their order where both
    have as many of one kind.
    """
    own = {event: slot for slot, event in enumerate(imported.events)}
    left = set(own)
    matched: dict[int, int] = {}
    for key in (_turn_keys, _work_keys):
        events = {name: event for event, name in key(imported.flow, left).items()}
        numbers = {n for n, e in enumerate(flow.events) if e.kind == COMPUTE} - set(matched)
        for number, name in key(flow, numbers).items():
            event = events.get(name)
            if event is not None and _shapes(imported.flow, event) == _shapes(flow, number):
                matched[number] = own[event]
                left.discard(event)
    return matched


def _turn_keys(flow: Flow, numbers: set[int]) -> dict[int, object]:
    """Event -> its name and how often that name came before."""
    ordered = sorted(numbers)
    return dict(zip(ordered, in_turn(flow.events[n].name for n in ordered), strict=True))


def _work_keys(flow: Flow, numbers: set[int]) -> dict[int, object]:
    """Event -> what it does, which of those that do so it is, and how many they are."""
    works = {}
    for number in sorted(numbers):
        instruction = flow.events[number].instruction
        shapes = tuple(_shapes(flow, number))
        works[number] = (instruction.opcode, instruction.metadata.op_name, shapes)
    often = Counter(works.values())
    turns = zip(works, in_turn(works.values()), strict=True)
    return {number: (work, turn, often[work]) for number, (work, turn) in turns}


def _shapes(flow: Flow, number: int) -> list[tuple[int, str]]:
    """Operand numbers and shapes, then those of the results."""
    event = flow.events[number]
    reads = [(operand, shape_text(flow.values[v].shape)) for operand, v, _ in event.reads]
    return reads + [(-1, shape_text(flow.values[v].shape)) for v in event.writes]


class Matching:
    """How the values of another compile map to a program's groups.

    Values and events are numbers of that compile's flow. `slot_of`: event -> slot of the program.
    `space`: the number of fast memory in layouts. `delayed`: events that come behind others which
    the program has after them: slices that the compiler made asynchronous. `copies`: events of
    copies in flight -> slot of the program's copy whose work they do; a plan lets that instruction
    itself write to fast memory.
    """

    def __init__(self, imported: Imported, flow: Flow) -> None:
        """`flow`: of the other compile."""
        self.imported = imported
        self.flow = flow
        self.slot_of = match_events(imported, flow)
        self.space = fast_space(imported.program.hardware.fast_name)
        self.delayed = _delayed(self.slot_of)
        self._value_by_label = {
            imported.flow.values[v].label: number for v, number in imported.value_of.items()
        }
        self._group_by_use = self._groups_by_use()
        self._group_by_place = self._groups_by_place()
        self.copies = self._copies_of_the_program()

    def _groups_by_use(self) -> dict[int, int]:
        """Value of the compile -> the program's group that it serves, by operand position.

        Where the compiler turned a copy of the program into an asynchronous one, only the use
        tells which of the program's values the copy stands for.
        """
        groups: dict[int, int] = {}
        own_flow = self.imported.flow
        for number, slot in self.slot_of.items():
            own = own_flow.events[self.imported.events[slot]]
            for (_, mine, _), (_, theirs, _) in zip(
                own.reads, self.flow.events[number].reads, strict=False
            ):
                value = self.imported.value_of[own_flow.origin(mine)]
                groups.setdefault(theirs, self.imported.program.values[value].group)
        return groups

    def _groups_by_place(self) -> dict[int, int]:
        """Place of the compile -> the one group of the program that instructions write there.

        Where none writes it, the one that they read there. What goes round a loop begins as a copy
        where the compiler moves it to fast memory first, and what a branch hands on may be one;
        either bears the name of what was copied.
        """
        read: dict[int, set[int]] = defaultdict(set)
        for value, used_as in self._group_by_use.items():
            read[self.flow.place_of[value]].add(used_as)
        written: dict[int, set[int]] = defaultdict(set)
        for number, slot in self.slot_of.items():
            own = self.imported.flow.events[self.imported.events[slot]]
            for mine, theirs in zip(own.writes, self.flow.events[number].writes, strict=False):
                group = self.imported.program.values[self.imported.value_of[mine]].group
                written[self.flow.place_of[theirs]].add(group)
        touched = {**read, **written}
        return {place: min(groups) for place, groups in touched.items() if len(groups) == 1}

    def _copies_of_the_program(self) -> dict[int, int]:
        """Copy-start, or join of slices -> slot of the program's copy whose work it does.

        Several copies between the same groups, as of two branches, are told apart by their order.
        """
        program, real = self.imported.program, self.imported.flow.real
        missing = set(range(program.num_slots)) - set(self.slot_of.values())
        missing = {
            slot
            for slot in missing
            if program.instructions[slot].opcode == "copy" or self.imported.events[slot] in real
        }
        groups: dict[int, list[int]] = defaultdict(list)
        for access in program.accesses:
            if access.time in missing:
                groups[access.time].append(program.values[access.value].group)
        slots: dict[tuple[int | None, ...], deque[int]] = defaultdict(deque)
        for slot, pair in groups.items():
            slots[tuple(pair)].append(slot)
        copies = {}
        for number, event in enumerate(self.flow.events):
            if event.kind in (COPY_START, JOIN):
                written = event.writes[0]
                left = slots.get((self.group_by_label(written), self.group(written)))
                if left:
                    copies[number] = left.popleft()
        return copies

    def group(self, value: int) -> int | None:
        """The program's group that a value of the compile holds."""
        if value in self._group_by_use:
            return self._group_by_use[value]
        place = self.flow.place_of[value]
        return self._group_by_place.get(place, self.group_by_label(value))

    def group_by_label(self, value: int) -> int | None:
        """The program's group of the value with the same name."""
        number = self._value_by_label.get(self.flow.values[self.flow.origin(value)].label)
        return None if number is None else self.imported.program.values[number].group

    def is_in_fast_memory(self, value: int) -> bool:
        """Whether the compile has the value there."""
        return memory_space(self.flow.values[value].shape) == self.space

    def is_slice(self, value: int) -> bool:
        """Whether the value is a part of a prefetch that comes in slices."""
        event = self.flow.values[value].event
        return event >= 0 and self.flow.events[event].kind == SLICE_START


def _delayed(slot_of: Mapping[int, int]) -> frozenset[int]:
    """Events that come behind a later slot; as few as possible count as out of order."""
    in_order, delayed, last = _longest_rise(slot_of), set(), -1
    for number in sorted(slot_of):
        if number in in_order:
            last = slot_of[number]
        elif slot_of[number] < last:
            delayed.add(number)
    return frozenset(delayed)


def _longest_rise(slot_of: Mapping[int, int]) -> set[int]:
    """The most events whose slots rise with their numbers; of several such sets the earliest.

    Read from the end, where slots fall.
    """
    lowest: list[int] = []
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for number in sorted(slot_of, reverse=True):
        length = bisect_left(lowest, -slot_of[number])
        before[number] = ends[length - 1] if length else None
        lowest[length : length + 1] = [-slot_of[number]]
        ends[length : length + 1] = [number]
    rise, step = set(), ends[-1] if ends else None
    while step is not None:
        rise.add(step)
        step = before[step]
    return rise


def with_split_sizes(imported: Imported, flow: Flow) -> Imported:
    """The program with smaller sizes for what XLA splits between two cores in fast memory only.

    On a chip with two cores a prefetched parameter may take half of its bytes in the fast memory of
    each, while it lies whole in slow memory, where the all-slow compile has it. `flow`: of the
    default compile. The work of a copy follows the size, as for all that is split.
    """
    sizes = _split_sizes(Matching(imported, flow))
    program = imported.program
    values = tuple(
        replace(value, size_bytes=min(value.size_bytes, sizes.get(value.group, value.size_bytes)))
        for value in program.values
    )
    return replace(imported, program=replace(program, values=values))


def _split_sizes(matching: Matching) -> dict[int, int]:
    """Group -> bytes of its largest value in fast memory, where all of them are split."""
    sizes: dict[int, int] = {}
    whole: set[int] = set()
    for value, known in enumerate(matching.flow.values):
        group = matching.group(value)
        if group is None or not matching.is_in_fast_memory(value) or matching.is_slice(value):
            continue
        if not known.shape.layout.split_configs:
            whole.add(group)
        sizes[group] = max(sizes.get(group, 0), size_bytes(known.shape))
    return {group: size for group, size in sizes.items() if group not in whole}
