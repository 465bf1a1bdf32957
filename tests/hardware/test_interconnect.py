"""What collectives take over the links of a slice, against sums done by hand."""

from __future__ import annotations

import pytest

from engine.hardware.interconnect import HOP_S, Slice, slice_of
from engine.program.hlo.collective import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    PERMUTE,
    REDUCE_SCATTER,
    Collective,
)

MB = 10**6
V5E, V5P = 5e10, 1e11


def chips(hardware: str, shape: str) -> Slice:
    found = slice_of(hardware, shape)
    assert found is not None
    return found


def seconds(of: Slice, kind: str, payload: int, *groups: tuple[int, ...]) -> float:
    return of.seconds(Collective(kind, payload, groups))


LINE = tuple((i, i + 4, i + 8, i + 12) for i in range(4))
"""Groups of four along the first axis of sixteen chips in rows of four."""


def test_an_all_gather_along_a_line_that_was_measured() -> None:
    """The book's example: 34 MB over four chips of a v5e in a line, measured at 680 us."""
    payload = 2048 * 8192 * 2
    taken = seconds(chips("tpu-v5e", "4x8"), ALL_GATHER, payload, (0, 1, 2, 3))
    assert taken == pytest.approx(payload * 3 / 4 / V5E)
    assert 0.7 * 680e-6 < taken < 680e-6


@pytest.mark.parametrize(("kind", "times"), [(ALL_GATHER, 1), (REDUCE_SCATTER, 1), (ALL_REDUCE, 2)])
def test_a_ring_is_used_both_ways_and_all_axes_at_once(kind: str, times: int) -> None:
    cube = chips("tpu-v5p", "4x4x4")
    row = times * 8 * MB * 3 / 4
    assert seconds(cube, kind, 8 * MB, (0, 1, 2, 3)) == pytest.approx(row / (2 * V5P))
    whole = times * 8 * MB * 63 / 64 / (3 * 2 * V5P)
    assert seconds(cube, kind, 8 * MB) == pytest.approx(whole)
    assert seconds(chips("tpu-v5e", "4x4"), kind, 8 * MB, *LINE) == pytest.approx(row / V5E)


def test_a_small_array_takes_its_hops() -> None:
    assert seconds(chips("tpu-v5e", "4x4"), ALL_GATHER, 64, *LINE) == 3 * HOP_S
    assert seconds(chips("tpu-v5p", "4x4x4"), ALL_REDUCE, 64) == 2 * 6 * HOP_S


def test_all_to_all_is_bound_by_the_middle_of_the_longest_axis() -> None:
    line, ring = chips("tpu-v5e", "8x8"), chips("tpu-v5e", "16x16")
    eight = tuple(range(8))
    assert seconds(line, ALL_TO_ALL, 8 * MB, eight) == pytest.approx(8 * MB * 8 / 4 / V5E)
    sixteen = tuple(range(16))
    assert seconds(ring, ALL_TO_ALL, 8 * MB, sixteen) == pytest.approx(8 * MB * 16 / 8 / V5E)


@pytest.mark.parametrize("shape", ["4x4", "2x4", "8x8"])
def test_a_shift_by_one_uses_each_link_once_each_way(shape: str) -> None:
    """Where there is no ring, the last one's message goes back against the others."""
    line, side = chips("tpu-v5e", shape), int(shape[-1])
    pairs = tuple((n, (n + 1) % side) for n in range(side))
    assert seconds(line, PERMUTE, 8 * MB, *pairs) == pytest.approx(8 * MB / V5E)
    # Four devices of eight may be laid out as a square, where the last one is near the first.
    hops = side - 1 if shape != "2x4" else 2
    assert seconds(line, PERMUTE, 64, *pairs) == pytest.approx(hops * HOP_S)
    assert seconds(line, PERMUTE, 8 * MB, (5, 5)) == 0.0


