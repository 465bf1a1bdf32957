"""The input that stays in fast memory between two runs of the program."""

from __future__ import annotations

from dataclasses import replace

from engine.plan.check import check
from engine.plan.model import Copy, Plan, Stay
from engine.program.model import Program, Region
from engine.solvers.xla_msa.segments import candidates
from engine.solvers.xla_msa.slots import MsaOptions
from engine.solvers.xla_msa.solver import solve
from tests.solvers.xla_msa.programs import Tensor, program_of


def stays_of(program: Program, plan: Plan, group: int) -> list[Stay]:
    assert check(program, plan) is None
    return [s for s in plan.stays if s.group == group]


def test_largest_unwritten_input_first_then_the_one_with_larger_results() -> None:
    tensors = [
        Tensor(20, [(0, "r", 1.0)], is_input=True),
        Tensor(20, [(1, "r", 1.0)], is_input=True),
        Tensor(30, [(2, "r", 1.0)], is_input=True),
        Tensor(90, [(3, "rw", 1.0)], is_input=True),
        Tensor(90, [(3, "r", 1.0)], is_input=True, is_live_out=True),
        Tensor(10, [(1, "w", 1.0)]),
    ]
    assert candidates(program_of(tensors, 4)) == [2, 1, 0]


def test_it_is_there_from_the_start_and_costs_no_copy() -> None:
    tensors = [Tensor(60, [(0, "r", 5.0), (3, "r", 5.0)], is_input=True)]
    program = program_of(tensors, 4, max_cross_program=1)
    plan = solve(program)
    assert stays_of(program, plan, 0) == [Stay(0, 0, -1, 4)]
    assert plan.copies == ()
    assert all(plan.is_fast)


def crowded_program() -> Program:
    """An input needed early only, in a long program that wants more than the fast memory."""
    tensors = [
        Tensor(60, [(0, "r", 5.0)], is_input=True),
        Tensor(70, [(4, "w", 5.0), (9, "r", 5.0)]),
    ]
    return program_of(tensors, 20, max_cross_program=1)


def test_it_is_freed_after_its_last_use_and_brought_back_at_the_end() -> None:
    program = crowded_program()
    plan = solve(program)
    # The copy takes 60 s and is wanted 120 s before the end: after slot 15.
    assert stays_of(program, plan, 0) == [Stay(0, 0, -1, 1), Stay(0, 0, 16, 20)]
    assert plan.copies == (Copy(0, True, 16, 20),)
    assert stays_of(program, plan, 1) == [Stay(1, 0, 4, 10)]


def test_it_is_kept_if_freeing_is_off_or_saves_little() -> None:
    for options in [
        MsaOptions(frees_cross_program_prefetch=False),
        MsaOptions(max_occupied_ratio=0.2),
    ]:
        program = crowded_program()
        plan = solve(program, options)
        assert stays_of(program, plan, 0) == [Stay(0, 0, -1, 20)]
        assert stays_of(program, plan, 1) == []


def test_inputs_of_loops_and_of_the_batch_are_left_out() -> None:
    tensors = [
        Tensor(60, [(2, "r", 5.0)], is_input=True),
        Tensor(50, [(5, "r", 5.0)], is_input=True),
        Tensor(40, [(5, "r", 5.0)], is_input=True),
    ]
    program = program_of(tensors, 6, [Region("while", 1, 4, 8.0)])
    assert candidates(program) == [1, 2]
    values = list(program.values)
    values[1] = replace(values[1], shape="bf16[8,25]")
    values[2] = replace(values[2], shape="bf16[80,2]")
    named = replace(program, values=tuple(values), provenance={"batch": 8})
    assert candidates(named) == [2]
    assert candidates(replace(named, provenance={"batch": 1})) == [1, 2]


def test_a_freed_input_keeps_its_place_when_others_are_repacked() -> None:
    tensors = [
        Tensor(30, [(0, "r", 5.0)], is_input=True),
        Tensor(40, [(2, "w", 9.0), (4, "r", 9.0)]),
        Tensor(40, [(3, "w", 7.0), (9, "r", 7.0)]),
        Tensor(30, [(5, "w", 2.0), (18, "r", 3.0)]),
        Tensor(60, [(8, "w", 1.0), (12, "r", 2.0)]),
    ]
    program = program_of(tensors, 20, max_cross_program=1)
    plan = solve(program, MsaOptions(max_repacks=4))
    assert plan.notes["repacks"] > 0
    first, back = stays_of(program, plan, 0)
    assert first.offset == back.offset
