"""Offsets for blocks whose times stand."""

from __future__ import annotations

import random

import pytest

from engine.compiler.reading.packing import Block, pack


def block(size: int, start: int, end: int, lowest: int = 0) -> Block:
    return Block(size, ((start, end),), lowest)


def test_what_is_apart_in_time_shares_a_place() -> None:
    assert pack([block(8, 0, 2), block(8, 2, 4)], 8, 1) == [0, 0]


def test_floors_and_alignment_are_kept() -> None:
    assert pack([block(5, 0, 2, lowest=3), block(5, 1, 3)], 17, 4) == [4, 12]


def test_what_fits_nowhere_is_given_up_alone() -> None:
    assert pack([block(8, 0, 2), block(6, 1, 3), block(4, 2, 4)], 10, 1) == [0, None, 0]


def test_one_place_holds_in_all_spans() -> None:
    split = Block(4, ((0, 1), (5, 6)), 0)
    offsets = pack([split, block(4, 0, 3), block(4, 4, 6), block(8, 2, 5)], 12, 1)
    assert offsets[0] not in (None, offsets[1], offsets[2])


@pytest.mark.parametrize("seed", range(8))
def test_a_memory_that_was_full_is_filled_again(seed: int) -> None:
    """Cut a rectangle of 64 bytes and 200 slots into pieces, which all have to find a place."""
    chance = random.Random(seed)
    pieces = [(0, 64, 0, 200)]
    while len(pieces) < 40:
        low, high, start, end = pieces.pop(chance.randrange(len(pieces)))
        if chance.random() < 0.4 and high - low >= 8:
            middle = chance.randrange(low + 4, high - 3, 4)
            pieces += [(low, middle, start, end), (middle, high, start, end)]
        elif end - start >= 4:
            middle = chance.randrange(start + 1, end - 1)
            pieces += [(low, high, start, middle), (low, high, middle, end)]
        else:
            pieces.append((low, high, start, end))
    blocks = [block(high - low, start, end) for low, high, start, end in pieces]
    taken: set[tuple[int, int]] = set()
    for piece, offset in zip(blocks, pack(blocks, 64, 4), strict=True):
        assert offset is not None
        ((start, end),) = piece.spans
        cells = {(o, t) for o in range(offset, offset + piece.size) for t in range(start, end)}
        assert not cells & taken
        taken |= cells
