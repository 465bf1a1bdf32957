"""What the checker accepts can be carried out, byte by byte: loops, flights, threads, scratch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.plan.check import check
from engine.plan.model import BEFORE_START, Plan, Stay
from engine.program.model import Program
from tests.plan.byte_model import ByteModel
from tests.plan.cases import Buffer, plan_of, program_of
from tests.strategies import (
    all_slow_plan,
    draw_plan,
    draw_program,
    kept,
    random_program,
    touchwise_plan,
)

MUTATIONS = 12
WAYS = 4
"""So many times branches are chosen for a plan."""


def mutants(chance: random.Random, program: Program, plan: Plan) -> Iterator[Plan]:
    """Plans next to `plan`: a time, a place or a flag is another, or something is missing."""
    for _ in range(MUTATIONS):
        yield _mutant(chance, program, plan)


def _mutant(chance: random.Random, program: Program, plan: Plan) -> Plan:
    stays, copies, flags = list(plan.stays), list(plan.copies), list(plan.is_fast)
    kinds = ["flag"] + ["stay"] * 2 * bool(stays) + ["copy"] * 2 * bool(copies)
    kind, shift = chance.choice(kinds), chance.choice([-2, -1, 1, 2])
    if kind == "stay":
        index = chance.randrange(len(stays))
        name = chance.choice(["start", "end", "end", "offset"])
        step = shift * program.hardware.alignment if name == "offset" else shift
        moved = replace(stays[index], **{name: getattr(stays[index], name) + step})
        stays[index : index + 1] = [moved] if chance.random() < 0.9 else []
    elif kind == "copy":
        index = chance.randrange(len(copies))
        name = chance.choice(["start", "deadline"])
        moved_copy = replace(copies[index], **{name: getattr(copies[index], name) + shift})
        copies[index : index + 1] = [moved_copy] if chance.random() < 0.8 else []
    elif program.touches:
        touch = chance.choice(program.touches)
        for access in touch.accesses:
            flags[access] = not flags[access]
    return replace(plan, stays=tuple(stays), copies=tuple(copies), is_fast=tuple(flags))


def accepted(chance: random.Random, program: Program, attempts: int) -> Iterator[Plan]:
    """Plans that the checker takes: drawn ones, and their neighbours."""
    for plan in (draw_plan(chance, program, attempts), touchwise_plan(program)):
        yield plan
        yield from (p for p in mutants(chance, program, plan) if check(program, p) is None)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False), st.integers(1, 14), st.booleans())
def test_what_the_checker_accepts_can_be_carried_out(
    chance: random.Random, num_instructions: int, loops: bool
) -> None:
    program = draw_program(chance, num_instructions, loops)
    for plan in accepted(chance, program, attempts=10):
        assert faults(program, plan, chance) == []


@pytest.mark.parametrize("seed", range(12))
def test_also_in_larger_programs(seed: int) -> None:
    chance = random.Random(seed)
    program = random_program(seed, 30, loops=seed % 2 == 0, forks=True)
    for plan in accepted(chance, program, attempts=60):
        assert faults(program, plan, chance) == []


def test_kept_inputs_are_in_their_places_for_the_next_run() -> None:
    """Whichever branches and loops run: many small programs end with one."""
    tried = 0
    for seed in range(100):
        chance = random.Random(seed)
        program = draw_program(chance, chance.randint(2, 8))
        for number, group in enumerate(program.groups):
            high = program.hardware.fast_bytes - group.size_bytes
            offset = high - high % program.hardware.alignment
            early = Stay(number, offset, BEFORE_START, chance.randrange(program.num_slots))
            stays, copies = kept(chance, program, early)
            plan = replace(all_slow_plan(program), stays=tuple(stays), copies=tuple(copies))
            if check(program, plan) is None:
                tried += len(copies)
                assert faults(program, plan, chance) == []
    assert tried > 20


def faults(program: Program, plan: Plan, chance: random.Random) -> list[str]:
    """What goes wrong if all branches run, and if of each conditional at most one does."""
    found = ByteModel(program, plan).run()
    ways = WAYS if program.conditionals else 0
    return found + [f for _ in range(ways) for f in ByteModel(program, plan, chance).run()]


def test_random_programs_have_all_kinds_of_work_in_flight() -> None:
    many = [random_program(seed, 30) for seed in range(30)]
    flights = [(p, t) for p in many for t in p.touches if t.is_in_flight]
    assert any(t.reads and t.writes for _, t in flights)
    assert any(t.writes and not t.reads for _, t in flights)
    assert any(t.must_be_slow for _, t in flights)
    assert any(p.level_at(t.time) >= 0 for p, t in flights)
    over_loops = [(p.level_at(t.time), p.level_at(t.end - 1)) for p, t in flights]
    assert any(begun != passed for begun, passed in over_loops)
    assert any(i.reserved_bytes == i.scratch_bytes > 0 for p in many for i in p.instructions)


def test_accepted_plans_serve_fast_what_is_in_flight() -> None:
    served = 0
    for seed in range(8):
        chance, program = random.Random(seed), random_program(seed, 24)
        for plan in accepted(chance, program, attempts=40):
            served += sum(
                plan.is_fast[touch.accesses[0]] for touch in program.touches if touch.is_in_flight
            )
    assert served > 100


GATHER = program_of(
    [Buffer(512, "w1 r2+3"), Buffer(512, "w3 r7"), Buffer(512, "w2+3 r7 r8", is_live_out=True)],
    reserved={4: 256},
)
BESIDE = [(0, 256, 1, 6), (1, 768, 3, 8)]


@pytest.mark.parametrize(
    ("fast", "stays", "copies"),
    [
        ("0@1 0@2 1@3 1@7", [(0, 256, 1, 6), (1, 256, 3, 8)], []),
        ("0@1 0@2", [(0, 0, 1, 6)], []),
        ("0@1", [(0, 256, 1, 3)], [(0, "out", 2, 3)]),
        ("2@2 2@7", [(2, 256, 2, 9)], [(2, "out", 5, 8)]),
        ("2@7", [(2, 256, 5, 9)], [(2, "in", 5, 7)]),
    ],
)
def test_the_bytes_show_what_the_rules_forbid(
    fast: str, stays: list[tuple[int, int, int, int]], copies: list[tuple[int, str, int, int]]
) -> None:
    plan = plan_of(GATHER, fast, stays, copies)
    assert ByteModel(GATHER, plan).run()
    assert check(GATHER, plan) is not None


def test_the_bytes_of_a_valid_plan_are_in_order() -> None:
    plan = plan_of(GATHER, "0@1 0@2 1@3 1@7", BESIDE)
    assert check(GATHER, plan) is None
    assert not ByteModel(GATHER, plan).run()
