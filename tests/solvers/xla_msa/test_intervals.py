"""Elapsed times through loops, and the upstream example of the prefetch interval picker."""

from __future__ import annotations

import pytest

from engine.program.model import TOP_LEVEL, Region
from engine.solvers.xla_msa.slots import ElapsedTimes, IntervalPicker, Levels, MsaOptions
from tests.solvers.xla_msa.programs import Tensor, program_of

UNIT = 30.0
"""Seconds of one slot in the small programs: the upstream example's unit."""


def picker_of(
    num_slots: int, options: MsaOptions, regions: tuple[Region, ...] = (), longest: float = 12
) -> tuple[IntervalPicker, ElapsedTimes]:
    program = program_of([Tensor(1, [(0, "w", 0.0)])], num_slots, regions)
    levels = Levels(program)
    times = ElapsedTimes(program, levels, options.while_execution_count)
    memory_copy_s = longest * UNIT / options.max_overlap_to_mem_size_ratio
    return IntervalPicker(times, levels, options, memory_copy_s), times


def test_upstream_example() -> None:
    picker, _ = picker_of(24, MsaOptions(min_overlap_ratio=1, preferred_overlap_ratio=2))
    starts = picker.starts(0, 22, TOP_LEVEL, 3 * UNIT, 0.5 * UNIT)
    order = list(picker.search(starts, 22, TOP_LEVEL, 3 * UNIT))
    assert order == [15, 16, 14, 17, 13, 18, 12, 11, 10, 9]


def test_only_earlier_steps_that_add_a_hundredth_of_the_longest_overlap() -> None:
    picker, _ = picker_of(1000, MsaOptions(), longest=900)
    starts = picker.starts(0, 999, TOP_LEVEL, 3 * UNIT, 0.0)
    order = list(picker.search(starts, 999, TOP_LEVEL, 3 * UNIT))
    assert order[:6] == [992, 993, 991, 994, 990, 995]
    assert order[6:9] == [989, 980, 971], "a step of 9 units after the later starts are exhausted"


def test_no_start_where_the_range_is_too_short() -> None:
    picker, _ = picker_of(24, MsaOptions())
    assert not picker.starts(19, 22, TOP_LEVEL, 3 * UNIT, 0.0)
    assert list(picker.starts(18, 22, TOP_LEVEL, 3 * UNIT, 0.0)) == [18]


def test_a_value_may_wait_less_than_the_longest_overlap() -> None:
    picker, _ = picker_of(24, MsaOptions())
    assert picker.may_stay(0, 12, TOP_LEVEL)
    assert not picker.may_stay(0, 13, TOP_LEVEL)


@pytest.mark.parametrize(("retry", "end"), [(0, 7), (1, 19), (2, 22)])
def test_preferred_evictions_grow_with_the_retry(retry: int, end: int) -> None:
    picker, _ = picker_of(24, MsaOptions())
    assert picker.preferred_eviction_end(0, 22, TOP_LEVEL, 3 * UNIT, retry) == end


def test_a_loop_counts_five_times_unless_it_holds_both_ends() -> None:
    regions = (Region("while", 2, 4, 100.0), Region("branch", 5, 6, 0.5, kind="branch"))
    picker, times = picker_of(8, MsaOptions(), regions)
    assert times.once == pytest.approx([UNIT] * 8)
    assert times.between(1, 4, TOP_LEVEL) == pytest.approx(10 * UNIT)
    assert times.between(1, 4, 0) == pytest.approx(2 * UNIT)
    assert times.between(4, 6, TOP_LEVEL) == pytest.approx(UNIT), "a branch counts once"
    starts = picker.starts(-1, 6, TOP_LEVEL, 0.0, 0.0)
    assert list(starts) == [3, 5], "slot 1 is 13 units away, slots 4 and 6 have the level of 6"
