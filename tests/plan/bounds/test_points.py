"""Every valid plan is a point of the integer form that costs no more than the plan takes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings

from engine.game.reference.game import ReferenceGame
from engine.plan.bounds import whole_copies
from engine.plan.bounds.bound import formulate
from engine.plan.check import check
from engine.plan.model import Copy, Plan, Stay
from engine.plan.simulate import simulate
from engine.program.model import Program, Region, Touch
from tests.chosen import seeds
from tests.plan.bounds.changes import walk
from tests.plan.bounds.points import least_cost, point
from tests.strategies import (
    all_slow_plan,
    programs,
    programs_with_plans,
    random_program,
    touchwise_plan,
)

FOLLOWED = (1, whole_copies.MOST_SLOTS)
"""Slots in which a copy is followed: with one, a loop is cut short."""


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


@pytest.mark.parametrize("most_slots", FOLLOWED)
@pytest.mark.parametrize("seed", seeds(24, 4))
def test_plans_found_by_changing_plans_are_points(
    seed: int, most_slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_copies, "MOST_SLOTS", most_slots)
    program = random_program(seed, 3 + seed % 3)
    for plan in walk(program, random.Random(seed), 200):
        judge(program, plan)


@pytest.mark.parametrize("seed", seeds(24, 4))
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


@pytest.mark.parametrize("most_slots", FOLLOWED)
@pytest.mark.parametrize("kind", ["prefetch", "write-back"])
def test_copies_under_way_through_a_loop_are_points(
    kind: str, most_slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They begin before it, or where it begins, and end where it ends, or later."""
    monkeypatch.setattr(whole_copies, "MOST_SLOTS", most_slots)
    judged = set()
    for seed in range(200, 260):
        program = random_program(seed, 9)
        for plan, case in (prefetched if kind == "prefetch" else written_back)(program):
            if check(program, plan) is None:
                judge(program, plan)
                judged.add(case)
    assert judged == {0, 1}


def loops(program: Program) -> Iterator[Region]:
    """All while bodies."""
    return (region for region in program.regions if region.kind == "while")


def prefetched(program: Program) -> Iterator[tuple[Plan, int]]:
    """One touch after a loop is fast, its prefetch begins so many slots before the loop."""
    for loop, touch in product(loops(program), program.touches):
        for before in (0, 1):
            start = loop.start - before
            if start >= 0 and loop.end <= touch.time:
                stay = Stay(touch.group, 0, start, touch.end)
                copies = [Copy(touch.group, True, start, touch.time)]
                if touch.writes:
                    stay = replace(stay, end=program.num_slots)
                    copies.append(Copy(touch.group, False, touch.end, program.num_slots))
                yield one_stay(program, touch, stay, copies), before


def written_back(program: Program) -> Iterator[tuple[Plan, int]]:
    """One write before a loop is fast, its write-back ends so many slots after the loop."""
    for loop, touch in product(loops(program), program.touches):
        for after in (0, 1):
            end = loop.end + after
            is_before = touch.writes and not touch.reads and touch.end <= loop.start
            if is_before and end <= program.num_slots:
                copy = Copy(touch.group, False, touch.end, end)
                yield one_stay(program, touch, Stay(touch.group, 0, touch.time, end), [copy]), after


def one_stay(program: Program, touch: Touch, stay: Stay, copies: Sequence[Copy]) -> Plan:
    """All is slow but one touch."""
    plan = all_slow_plan(program)
    fast = [index in touch.accesses for index in range(len(program.accesses))]
    return replace(plan, is_fast=tuple(fast), stays=(stay,), copies=tuple(copies))
