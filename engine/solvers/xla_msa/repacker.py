"""Repacking: new offsets for blocks whose times stand, hoping for less fragmentation.

Source: the spec of XLA's `MemorySpaceAssignmentBestFitRepacker`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.solvers.xla_msa.heap import Block, Heap


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
