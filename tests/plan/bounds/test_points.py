"""Every valid plan is a point of the integer form that costs no more than the plan takes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings

from engine.game.reference.game import ReferenceGame
from engine.plan.bounds.bound import formulate
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program
from tests.chosen import seeds
from tests.plan.bounds.changes import walk
from tests.plan.bounds.points import least_cost, point
from tests.strategies import programs, programs_with_plans, random_program, touchwise_plan


def judge(program: Program, plan: Plan) -> None:
    """The plan's point is feasible, and not above the plan, whether copies are whole or not."""
    result = simulate(program, plan)
    for is_whole in (False, True):
        formulation = formulate(program, is_whole)
        # Longer stalls than the all-slow plan's latency have no place in it (`docs/bound.md`).
        if formulation is None or result.stall_s > result.all_slow_s:
            return
        cost = least_cost(formulation, point(formulation, plan))
        assert cost is not None
        assert formulation.seconds(cost) <= result.latency_s * (1 + 1e-7) + 1e-15


@pytest.mark.parametrize("hundred", seeds(2, 1))
@settings(max_examples=100, deadline=None)
@given(pair=programs_with_plans(12))
def test_a_random_plan_is_a_point(pair: tuple[Program, Plan], hundred: int) -> None:
    """A hundred plans, nightly two hundred."""
    del hundred
    judge(*pair)


@settings(max_examples=30, deadline=None)
@given(program=programs(12))
def test_a_plan_of_copies_without_slots_is_a_point(program: Program) -> None:
    judge(program, touchwise_plan(program))


@pytest.mark.parametrize("seed", seeds(12, 4))
def test_every_game_is_a_point(seed: int) -> None:
    program, chance = random_program(seed, 12), random.Random(seed)
    for _ in range(10):
        game = ReferenceGame(program)
        while not game.is_over:
            game.step(chance.choice(game.legal_actions()))
        judge(program, game.plan("random play"))


@pytest.mark.parametrize("seed", seeds(24, 8))
def test_plans_found_by_changing_plans_are_points(seed: int) -> None:
    program = random_program(seed, 3 + seed % 3)
    for plan in walk(program, random.Random(seed), 200):
        judge(program, plan)


@pytest.mark.parametrize("seed", seeds(24, 8))
def test_plans_around_reads_that_must_be_slow_are_points(seed: int) -> None:
    """Content may stay in fast memory beside them, for a later touch."""
    program, chance = random_program(seed, 3 + seed % 3), random.Random(seed)
    accesses = tuple(
        replace(a, saving_s=0.0, must_be_slow=True) if chance.random() < 0.3 else a
        for a in program.accesses
    )
    instructions = tuple(replace(i, floor_s=0.0) for i in program.instructions)
    program = replace(program, accesses=accesses, instructions=instructions)
    for plan in walk(program, chance, 200):
        judge(program, plan)
