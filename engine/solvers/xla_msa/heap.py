"""The fast memory while a plan is made: blocks in time and address, placed by best fit.

Intervals are half-open. Scratch of an instruction is an obstacle at offset 0 in its own slot.
Source: the spec of XLA's `GlobalDecreasingSizeBestFitHeap`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
