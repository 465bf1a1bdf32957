"""Whole plans of the XLA-like solver, derived by hand, and validity on random programs.

Every slot lasts 30 s (more if it draws more bytes), a byte is copied in one second, and the fast
memory has 100 bytes: copies of the whole of it last 100 s, so that values may wait up to 800 s. A
copy of `n` bytes is wanted `2 n` seconds ahead, and must have `n`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from engine.plan.check import check
from engine.plan.model import Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import Program, Region
from engine.solvers.xla_msa.slots import MsaOptions
from engine.solvers.xla_msa.solver import solve
from tests.plan.cases import with_slow_writes
from tests.solvers.xla_msa.programs import Tensor, program_of
from tests.strategies import programs, random_program


def solved(program: Program, options: MsaOptions | None = None) -> Plan:
    plan = solve(program, options or MsaOptions())
    assert check(program, plan) is None
    return plan


def test_program_derived_by_hand() -> None:
    tensors = [
        Tensor(40, [(0, "w", 10.0), (1, "r", 10.0)]),
        Tensor(30, [(1, "w", 5.0), (2, "r", 5.0)]),
        Tensor(20, [(3, "r", 5.0)], is_input=True),
        Tensor(50, [(3, "w", 8.0)], is_live_out=True),
    ]
    program = program_of(tensors, 4)
    # Scores: 80/sqrt 40 = 12.6, 60/sqrt 30 = 11.0, 50/sqrt 50 = 7.1, 20/sqrt 20 = 4.5.
    # 0 is placed at the bottom, 1 above it. The result 3 would only be written back: it is slow.
    # The input takes 20 s and is wanted 40 s ahead. After slot 1 it has 30 s, after slot 0 it has
    # 100 s (slot 1 draws 70 bytes): 30 is nearer. Group 1 leaves 40 bytes below it, and that gap is
    # taken before the open end above it.
    expected = Plan(
        program_hash=content_hash(program),
        solver="xla_like",
        is_fast=(True, True, True, True, True, False),
        stays=(Stay(0, 0, 0, 2), Stay(1, 40, 1, 3), Stay(2, 0, 2, 4)),
        copies=(Copy(2, True, 2, 3),),
    )
    assert replace(solved(program), notes={}) == expected


def test_a_result_that_must_be_made_slow_is_fetched_for_its_reads() -> None:
    tensor = Tensor(20, [(0, "w", 0.0), (4, "r", 9.0), (5, "r", 9.0)])
    plan = solved(with_slow_writes(program_of([tensor], 6), 0))
    # It is wanted 40 s ahead of slot 4: the 30 s of slot 3 are nearer than the 60 s of two slots.
    assert plan.copies == (Copy(0, True, 3, 4),)
    assert plan.is_fast == (False, True, True)


def test_a_used_result_is_written_back_from_its_place() -> None:
    program = program_of([Tensor(20, [(0, "w", 9.0), (1, "r", 9.0)], is_live_out=True)], 6)
    plan = solved(program)
    # 40 s ahead of slot 3 lie slots 1 and 2.
    assert plan.copies == (Copy(0, False, 1, 3),)
    assert plan.stays == (Stay(0, 0, 0, 4),)


def test_a_long_wait_is_bridged_by_two_copies() -> None:
    program = program_of([Tensor(20, [(0, "w", 9.0), (1, "r", 9.0), (9, "r", 9.0)])], 10)
    assert solved(program).stays == (Stay(0, 0, 0, 10),)
    plan = solved(program, MsaOptions(max_overlap_to_mem_size_ratio=1.0))
    # 7 slots are 210 s, and 100 s are allowed. Wanted 40 s before slot 9: after slot 7 it has
    # 30 s, after slot 6 it has 60 s.
    assert plan.stays == (Stay(0, 0, 0, 4), Stay(0, 0, 8, 10))
    assert plan.copies == (Copy(0, False, 1, 3), Copy(0, True, 8, 9))


def test_in_place_updates_share_one_place() -> None:
    touches = [(1, "rw", 9.0), (2, "r", 9.0), (4, "rw", 9.0), (5, "r", 9.0)]
    program = program_of([Tensor(20, touches, is_input=True, is_live_out=True)], 9)
    plan = solved(program)
    # Slot 1 is too early for a copy (0 to 30 s, wanted 40 s, but 30 + 9 >= 20): after the start.
    assert plan.stays == (Stay(0, 0, 0, 8),)
    assert plan.copies == (Copy(0, True, 0, 1), Copy(0, False, 5, 7))
    assert all(plan.is_fast)


def test_a_touch_that_draws_little_is_not_worth_its_copy() -> None:
    program = program_of([Tensor(20, [(5, "r", 9.0)], is_input=True)], 6)
    assert solved(program).is_fast == (True,)
    access = replace(program.accesses[0], slow_bytes=9)
    assert solved(replace(program, accesses=(access,))).is_fast == (False,)
    access = replace(program.accesses[0], slow_bytes=10)
    assert solved(replace(program, accesses=(access,))).is_fast == (True,)


def test_the_better_group_gets_the_place() -> None:
    tensors = [
        Tensor(60, [(0, "w", 5.0), (2, "r", 5.0)]),
        Tensor(60, [(1, "w", 5.0), (3, "r", 5.0)], drawn=2.0),
    ]
    assert {s.group for s in solved(program_of(tensors, 4)).stays} == {1}
    priorities = MsaOptions(priorities={0: -1})
    assert {s.group for s in solved(program_of(tensors, 4), priorities).stays} == {0}


def test_later_uses_choose_the_place() -> None:
    tensors = [
        Tensor(50, [(4, "w", 9.0), (5, "r", 9.0)]),
        Tensor(30, [(0, "w", 9.0), (1, "r", 9.0), (5, "r", 9.0)]),
    ]
    plan = solved(program_of(tensors, 6), MsaOptions(priorities={0: -1}))
    assert plan.stays == (Stay(1, 50, 0, 6), Stay(0, 0, 4, 6)), "not at 0, where it could not stay"


def test_repacking_makes_room() -> None:
    tensors = [
        Tensor(30, [(0, "w", 5.0), (2, "r", 5.0)]),
        Tensor(40, [(1, "w", 5.0), (4, "r", 5.0)]),
        Tensor(50, [(3, "w", 5.0), (6, "r", 5.0)]),
    ]
    program, order = program_of(tensors, 9), {0: -2, 1: -1}
    without = solved(program, MsaOptions(priorities=order))
    assert without.stays == (Stay(0, 0, 0, 3), Stay(1, 30, 1, 5)), "gaps of 30 are left"
    plan = solved(program, MsaOptions(max_repacks=4, max_retries=1, priorities=order))
    assert plan.notes["repacks"] == 1
    assert plan.stays == (Stay(0, 40, 0, 3), Stay(1, 0, 1, 5), Stay(2, 40, 3, 7))


def test_scratch_is_left_alone() -> None:
    tensors = [Tensor(60, [(0, "w", 9.0), (2, "r", 9.0)])]
    assert solved(program_of(tensors, 3, reserved=[0, 40, 0])).stays == (Stay(0, 40, 0, 3),)
    assert solved(program_of(tensors, 3, reserved=[0, 41, 0])).stays == ()


LOOP = Region("while", 3, 6, 10.0)


def test_a_weight_of_a_loop_is_prefetched_before_it_and_covers_it() -> None:
    program = program_of([Tensor(20, [(4, "r", 9.0)], is_input=True)], 8, [LOOP])
    plan = solved(program)
    # The last slot before the loop is 2; 30 s before it is nearest to 40 s.
    assert plan.stays == (Stay(0, 0, 1, 6),)
    assert plan.copies == (Copy(0, True, 1, 2),)


def test_a_weight_that_cannot_cover_a_loop_is_prefetched_inside_it() -> None:
    weight = Tensor(20, [(7, "r", 9.0)], is_input=True)
    other = Tensor(90, [(3, "w", 1.0), (4, "r", 1.0)])
    program = program_of([weight, other], 9, [Region("while", 2, 9, 10.0)])
    plan = solved(program, MsaOptions(priorities={1: -1}))
    assert plan.stays == (Stay(1, 0, 3, 5), Stay(0, 0, 6, 8))
    assert plan.copies == (Copy(0, True, 6, 7),)


def test_a_wait_through_an_inner_loop_counts_only_to_its_start() -> None:
    regions = [Region("outer", 4, 14, 8.0), Region("inner", 6, 12, 64.0, 0)]
    program = program_of([Tensor(20, [(3, "w", 9.0), (7, "r", 9.0)])], 16, regions)
    # From slot 7 to the end of the outer loop lie 4 slots five times and 2 more: 660 s. But the
    # longest wait is from slot 7 to the end of the inner loop: 120 s.
    assert solved(program, MsaOptions(max_overlap_to_mem_size_ratio=1.3)).stays == (
        Stay(0, 0, 3, 14),
    )
    assert solved(program, MsaOptions(max_overlap_to_mem_size_ratio=1.1)).stays == (
        Stay(0, 0, 6, 8),
    )


def test_carried_state_covers_the_loop_and_is_written_back_after_it() -> None:
    touches = [(0, "w", 9.0), (4, "rw", 9.0), (6, "r", 9.0)]
    plan = solved(program_of([Tensor(20, touches, is_live_out=True)], 12, [LOOP]))
    # Made anew until slot 5, written back from slot 6 on.
    assert plan.stays == (Stay(0, 0, 0, 9),)
    assert plan.copies == (Copy(0, False, 6, 8),)
    assert all(plan.is_fast)


def test_carried_state_that_cannot_cover_is_written_back_inside() -> None:
    state = Tensor(20, [(0, "w", 9.0), (6, "rw", 9.0), (7, "r", 9.0)], is_live_out=True)
    other = Tensor(95, [(2, "w", 1.0), (3, "r", 1.0)])
    program = program_of([state, other], 14, [Region("while", 2, 10, 10.0)])
    plan = solved(program, MsaOptions(priorities={1: -1}))
    # The other tensor fills the start of the loop, so the state is in slow memory there.
    assert plan.stays == (Stay(1, 0, 2, 4), Stay(0, 0, 5, 10))
    assert plan.copies == (Copy(0, True, 5, 6), Copy(0, False, 7, 9))
    assert plan.is_fast == (False, True, True, True, True, True)


def test_evictions_without_bandwidth_are_free_in_the_last_retry() -> None:
    touches = [(0, "w", 9.0), (1, "r", 9.0)]
    program = program_of([Tensor(45, touches, is_live_out=True, drawn=0.5)] * 2, 2)
    # Slot 1 lasts 45 s: bandwidth for one write-back.
    assert {c.group for c in solved(program).copies} == {0, 1}
    limited = solved(program, MsaOptions(max_outstanding_evictions=1))
    assert {c.group for c in limited.copies} == {0}, "the limit of outstanding copies stays"


def test_a_second_stay_begins_after_the_first() -> None:
    tensors = [
        Tensor(40, [(5, "r", 9.0), (7, "r", 9.0)], is_input=True),
        Tensor(55, [(6, "w", 9.0), (8, "r", 9.0)], drawn=0.8),
        Tensor(55, [(0, "w", 9.0), (4, "r", 9.0)]),
    ]
    program = program_of(tensors, 9, reserved=[0, 45, *[0] * 7])
    plan = solved(program, MsaOptions(priorities={0: 1}))
    # Group 2 leaves only the bottom until slot 4, group 1 takes it in slot 6. The second copy is
    # wanted 80 s before slot 7, which is slot 5, but there the first stay still stands.
    assert [s for s in plan.stays if s.group == 0] == [Stay(0, 0, 3, 6), Stay(0, 55, 6, 8)]
    assert plan.copies == (Copy(0, True, 3, 5), Copy(0, True, 6, 7))


@settings(max_examples=60)
@given(programs())
def test_plans_of_random_programs_are_valid(program: Program) -> None:
    solved(program)


@pytest.mark.parametrize("seed", range(6))
def test_plans_of_larger_programs_are_valid_and_the_same_each_time(seed: int) -> None:
    program = random_program(seed, 90)
    plan = solved(program)
    assert any(plan.is_fast)
    assert solve(program) == plan