def test_messages_over_one_link_wait_for_each_other() -> None:
    row = chips("tpu-v5e", "1x8")
    assert seconds(row, PERMUTE, 8 * MB, (0, 2), (1, 3)) == pytest.approx(2 * 8 * MB / V5E)
    assert seconds(row, PERMUTE, 8 * MB, (0, 2), (2, 4)) == pytest.approx(8 * MB / V5E)
    assert seconds(row, PERMUTE, 8 * MB, (0, 2), (3, 1)) == pytest.approx(8 * MB / V5E)
    pod = chips("tpu-v5e", "16x16")
    around = tuple((n, (n + 12) % 16) for n in range(16))
    assert seconds(pod, PERMUTE, 8 * MB, *around) == pytest.approx(4 * 8 * MB / V5E)
    assert seconds(pod, PERMUTE, 64, *around) == pytest.approx(4 * HOP_S)


def test_both_cores_of_a_chip_send_over_its_links() -> None:
    two_cores = chips("tpu7x", "2x2x1")
    assert seconds(two_cores, PERMUTE, 8 * MB, (0, 2)) == pytest.approx(8 * MB / 1e11)
    assert seconds(two_cores, PERMUTE, 8 * MB, (0, 2), (1, 3)) == pytest.approx(16 * MB / 1e11)
    assert seconds(two_cores, PERMUTE, 8 * MB) == pytest.approx(16 * MB / 1e11)


def test_axes_of_cubes_are_rings_only_where_all_are() -> None:
    ring, line = chips("tpu-v5p", "4x4x4"), chips("tpu-v5p", "2x2x4")
    assert seconds(ring, ALL_GATHER, 8 * MB) == pytest.approx(8 * MB * 63 / 64 / (6 * V5P))
    assert seconds(line, ALL_GATHER, 8 * MB) == pytest.approx(8 * MB * 15 / 16 / (3 * V5P))
    pod = chips("tpu-v5e", "8x16")
    assert seconds(pod, ALL_GATHER, 8 * MB, tuple(range(16))) == pytest.approx(
        8 * MB * 15 / 16 / (2 * V5E)
    )


def test_a_permutation_to_nobody_named_is_to_a_neighbour() -> None:
    for shape in ("4x4", "8x8"):
        line = chips("tpu-v5e", shape)
        assert seconds(line, PERMUTE, 8 * MB) == pytest.approx(8 * MB / V5E)


def test_a_target_beyond_a_ring_is_far_not_behind() -> None:
    ring = chips("tpu-v4", "4x4x4")
    assert seconds(ring, PERMUTE, 64, (0, 500)) > seconds(ring, PERMUTE, 64, (0, 2)) > 0


def test_what_stays_on_a_chip_takes_no_link() -> None:
    two_cores = chips("tpu7x", "2x2x1")
    assert two_cores.devices == 8
    assert seconds(two_cores, ALL_REDUCE, 8 * MB, (0, 1), (2, 3), (4, 5), (6, 7)) == 0.0
    assert seconds(two_cores, ALL_REDUCE, 8 * MB, (0,), (1,)) == 0.0


def test_groups_on_the_same_chips_share_the_links() -> None:
    two_cores = chips("tpu7x", "2x2x1")
    apart = seconds(two_cores, ALL_GATHER, 8 * MB, (0, 2), (1, 3), (4, 6), (5, 7))
    assert apart == pytest.approx(2 * 8 * MB / 2 / 1e11)
    together = seconds(two_cores, ALL_GATHER, 8 * MB, (0, 1, 2, 3), (4, 5, 6, 7))
    assert together == pytest.approx(8 * MB / 2 / 1e11)


def test_groups_that_lie_between_one_another_share_the_links() -> None:
    row = chips("tpu-v5e", "1x8")
    near = seconds(row, BROADCAST, 8 * MB, (0, 1), (2, 3), (4, 5), (6, 7))
    far = seconds(row, BROADCAST, 8 * MB, (0, 4), (1, 5), (2, 6), (3, 7))
    assert far == pytest.approx(4 * near)


def test_devices_beyond_the_slice_count_as_one_long_axis() -> None:
    assert seconds(chips("tpu-v5e", "2x2"), ALL_GATHER, 8 * MB, (0, 100)) > 0


def test_hardware_without_links_has_no_slice() -> None:
    assert slice_of("generic", "2x2") is None
