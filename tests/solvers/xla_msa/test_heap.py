"""Best fit in time and address, and the repacker."""

from __future__ import annotations

from engine.solvers.xla_msa.memory import Block, Heap, RangeMax, repack, repack_order


def heap_of(*blocks: Block, capacity: int = 100, alignment: int = 1) -> Heap:
    heap = Heap(capacity, alignment, [0] * 10)
    for block in blocks:
        heap.add(block)
    return heap


def test_range_maximum_equals_max() -> None:
    items = [3, 1, 4, 1, 5, 9, 2, 6]
    table = RangeMax(items)
    for start in range(8):
        for end in range(start + 1, 9):
            assert table.over(start, end) == max(items[start:end])
    assert table.over(4, 4) == 0


def test_smallest_gap_wins_then_the_lowest_and_the_open_end_is_last() -> None:
    blocks = [Block(0, 9, 30, 10), Block(0, 9, 50, 10), Block(0, 9, 70, 10)]
    heap = heap_of(*blocks)
    assert heap.place(10, (0, 5)) == 40, "gaps of 30 at 0, of 10 at 40 and 60, and the end at 80"
    assert heap.place(25, (0, 5)) == 0
    assert heap.place(5, (9, 10)) == 0, "nothing lives in slot 9"
    assert heap.place(31, (0, 5)) is None, "only 20 bytes are left above 80"


def test_offsets_are_aligned_and_below_the_capacity() -> None:
    heap = heap_of(Block(0, 9, 0, 9), capacity=64, alignment=8)
    assert heap.place(48, (3, 4)) == 16
    assert heap.place(49, (3, 4)) is None


def test_a_place_for_two_spans_avoids_the_blocks_of_both() -> None:
    heap = heap_of(Block(0, 2, 0, 10), Block(8, 9, 10, 10))
    assert heap.place(5, (0, 2), (8, 9)) == 20
    assert heap.place(5, (0, 9)) == 20
    assert heap.place(5, (3, 8)) == 0


def test_scratch_blocks_the_bottom_of_its_own_slot() -> None:
    heap = Heap(100, 1, [0, 0, 40, 0])
    assert heap.place(10, (0, 2)) == 0
    assert heap.place(10, (1, 4)) == 40
    assert heap.place(70, (1, 4)) is None
    assert heap.free_until(10, 5, 0, 4) == 2
    assert heap.free_until(40, 5, 0, 4) == 4


def test_bytes_are_free_until_the_next_block() -> None:
    heap = heap_of(Block(0, 2, 0, 10), Block(6, 8, 5, 10))
    assert heap.free_until(0, 10, 2, 9) == 6
    assert heap.free_until(20, 10, 2, 9) == 9


def test_truncate_and_extend_keep_the_sum_of_used_bytes() -> None:
    heap = heap_of(Block(-1, 2, 0, 60))
    heap.add(Block(4, 5, 0, 60))
    heap.extend(1, 7)
    assert heap.first_roomy(0, 10, 50) == 7
    assert heap.first_roomy(0, 4, 50) == 2
    assert heap.first_roomy(2, 4, 50) == 2
    heap.truncate(1)
    assert heap.first_roomy(0, 10, 50) == 2
    assert heap.place(60, (2, 10)) == 0


def test_the_heap_grows_past_its_first_size() -> None:
    heap = Heap(1000, 1, [0] * 4)
    for number in range(200):
        offset = heap.place(1, (0, 4))
        assert offset == number
        heap.add(Block(0, 4, offset, 1))
    assert len(heap) == 200


def test_repack_order_is_by_duration_then_size_then_number() -> None:
    blocks = [Block(0, 3, 0, 5), Block(1, 9, 0, 1), Block(2, 5, 0, 9), Block(5, 8, 0, 5)]
    assert repack_order(blocks, {}) == [1, 2, 0, 3]
    assert repack_order(blocks, {0: 3}) == [0, 1, 2], "the pair lasts from 0 to 8"


def test_repacking_closes_a_gap() -> None:
    heap = heap_of(Block(0, 9, 40, 20), Block(0, 5, 80, 20))
    assert heap.place(60, (0, 9)) is None
    assert repack(heap, [0] * 10)
    assert [heap.block(n).offset for n in range(2)] == [0, 20]
    assert heap.place(60, (0, 9)) == 40


def test_repacking_keeps_pairs_together() -> None:
    heap = heap_of(Block(-1, 3, 50, 20), Block(6, 10, 50, 20), Block(6, 10, 0, 20))
    heap.followers[0] = 1
    assert repack(heap, [0] * 10)
    assert [heap.block(n).offset for n in range(3)] == [0, 0, 20]


def test_failed_repacking_changes_nothing() -> None:
    # The longest block goes first, above the byte of scratch, and leaves 59 bytes for the next.
    blocks = [Block(0, 4, 40, 60), Block(2, 7, 0, 40), Block(4, 6, 40, 60), Block(0, 2, 0, 40)]
    heap = heap_of(*blocks)
    scratch = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert not repack(heap, scratch)
    assert [heap.block(n) for n in range(4)] == blocks
