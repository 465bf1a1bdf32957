"""What a compile holds in fast memory, from single values to the stays of a plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from engine.compiler.reading.packing import Block, pack
from engine.plan.model import BEFORE_START, Copy, Stay
from engine.program.model import Program


@dataclass
class Held:
    """A value of a compile that stands in fast memory during slots `[start, end)`.

    `place`: its offset, where the compiler states it, else a number that the values of one place
    have in common. `slice_starts`: when the later slices of a sliced prefetch begin. The first one
    may come while their places still belong to others.
    """

    value: int
    group: int
    place: int
    start: int
    end: int
    slice_starts: tuple[int, ...] = ()


def delay_slices(program: Program, held: Sequence[Held]) -> None:
    """Let a sliced prefetch begin with the first slice from which its place is free whole."""
    for item in held:
        starts = list(item.slice_starts)
        while starts and any(_meet(program, item, h) for h in held if h is not item):
            item.start = starts.pop(0)


def _meet(program: Program, a: Held, b: Held) -> bool:
    """Whether two held values share bytes at one slot, their places being offsets."""
    size_a, size_b = (program.groups[h.group].size_bytes for h in (a, b))
    in_time = a.start < b.end and b.start < a.end
    return in_time and a.place < b.place + size_b and b.place < a.place + size_a


def share_places(held: Iterable[Held]) -> None:
    """Give overlapping values of a group the same placeholder offset.

    An instruction that writes its result over a copied operand ends one value and begins another.
    """
    last: dict[int, Held] = {}
    for item in sorted(held, key=lambda h: (h.start, h.end)):
        before = last.get(item.group)
        if before is not None and item.start < before.end:
            item.place = before.place
        if before is None or item.end > before.end:
            last[item.group] = item


def joined(held: Iterable[Held]) -> list[Held]:
    """The entries, with those that hold one place for one group without a break joined to one."""
    whole: list[Held] = []
    for item in sorted(held, key=lambda h: (h.group, h.place, h.start)):
        last = whole[-1] if whole else None
        if (
            last is not None
            and (last.group, last.place) == (item.group, item.place)
            and item.start <= last.end
        ):
            last.end = max(last.end, item.end)
        else:
            whole.append(replace(item))
    return whole


def kept_for_the_next_run(program: Program, held: Sequence[Held], copies: Sequence[Copy]) -> None:
    """A cross-program prefetch holds its place to the end, or something brings it back there."""
    total = program.num_slots
    returns = {c.group: c.start for c in copies if c.is_prefetch and c.deadline == total > c.start}
    first = {h.group: h for h in held if h.start == BEFORE_START}
    for item in held:
        if item.start == BEFORE_START and item.group not in returns:
            item.end = total
        elif item.start != BEFORE_START and item.group in returns:
            item.end = total
            if item.group in first and item.start >= returns[item.group]:
                item.place = first[item.group].place


def stays_of(held: Iterable[Held]) -> list[Stay]:
    """The stays, where places are offsets."""
    return [Stay(h.group, h.place, h.start, h.end) for h in held]


def housed(copies: Sequence[Copy], stays: Sequence[Stay]) -> list[Copy]:
    """The copies during which a stay of their group holds its place."""
    of_group: dict[int, list[Stay]] = {}
    for stay in stays:
        of_group.setdefault(stay.group, []).append(stay)
    return [
        copy
        for copy in copies
        if any(
            stay.start <= copy.start and copy.deadline <= stay.end
            for stay in of_group.get(copy.group, ())
        )
    ]


def repacked(program: Program, held: Sequence[Held]) -> list[Stay]:
    """The stays at offsets of our own, where places are mere numbers.

    A sliced prefetch that finds no place from its first slice on begins with a later one, and so
    does one that is in the way of what cannot. What finds no place at all is left out.
    """
    while True:
        places: dict[tuple[int, int], list[Held]] = defaultdict(list)
        for item in held:
            places[item.group, item.place].append(item)
        wanted = [_block(program, items) for items in places.values()]
        offsets = pack(wanted, program.hardware.fast_bytes, program.hardware.alignment)
        placed = list(zip(places.values(), offsets, strict=True))
        homeless = [item for items, offset in placed if offset is None for item in items]
        late = [i for i in homeless if i.slice_starts] or _in_the_way(held, homeless)
        if not late:
            break
        for item in late:
            item.start, *later = item.slice_starts
            item.slice_starts = tuple(later)
    return [
        Stay(item.group, offset, item.start, item.end)
        for items, offset in placed
        if offset is not None
        for item in items
    ]


def _in_the_way(held: Sequence[Held], homeless: Sequence[Held]) -> list[Held]:
    """Sliced prefetches whose first slices are there while one of the homeless wants a place."""
    return [
        item
        for item in held
        if item.slice_starts
        and any(item.start < h.end and h.start < item.slice_starts[0] for h in homeless)
    ]


def _block(program: Program, items: Sequence[Held]) -> Block:
    spans = tuple((item.start, item.end) for item in items)
    scratch = (
        instruction.reserved_bytes
        for start, end in spans
        for instruction in program.instructions[max(0, start) : end]
    )
    return Block(program.groups[items[0].group].size_bytes, spans, max(scratch, default=0))
