"""Place rules that look at how long the newcomer and its neighbours will be needed.

Both try the two ends of every free gap that is large enough. Addresses are granules; a time
*until* is the last slot in which something is known to be needed. A *giant* is a group of more
than half of what the scratch leaves: wherever it stands, it covers the middle, so a small tensor
there keeps it out however much is free on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from engine.game.moves import NEAR_TOUCH
from engine.game.reference.blocks import Block, free_gaps
from engine.game.reference.context import Facts

Gap = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Newcomer:
    """What wants a place: `size` granules in `[floor, capacity)` from slot `start` on.

    `until`: last slot in which it is known to be needed; `is_long`: whether its group is touched
    again late enough to belong at the high end. `at_other_end`: not where the place rule says.
    `only_at`: the one offset that will do.
    """

    size: int
    start: int
    until: int
    is_long: bool
    floor: int
    capacity: int
    at_other_end: bool = False
    only_at: int | None = None


@dataclass(frozen=True, slots=True)
class GiantTouch:
    """A touch at slot `time` of a group of `size` granules, more than half of the memory."""

    time: int
    group: int
    size: int


@lru_cache(maxsize=8)
def giant_touches(facts: Facts) -> tuple[GiantTouch, ...]:
    """All touches of giants that fit into the fast memory, in time order."""
    free = facts.numbers.fast_granules - max(facts.numbers.reserved, default=0)
    return tuple(
        GiantTouch(m.time, m.group, m.size_granules)
        for m in facts.moves
        if not m.is_sink and free < 2 * m.size_granules <= 2 * free
    )


def room_for_giants(newcomer: Newcomer, group: int, touches: Sequence[GiantTouch]) -> int:
    """Granules to keep free beside the newcomer of `group`: those of the largest other giant.

    Only giants count that are touched while the newcomer is needed, or soon after (their copy
    begins before their touch), and that fit beside it. 0 if there is none.
    """
    rest = newcomer.capacity - newcomer.floor - newcomer.size
    return max(
        (
            t.size
            for t in touches
            if newcomer.start <= t.time <= newcomer.until + NEAR_TOUCH
            and t.group != group
            and t.size <= rest
        ),
        default=0,
    )


def supported_offset(
    newcomer: Newcomer, obstacles: Sequence[Block], gaps: Sequence[Gap]
) -> int | None:
    """Beside the neighbour that is needed longest, up to as long as the newcomer itself.

    A wall (the scratch, the end of memory) is needed for ever. Among equals: the highest offset
    for a long life, else the lowest. None if no gap is large enough.
    """
    below: dict[int, int] = {}
    above: dict[int, int] = {}
    for block in obstacles:
        end = block.offset + block.size
        below[end] = max(below.get(end, 0), block.standing_until)
        above[block.offset] = max(above.get(block.offset, 0), block.standing_until)
    below[newcomer.floor] = above[newcomer.capacity] = newcomer.until

    def cost(place: tuple[int, int]) -> tuple[int, int]:
        offset, neighbour_until = place
        missing = max(0, newcomer.until - neighbour_until)
        return missing, -offset if newcomer.is_long else offset

    places = []
    for low, high in gaps:
        if high - low >= newcomer.size:
            places += [(low, below[low]), (high - newcomer.size, above[high])]
    return min(places, key=cost)[0] if places else None


def roomiest_offset(
    newcomer: Newcomer, obstacles: Sequence[Block], gaps: Sequence[Gap]
) -> int | None:
    """Where the widest stretch stays free of the newcomer and all that is needed as long as it.

    Among equals the lowest offset. None if no gap is large enough.
    """
    lasting = [b for b in obstacles if b.standing_until >= newcomer.until]
    room = _room_left(free_gaps(lasting, newcomer.floor, newcomer.capacity), newcomer.size)
    offsets = [
        offset
        for low, high in gaps
        if high - low >= newcomer.size
        for offset in (low, high - newcomer.size)
    ]
    return min(offsets, key=lambda offset: (-room(offset), offset)) if offsets else None


def _room_left(holes: Sequence[Gap], size: int) -> Callable[[int], int]:
    """The widest of `holes` after `size` granules were put at an offset inside one of them."""

    def room(offset: int) -> int:
        rest = [
            max(offset - low, high - offset - size) if low <= offset < high else high - low
            for low, high in holes
        ]
        return max(rest)

    return room
