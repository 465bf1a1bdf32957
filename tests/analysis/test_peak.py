"""The peak advisor: who is there, the cheapest cover against brute force, relief by replay."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from engine.analysis.peak import (
    cheapest,
    fullest_slot,
    largest_hole,
    relieve,
    residents,
    used_bytes,
)
from engine.errors import SolverError
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.solvers import solve
from tests.plan.cases import Buffer, plan_of, program_of
from tests.ui.network import residual_network

PROGRAM = program_of(
    [Buffer(256, "w1 r4 r6"), Buffer(128, "w2 r3"), Buffer(512, "r5", is_input=True)],
    reserved={3: 128},
)
PLAN = plan_of(
    PROGRAM,
    "0@1 0@4 0@6 1@2 1@3 2@5",
    [(0, 128, 1, 7), (1, 384, 2, 4), (2, 512, 3, 6)],
    [(2, "in", 3, 5)],
)


def test_who_is_there() -> None:
    assert list(used_bytes(PROGRAM, PLAN.stays)) == [0, 256, 384, 1024, 768, 768, 256, 0, 0, 0]
    assert fullest_slot(PROGRAM, PLAN) == 3
    found = residents(PROGRAM, PLAN, 3)
    assert [(r.group, r.offset, r.next_use) for r in found] == [
        (0, 128, 4),
        (1, 384, 3),
        (2, 512, 5),
    ]
    assert [r.saving_s for r in found] == [256, 128, 512]
    assert found[0].stay_saving_s == 3 * 256
    assert largest_hole(PROGRAM, PLAN, 3) == 1408 - 1024
    assert largest_hole(PROGRAM, PLAN, 1) == 1408 - 384


@pytest.mark.parametrize("seed", range(30))
def test_the_cheapest_cover_against_brute_force(seed: int) -> None:
    chance = random.Random(seed)
    number = chance.randrange(1, 9)
    costs = [chance.choice([0.0, 1.0, chance.random()]) for _ in range(number)]
    sizes = [chance.randrange(0, 40) for _ in range(number)]
    wanted = chance.randrange(1, 100)
    covers = [
        sum(costs[i] for i in chosen)
        for size in range(number + 1)
        for chosen in combinations(range(number), size)
        if sum(sizes[i] for i in chosen) >= wanted
    ]
    found = cheapest(costs, sizes, wanted)
    if not covers:
        assert found is None
        return
    assert found is not None
    assert sum(sizes[i] for i in found) >= wanted
    assert sum(costs[i] for i in found) == pytest.approx(min(covers))


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_relief_is_a_valid_plan_with_more_room(share: float) -> None:
    program = residual_network()
    plan = solve("greedy", program)
    slot = fullest_slot(program, plan)
    wanted = int(share * program.hardware.fast_bytes)
    relief = relieve(program, plan, slot, wanted)
    assert relief.dropped
    assert relief.is_enough
    assert relief.freed_bytes >= wanted
    assert check(program, relief.plan) is None
    assert simulate(program, relief.plan).latency_s == relief.after_s
    assert used_bytes(program, relief.plan.stays)[slot] == relief.used_after
    assert relief.before_s == pytest.approx(simulate(program, plan).latency_s)


def test_more_than_there_is_cannot_be_freed() -> None:
    program = residual_network()
    with pytest.raises(SolverError, match="at most"):
        relieve(program, solve("greedy", program), 3, 2 * program.hardware.fast_bytes)


@pytest.mark.parametrize("name", ["resnet50-v5e-b64", "lstm-v5e-b128"])
def test_relief_on_real_programs(name: str) -> None:
    program = library.load_sample(name)
    plan = solve("xla_compiled", program)
    slot = fullest_slot(program, plan)
    relief = relieve(program, plan, slot, 2**20)
    assert check(program, relief.plan) is None
    assert relief.is_enough
