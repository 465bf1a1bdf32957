"""Offsets for stays whose times stand: where a compile says who was fast and when, but not where.

Stays are placed one after another, each at the lowest place that is free in all of its slots. What
finds none is handled earlier in the next round, until all fit or the rounds are over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

ROUNDS = 100
"""Rounds of repair for each of the first orders, before what finds no place is given up."""

EMPHASIS = 1.5
"""How much more a stay that was not placed weighs in the next round."""


@dataclass(frozen=True, slots=True)
class Block:
    """`size` bytes wanted in one place, at `lowest` or above, during the slots of all `spans`."""

    size: int
    spans: tuple[tuple[int, int], ...]
    lowest: int

    @property
    def slots(self) -> int:
        """How many slots it wants."""
        return sum(end - start for start, end in self.spans)

    def meets(self, other: Block) -> bool:
        """Whether the two want a place in one slot."""
        return any(a < d and c < b for a, b in self.spans for c, d in other.spans)


def pack(blocks: Sequence[Block], capacity: int, alignment: int) -> list[int | None]:
    """The offset of each block, a multiple of `alignment`; None for those that find no place."""
    rivals = _rivals(blocks)
    best: list[int | None] = [None] * len(blocks)
    for weight_of in _WEIGHTS:
        weights = [float(weight_of(block)) for block in blocks]
        for _ in range(ROUNDS):
            order = sorted(range(len(blocks)), key=lambda n: (-weights[n], n))
            offsets = _place_all(blocks, rivals, order, capacity, alignment)
            if _missing(blocks, offsets) < _missing(blocks, best):
                best = offsets
            failed = [number for number, offset in enumerate(offsets) if offset is None]
            if not failed:
                return offsets
            for number in failed:
                weights[number] *= EMPHASIS
    return best


_WEIGHTS: tuple[Callable[[Block], int], ...] = (
    lambda block: block.size * block.slots,
    lambda block: block.size,
    lambda block: block.slots,
)
"""With each of these weights a series of rounds begins; the heaviest block is placed first."""


def _rivals(blocks: Sequence[Block]) -> list[list[int]]:
    """Per block, the numbers of the blocks that share a slot with it."""
    rivals: list[list[int]] = [[] for _ in blocks]
    begin = [min(start for start, _ in block.spans) for block in blocks]
    end = [max(end for _, end in block.spans) for block in blocks]
    current: list[int] = []
    for number in sorted(range(len(blocks)), key=lambda n: begin[n]):
        current = [n for n in current if end[n] > begin[number]]
        for other in current:
            if blocks[number].meets(blocks[other]):
                rivals[number].append(other)
                rivals[other].append(number)
        current.append(number)
    return rivals


def _place_all(
    blocks: Sequence[Block],
    rivals: Sequence[Sequence[int]],
    order: Sequence[int],
    capacity: int,
    alignment: int,
) -> list[int | None]:
    offsets: list[int | None] = [None] * len(blocks)
    for number in order:
        taken = sorted(
            (offset, offset + blocks[other].size)
            for other in rivals[number]
            if (offset := offsets[other]) is not None
        )
        low = _aligned(blocks[number].lowest, alignment)
        for bottom, top in taken:
            if bottom - low >= blocks[number].size:
                break
            low = max(low, _aligned(top, alignment))
        offsets[number] = low if low + blocks[number].size <= capacity else None
    return offsets


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _missing(blocks: Sequence[Block], offsets: Sequence[int | None]) -> int:
    """Bytes times slots of the blocks that were not placed."""
    return sum(
        block.size * block.slots
        for block, offset in zip(blocks, offsets, strict=True)
        if offset is None
    )
