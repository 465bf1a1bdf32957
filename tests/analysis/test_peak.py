"""The peak advisor: who is there, the cheapest cover against brute force, relief by replay."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from engine.analysis import peak
from engine.analysis.peak import (
    Resident,
    cheapest,
    fullest_slot,
    largest_hole,
    relieve,
    residents,
    used_bytes,
)
from engine.errors import SolverError
from engine.game.replay import replay
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Region
from engine.solvers import solve
from tests.plan.cases import Buffer, plan_of, program_of
from tests.strategies import draw_plan, draw_program
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


LOOP = program_of(
    [
        Buffer(256, "r3 r8", is_input=True),
        Buffer(128, "w1 r7+2"),
        Buffer(384, "r1 r2", is_input=True),
    ],
    regions=[Region("loop", 2, 6, multiplicity=4.0)],
)
LOOPED = plan_of(
    LOOP,
    "0@3 0@8 1@1 1@7 2@1 2@2",
    [(0, 0, 1, 9), (1, 256, 1, 10), (2, 384, -1, 6), (2, 384, 9, 10)],
    [(0, "in", 1, 2), (2, "in", 9, 10)],
)


def at(slot: int, group: int) -> Resident:
    """Who holds the place of a group then."""
    return next(r for r in residents(LOOP, LOOPED, slot) if r.group == group)


def test_a_loop_uses_again_what_stands_earlier_in_its_body() -> None:
    assert check(LOOP, LOOPED) is None
    assert [at(slot, 0).next_use for slot in (1, 3, 4, 5, 6, 8)] == [3, 3, 3, 3, 8, 8]
    # The stay must cover the loop for that touch; what comes after it can be fetched again.
    assert at(4, 0).saving_s == 4 * 256
    assert at(6, 0).saving_s == 256


def test_what_is_in_flight_is_in_use() -> None:
    assert [at(slot, 1).next_use for slot in (1, 2, 8, 9)] == [1, 7, 7, 7]
    assert at(9, 1).saving_s == 128


def test_an_input_that_stays_for_the_next_run_is_used_again_there() -> None:
    assert [at(slot, 2).next_use for slot in (0, 1, 4, 9)] == [1, 1, 2, 1]
    assert at(9, 2).saving_s == at(9, 2).stay_saving_s == 384 + 4 * 384


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


def test_many_residents_of_costs_like_their_sizes_are_covered_nearly_as_cheaply() -> None:
    chance = random.Random(1)
    sizes = [chance.randrange(1, 10**6) for _ in range(60)]
    costs = [size * (1 + chance.random() / 1000) for size in sizes]
    wanted = sum(sizes) // 2
    found = cheapest(costs, sizes, wanted)
    assert found is not None
    assert sum(sizes[i] for i in found) >= wanted
    # No set costs less than the bytes that it must free.
    assert sum(costs[i] for i in found) < 1.001 * wanted


@pytest.mark.parametrize("seed", range(10))
def test_a_cover_is_found_where_there_is_one_however_few_choices_are_kept(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peak, "MOST_CHOICES", 3)
    chance = random.Random(seed)
    costs = [chance.choice([0.0, 1.0, chance.random()]) for _ in range(12)]
    sizes = [chance.randrange(0, 40) for _ in range(12)]
    for wanted in range(1, sum(sizes) + 2):
        found = cheapest(costs, sizes, wanted)
        assert (found is not None) == (wanted <= sum(sizes))
        assert found is None or sum(sizes[i] for i in found) >= wanted


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


@pytest.mark.parametrize(
    ("name", "slot", "wanted"),
    [
        ("teach-loop-carry", 3, 524289),
        ("teach-loop-carry", 3, 983040),
        ("earlyexit-v5e-b48", 27, 75 * 2**20),
        ("bert-v5e-b32", 103, 384 * 2**10),
    ],
    ids=["a loop", "all of it", "a branch", "an input that comes back"],
)
def test_what_has_no_use_to_come_makes_room_too(name: str, slot: int, wanted: int) -> None:
    program = library.load_sample(name)
    relief = relieve(program, solve("greedy", program), slot, wanted)
    assert relief.is_enough
    assert check(program, relief.plan) is None


def test_relief_is_measured_from_the_plan_and_the_game_is_told_apart() -> None:
    """The game plays this plan otherwise, faster by 3 %, and holds less at its fullest."""
    program = library.load_sample("gatedkernel-v6e-b32")
    plan = solve("xla_compiled", program)
    slot = fullest_slot(program, plan)
    relief = relieve(program, plan, slot, 2**20)
    assert relief.before_s == simulate(program, plan).latency_s
    assert relief.used_before == used_bytes(program, plan.stays)[slot]
    assert relief.hole_before == largest_hole(program, plan, slot)
    game = replay(program, plan).plan("game")
    assert relief.game_s == simulate(program, game).latency_s < relief.before_s


def test_what_the_game_does_not_hold_need_not_be_dropped() -> None:
    """Of 120 MiB of the plan at its fullest the game holds 112."""
    program = library.load_sample("gatedkernel-v6e-b32")
    plan = solve("xla_compiled", program)
    slot = fullest_slot(program, plan)
    relief = relieve(program, plan, slot, 2**23)
    assert relief.dropped == () and relief.is_enough
    assert relief.freed_bytes == 2**23
    assert relief.after_s == relief.game_s


@pytest.mark.parametrize("seed", range(12))
def test_as_much_can_be_freed_as_the_plan_itself_holds(seed: int) -> None:
    """Also where the game, which plays a plan otherwise, holds less there, or more."""
    chance = random.Random(seed)
    program = draw_program(chance, chance.randint(3, 18))
    plan = draw_plan(chance, program)
    for slot in range(program.num_slots):
        held = sum(r.size_bytes for r in residents(program, plan, slot))
        with pytest.raises(SolverError, match=f"at most {held} bytes can be freed in slot {slot}"):
            relieve(program, plan, slot, held + 1)
        if held:
            relief = relieve(program, plan, slot, held)
            assert relief.is_enough or relief.dropped


@pytest.mark.parametrize("name", ["resnet50-v5e-b64", "lstm-v5e-b128"])
def test_relief_on_real_programs(name: str) -> None:
    program = library.load_sample(name)
    plan = solve("xla_compiled", program)
    slot = fullest_slot(program, plan)
    relief = relieve(program, plan, slot, 2**20)
    assert check(program, relief.plan) is None
    assert relief.is_enough
