"""Place rules that look at how long the newcomer and its neighbours will be needed.

Both try the two ends of every free gap that is large enough. Addresses are granules; a time
*until* is the last slot in which something is known to be needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.game.board import Block, free_gaps

Gap = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Newcomer:
    """What wants a place: `size` granules in `[floor, capacity)` from slot `start` on.

    `until`: last slot in which it is known to be needed; `is_long`: whether its group is touched
    again late enough to belong at the high end.
    """

    size: int
    start: int
    until: int
    is_long: bool
    floor: int
    capacity: int


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
