"""The simulator against times computed by hand; a byte takes one second, as in `cases`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from engine.plan.levels import copy_level
from engine.plan.model import Plan
from engine.plan.simulate import Simulation, simulate
from engine.program.model import Program, Region
from tests.plan.cases import HARDWARE, Buffer, plan_of, program_of
from tests.strategies import all_slow_plan, programs_with_plans, touchwise_plan


def assert_times(result: Simulation, compute_s: float, stalls: dict[int, float]) -> None:
    """`stalls`: seconds before instructions; key -1 is the end of the program."""
    assert result.compute_s == pytest.approx(compute_s)
    assert result.stall_s == pytest.approx(sum(stalls.values()))
    assert result.latency_s == pytest.approx(compute_s + sum(stalls.values()))
    assert result.end_stall_s == pytest.approx(stalls.get(-1, 0.0))
    before = np.zeros(len(result.timeline.start_s))
    for time, seconds in stalls.items():
        if time >= 0:
            before[time] = seconds
    np.testing.assert_allclose(result.timeline.stall_before_s, before)


def test_all_slow_and_all_fast() -> None:
    program = program_of([Buffer(256, "w1 r2"), Buffer(128, "r1", is_input=True)], 3, fast_s=10.0)
    slow = simulate(program, all_slow_plan(program))
    assert_times(slow, 30 + 256 + 256 + 128, {})
    assert slow.latency_s == slow.all_slow_s == program.all_slow_s
    np.testing.assert_allclose(slow.timeline.start_s, [0, 10, 404])
    np.testing.assert_allclose(slow.timeline.duration_s, [10, 394, 266])
    fast = simulate(program, plan_of(program, "0@1 0@2 1@1"))
    assert_times(fast, 30, {})
    assert fast.all_fast_s == 30


def two_pending(order: str) -> tuple[Program, Plan]:
    """512 bytes to read and 128 to write; group 1 is due at instruction 3, group 0 at 4."""
    buffers = [Buffer(512, "r4", is_input=True), Buffer(128, "w1 r3")]
    program = program_of(buffers, 5)
    copies = [(0, "in", 2, 4), (1, "out", 2, 3)]
    stays = [(0, 0, 2, 5), (1, 512, 1, 3)]
    if order == "write first":
        copies.reverse()
    return program, plan_of(program, "0@4 1@1", stays, copies)


@pytest.mark.parametrize("order", ["read first", "write first"])
def test_two_pending_copies_share_the_bandwidth(order: str) -> None:
    program, plan = two_pending(order)
    # Instruction 3 reads 128 bytes slowly and leaves slow memory no idle time.
    result = simulate(program, plan)
    assert_times(result, 128, {3: 256, 4: 384})
    reading, writing = (0, 1) if order == "read first" else (1, 0)
    line = result.timeline
    assert line.copy_finished_s[writing] == 256
    assert line.copy_finished_s[reading] == 256 + 128 + 384
    served = line.segment_copy == reading
    np.testing.assert_allclose(line.segment_start_s[served], [0, 384])
    np.testing.assert_allclose(line.segment_end_s[served], [256, 768])
    np.testing.assert_allclose(line.segment_work_s[served], [128, 384])


class TestOnePrefetch:
    """512 bytes wanted by instruction 4; the copy may start at 1."""

    def result(self, fast_s: list[float], more: str = "") -> Simulation:
        buffers = [Buffer(512, "r4", is_input=True), Buffer(128, "r2", is_input=True)]
        program = program_of(buffers, 5, fast_s=fast_s)
        return simulate(program, plan_of(program, f"0@4{more}", (), [(0, "in", 1, 4)]))

    def test_hidden_behind_compute(self) -> None:
        result = self.result([50, 100, 300, 200, 7], " 1@2")
        assert_times(result, 657, {})
        assert result.timeline.copy_started_s[0] == 50
        assert result.timeline.copy_finished_s[0] == pytest.approx(50 + 512)

    def test_hidden_exactly(self) -> None:
        assert_times(self.result([0, 100, 300, 112, 0], " 1@2"), 512, {})

    def test_hidden_partly(self) -> None:
        assert_times(self.result([50, 100, 200, 12, 7], " 1@2"), 369, {4: 200})

    def test_shares_slow_memory_with_the_running_instruction(self) -> None:
        # Instruction 2 takes 300 + 128 s, and draws 128 bytes: 300 idle seconds.
        result = self.result([50, 100, 300, 12, 7])
        assert_times(result, 469 + 128, {4: 100})
        line = result.timeline
        np.testing.assert_allclose(line.segment_work_s, [100, 300, 12, 100])
        np.testing.assert_allclose(line.segment_start_s, [50, 150, 578, 590])
        np.testing.assert_allclose(line.segment_end_s, [150, 578, 590, 690])

    def test_without_slots_it_starts_when_awaited(self) -> None:
        program = program_of([Buffer(512, "r4", is_input=True)], 5, fast_s=10.0)
        result = simulate(program, plan_of(program, "0@4", (), [(0, "in", 4, 4)]))
        assert_times(result, 50, {4: 512})
        assert result.timeline.copy_started_s[0] == 40


def test_service_in_plan_order() -> None:
    buffers = [Buffer(100, "r3", is_input=True), Buffer(60, "r2", is_input=True)]
    program = program_of(buffers, 4, fast_s=[50.0, 40.0, 10.0, 0.0])
    copies = [(0, "in", 0, 3), (1, "in", 0, 2)]
    first = simulate(program, plan_of(program, "0@3 1@2", (), copies))
    # 90 s are served to group 0; group 1 waits for its last 10 and its own 60 s.
    assert_times(first, 100, {2: 70})
    np.testing.assert_allclose(first.timeline.copy_finished_s, [100, 160])
    second = simulate(program, plan_of(program, "0@3 1@2", (), copies[::-1]))
    assert_times(second, 100, {3: 60})


def test_copies_with_one_deadline_are_awaited_in_plan_order() -> None:
    buffers = [Buffer(100, "r2", is_input=True), Buffer(60, "r2", is_input=True)]
    program = program_of(buffers, 3)
    result = simulate(program, plan_of(program, "0@2 1@2", (), [(0, "in", 1, 2), (1, "in", 1, 2)]))
    assert_times(result, 0, {2: 160})
    np.testing.assert_allclose(result.timeline.copy_finished_s, [100, 160])


def test_a_copy_that_starts_after_a_stall_does_not_drain_in_it() -> None:
    buffers = [Buffer(100, "r2", is_input=True), Buffer(60, "w1 r3")]
    program = program_of(buffers, 4)
    copies = [(0, "in", 1, 2), (1, "out", 2, 3)]
    result = simulate(program, plan_of(program, "0@2 1@1", (), copies))
    assert_times(result, 60, {2: 100, 3: 60})


def test_write_back_and_prefetch_share_a_stall_and_the_rest_is_hidden() -> None:
    buffers = [Buffer(100, "r2", is_input=True), Buffer(160, "w0 r3")]
    program = program_of(buffers, 4, fast_s=[0.0, 30.0, 50.0, 0.0])
    copies = [(0, "in", 1, 2), (1, "out", 1, 3)]
    result = simulate(program, plan_of(program, "0@2 1@0", (), copies))
    # 30 s to the prefetch, 140 s for both, 50 s to the write-back, then its last 40 s.
    assert_times(result, 80 + 160, {2: 140, 3: 40})


def test_stall_at_the_end() -> None:
    program = program_of([Buffer(100, "w1", is_live_out=True)], 3, fast_s=10.0)
    result = simulate(program, plan_of(program, "0@1", [(0, 0, 1, 3)], [(0, "out", 2, 3)]))
    assert_times(result, 30, {-1: 90})


def test_cross_program_stay_costs_nothing() -> None:
    program = program_of([Buffer(512, "r1 r4", is_input=True)], 5, fast_s=10.0)
    result = simulate(program, plan_of(program, "0@1 0@4", [(0, 0, -1, 5)]))
    assert_times(result, 50, {})
    assert len(result.timeline.segment_copy) == 0


class TestLoops:
    """A body of slots 2 … 5 that runs four times, and in it, slots 4 and 5, one of eight."""

    regions = (Region("outer", 2, 6, 4.0), Region("inner", 4, 6, 8.0, parent=0))
    buffers = (Buffer(100, "r3", is_input=True), Buffer(10, "r5 w5 r7", is_input=True))
    program = program_of(buffers, 8, regions, fast_s=50.0)

    def test_copy_inside_runs_every_time(self) -> None:
        plan = plan_of(self.program, "0@3 1@5 1@7", [(0, 0, 2, 4)], [(0, "in", 2, 3)])
        assert_times(simulate(self.program, plan), 400, {3: 350})

    def test_copy_across_runs_once(self) -> None:
        plan = plan_of(self.program, "0@3 1@5 1@7", [(1, 0, 1, 8)], [(1, "in", 1, 7)])
        assert_times(simulate(self.program, plan), 400, {})

    @pytest.mark.parametrize(
        ("stay_start", "time", "level"),
        [
            (5, 6, 1),  # the stay is of the inner body: once per iteration of it
            (4, 6, 1),
            (3, 6, 0),  # of the outer body: after the inner loop, before the outer one turns
            (1, 6, -1),
            (3, 5, 1),  # between two slots of the inner body
            (3, 4, 0),  # before the inner loop
            (1, 2, -1),
            (1, 8, -1),
        ],
    )
    def test_level_of_a_write_back_without_slots(
        self, stay_start: int, time: int, level: int
    ) -> None:
        plan = plan_of(self.program, "", [(1, 0, stay_start, 8)], [(1, "out", time, time)])
        assert copy_level(self.program, plan.copies[0], plan.stays) == level
        other = replace(plan.copies[0], is_prefetch=True)
        assert copy_level(self.program, other, plan.stays) == self.program.level_at(time)
        work = 10 * self.program.multiplicity(level)
        assert simulate(self.program, plan).stall_s == pytest.approx(work)

    @pytest.mark.parametrize(
        ("stays", "level"),
        [
            ([(1, 0, 5, 6), (0, 0, 3, 6)], 1),
            ([(1, 0, 5, 6), (0, 0, 1, 2)], 1),
            ([(0, 0, 5, 6)], -1),  # of another group
            ([(1, 0, 5, 6), (1, 0, 6, 8)], 1),  # the next stay of the group begins then
            ([], -1),
        ],
    )
    def test_a_write_back_without_slots_is_of_the_stay_before_it(
        self, stays: list[tuple[int, int, int, int]], level: int
    ) -> None:
        plan = plan_of(self.program, "", stays, [(1, "out", 6, 6)])
        assert copy_level(self.program, plan.copies[0], plan.stays) == level

    @pytest.mark.parametrize(
        ("start", "deadline", "level"),
        [(2, 6, 0), (2, 7, -1), (1, 2, -1), (2, 3, 0), (4, 6, 1), (5, 6, 1), (7, 8, -1)],
    )
    def test_level_of_a_copy_with_slots(self, start: int, deadline: int, level: int) -> None:
        plan = plan_of(self.program, "", [(1, 0, 0, 8)], [(1, "in", start, deadline)])
        assert copy_level(self.program, plan.copies[0], plan.stays) == level

    def test_levels_from_the_innermost_outwards(self) -> None:
        assert self.program.outwards(self.program.level_at(5)) == [1, 0, -1]
        assert self.program.outwards(self.program.level_at(8)) == [-1]


class TestFasterMemory:
    """Four bytes a second: 512 bytes take 128 s of it."""

    buffers = (Buffer(512, "r4", is_input=True), Buffer(128, "r2", is_input=True))
    program = program_of(
        buffers, 5, fast_s=[50, 100, 40, 10, 7], hardware=replace(HARDWARE, bandwidth=4.0)
    )

    def test_idle_time_is_what_the_slow_accesses_leave(self) -> None:
        # Slot 1 is idle for 100 s, slot 2 for 168 - 32; 28 s of that are needed.
        result = simulate(self.program, plan_of(self.program, "0@4", (), [(0, "in", 1, 4)]))
        assert_times(result, 50 + 100 + (40 + 128) + 10 + 7, {})
        line = result.timeline
        np.testing.assert_allclose(line.segment_work_s, [100, 28])
        np.testing.assert_allclose(line.segment_start_s, [50, 150])
        # Idle time is spread evenly over the instruction.
        np.testing.assert_allclose(line.segment_end_s, [150, 150 + 28 * 168 / 136])
        assert line.segment_copy.dtype == np.int64
        assert line.copy_started_s[0] == 50

    def test_a_second_copy_follows_the_first_within_an_instruction(self) -> None:
        copies = [(1, "in", 1, 2), (0, "in", 1, 4)]
        result = simulate(self.program, plan_of(self.program, "0@4 1@2", (), copies))
        assert_times(result, 50 + 100 + 40 + 10 + 7, {4: 10})
        line = result.timeline
        np.testing.assert_array_equal(line.segment_copy, [0, 1, 1, 1, 1])
        np.testing.assert_allclose(line.segment_start_s, [50, 82, 150, 190, 200])
        np.testing.assert_allclose(line.segment_end_s, [82, 150, 190, 200, 210])
        np.testing.assert_allclose(line.segment_work_s, [32, 68, 40, 10, 10])


def test_a_second_copy_begins_where_the_first_ends_in_a_slowed_instruction() -> None:
    """Slot 2 takes 168 s, of which 32 go to its slow read: 136 s of idle time, spread evenly."""
    buffers = [*TestFasterMemory.buffers, Buffer(64, "r4", is_input=True)]
    hardware = replace(HARDWARE, bandwidth=4.0)
    program = program_of(buffers, 5, fast_s=[50, 100, 40, 10, 7], hardware=hardware)
    copies = [(2, "in", 2, 4), (0, "in", 2, 4)]
    line = simulate(program, plan_of(program, "0@4 2@4", (), copies)).timeline
    middle = 150 + 16 * 168 / 136
    np.testing.assert_allclose(line.segment_start_s, [150, middle, 318])
    np.testing.assert_allclose(line.segment_end_s, [middle, 318, 326])


def test_parts_of_a_second_count() -> None:
    program = program_of(
        [Buffer(2, "r2", is_input=True)], 3, fast_s=0.25, hardware=replace(HARDWARE, bandwidth=16.0)
    )
    line = simulate(program, plan_of(program, "0@2", (), [(0, "in", 1, 2)])).timeline
    np.testing.assert_allclose(line.segment_start_s, [0.25])
    np.testing.assert_allclose(line.segment_end_s, [0.375])


def test_a_copy_of_nothing_takes_no_time() -> None:
    program = program_of([Buffer(0, "r2", is_input=True)], 3, fast_s=1.0)
    result = simulate(program, plan_of(program, "0@2", (), [(0, "in", 1, 2)]))
    assert_times(result, 3, {})
    assert result.timeline.copy_finished_s[0] == result.timeline.copy_started_s[0] == 1


def test_flags_of_another_program_are_refused() -> None:
    program = program_of([Buffer(256, "w1 r2")], 3)
    with pytest.raises(ValueError, match="shorter"):
        simulate(program, replace(all_slow_plan(program), is_fast=(False,)))


@settings(max_examples=60)
@given(programs_with_plans())
def test_time_is_conserved(case: tuple[Program, Plan]) -> None:
    program, plan = case
    result = simulate(program, plan)
    line = result.timeline
    assert result.latency_s == result.compute_s + result.stall_s
    assert (line.stall_before_s >= 0).all()
    assert result.latency_s >= result.all_fast_s * (1 - 1e-12)
    assert result.compute_s <= (result.all_slow_s + costs_s(program, plan)) * (1 + 1e-12)
    ends = line.start_s + line.duration_s
    begins = line.start_s - line.stall_before_s
    np.testing.assert_allclose(begins[1:], ends[:-1], rtol=1e-9, atol=1e-15)
    assert (line.copy_finished_s >= line.copy_started_s).all()
    assert (line.segment_end_s >= line.segment_start_s).all()
    spans = line.segment_end_s - line.segment_start_s
    assert (line.segment_work_s <= spans * (1 + 1e-9) + 1e-15).all()
    for index, copy in enumerate(plan.copies):
        size = program.groups[copy.group].size_bytes
        level = copy_level(program, copy, plan.stays)
        work = program.multiplicity(level) * size / program.hardware.bandwidth
        served = line.segment_work_s[line.segment_copy == index].sum()
        assert served == pytest.approx(work)
        due = line.start_s[copy.deadline] if copy.deadline < program.num_slots else np.inf
        assert line.copy_finished_s[index] <= due * (1 + 1e-9)


@settings(max_examples=30)
@given(programs_with_plans())
def test_same_plan_same_time(case: tuple[Program, Plan]) -> None:
    program, plan = case
    one, two = simulate(program, plan), simulate(program, plan)
    assert one.latency_s == two.latency_s
    np.testing.assert_array_equal(one.timeline.copy_finished_s, two.timeline.copy_finished_s)


@settings(max_examples=30)
@given(programs_with_plans())
def test_more_fast_accesses_never_compute_longer(case: tuple[Program, Plan]) -> None:
    """But for writes that take longer there."""
    program, plan = case
    free = [access.saving_s >= 0 for access in program.accesses]
    fewer = tuple(a and is_free for a, is_free in zip(plan.is_fast, free, strict=True))
    most = touchwise_plan(program).is_fast
    more = tuple(a or (b and f) for a, b, f in zip(fewer, most, free, strict=True))
    slow_s, fewer_s, more_s = (
        simulate(program, replace(plan, is_fast=flags)).compute_s
        for flags in (all_slow_plan(program).is_fast, fewer, more)
    )
    assert more_s <= fewer_s <= slow_s
    assert fewer_s <= simulate(program, plan).compute_s * (1 + 1e-12)


def costs_s(program: Program, plan: Plan) -> float:
    """Seconds that the plan's writes into fast memory take longer, floors apart."""
    fast = (a for a, is_fast in zip(program.accesses, plan.is_fast, strict=True) if is_fast)
    return -sum(min(0.0, access.saving_s) for access in fast)


def test_a_write_may_take_longer_into_fast_memory() -> None:
    program = program_of([Buffer(2, "w1 r2")], 3, fast_s=5.0)
    costly = tuple(replace(a, saving_s=-1.0 if a.is_write else 3.0) for a in program.accesses)
    program = replace(program, accesses=costly)
    assert (program.all_slow_s, program.all_fast_s) == (17.0, 14.0)
    assert simulate(program, plan_of(program, "0@1 0@2", ())).latency_s == 15.0
    assert simulate(program, plan_of(program, "0@1", ())).latency_s == 18.0
