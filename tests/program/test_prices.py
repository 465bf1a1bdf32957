"""Prices are a part of the program: constants in every plan, kept by files, counts and refits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import ProgramFormatError
from engine.plan.bounds.bound import lower_bound
from engine.plan.simulate import simulate
from engine.program.counts import Counts, with_counts
from engine.program.io import content_hash, from_json, to_json
from engine.program.library import load_sample
from engine.program.model import Program
from engine.program.prices import (
    HOST,
    KERNEL,
    LINKS,
    MODEL,
    Price,
    price_sources,
    priced_s,
    with_prices,
    with_prices_of,
)
from engine.program.validate import validate
from engine.solvers import Budget, solve

US = 1e-6


@pytest.fixture
def program() -> Program:
    """A loop and what is around it."""
    return load_sample("teach-loop-carry")


def flying(program: Program, time: int, slots: int) -> Program:
    """The program where what instruction `time` accesses goes on for so many slots."""
    accesses = tuple(replace(a, in_flight=slots) if a.time == time else a for a in program.accesses)
    return replace(program, accesses=accesses)


def test_a_price_is_paid_once_per_execution(program: Program) -> None:
    priced = with_prices(program, {t: Price(2 * US) for t in range(program.num_slots)})
    for time, (old, new) in enumerate(zip(program.instructions, priced.instructions, strict=True)):
        times = program.multiplicity(program.instructions[time].level)
        assert new.priced_s == pytest.approx(2 * US * times)
        assert new.fast_s == pytest.approx(old.fast_s + new.priced_s)
    assert priced.all_slow_s == pytest.approx(program.all_slow_s + priced_s(priced))
    validate(priced, "priced")


def test_prices_move_all_plans_and_the_bound_alike(program: Program) -> None:
    priced = with_prices(program, {0: Price(3 * US)})
    plan = solve("greedy", program, Budget(1.0, 0))
    moved = replace(plan, program_hash=content_hash(priced))
    before, after = simulate(program, plan), simulate(priced, moved)
    assert after.compute_s == pytest.approx(before.compute_s + priced_s(priced))
    assert lower_bound(priced).bound_s <= after.latency_s
    assert lower_bound(priced).bound_s <= lower_bound(program).bound_s + priced_s(priced) + 1e-12


def test_a_second_price_takes_the_place_of_the_first(program: Program) -> None:
    once = with_prices(program, {0: Price(3 * US)})
    twice = with_prices(once, {0: Price(5 * US, KERNEL)})
    assert twice.instructions[0].priced_s == pytest.approx(5 * US)
    assert twice.all_slow_s == pytest.approx(program.all_slow_s + 5 * US)
    assert price_sources(once) == {program.instructions[0].name: MODEL}
    assert price_sources(twice) == {program.instructions[0].name: KERNEL}


def test_files_keep_prices_and_programs_without_them_are_as_before(program: Program) -> None:
    assert "priced_s" not in to_json(program)["instructions"]
    priced = with_prices(program, {0: Price(3 * US)})
    assert from_json(to_json(priced), "again") == priced
    assert content_hash(priced) != content_hash(program)


def test_a_price_above_the_time_is_refused(program: Program) -> None:
    instructions = (
        replace(program.instructions[0], priced_s=program.instructions[0].fast_s + 1e-3),
        *program.instructions[1:],
    )
    with pytest.raises(ProgramFormatError, match="instruction 0 has a price above its time"):
        validate(replace(program, instructions=instructions), "bad")


def test_other_trip_counts_scale_prices(program: Program) -> None:
    loop = program.regions[0]
    inside = {t: Price(US) for t in range(loop.start, loop.end)}
    priced = with_prices(program, inside)
    longer = with_counts(priced, Counts({loop.name: round(3 * loop.multiplicity)}))
    assert priced_s(longer) == pytest.approx(3 * priced_s(priced))


def straight() -> Program:
    """A program without loops."""
    return load_sample("teach-prefetch")


def test_work_in_flight_costs_what_is_left_when_it_is_awaited() -> None:
    program = flying(straight(), 0, 2)
    hidden_s = program.least_s[1] + program.least_s[2]
    for seconds in (hidden_s / 2, hidden_s + 7 * US):
        priced = with_prices(program, {0: Price(seconds, over=LINKS)})
        assert priced_s(priced) == pytest.approx(max(0.0, seconds - hidden_s))


def test_work_in_flight_hides_behind_what_a_compile_takes() -> None:
    program = flying(straight(), 0, 2)
    taken_s = [7 * US, 2 * US, 3 * US, *[0.0] * (program.num_slots - 3)]
    for seconds, left_s in ((4 * US, 0.0), (6 * US, US)):
        priced = with_prices(program, {0: Price(seconds, over=LINKS)}, taken_s=taken_s)
        assert priced_s(priced) == pytest.approx(left_s, abs=1e-15)
    both = {0: Price(6 * US, over=LINKS), 1: Price(US)}
    assert priced_s(with_prices(program, both, taken_s=taken_s)) == pytest.approx(US)


def test_a_program_gets_the_prices_of_another_with_who_made_them() -> None:
    own = with_prices(straight(), {0: Price(3 * US)})
    other = with_prices(straight(), {0: Price(US, KERNEL), 1: Price(2 * US)})
    made = with_prices_of(own, other)
    assert [i.priced_s for i in made.instructions[:3]] == [US, 2 * US, 0.0]
    assert [i.fast_s for i in made.instructions] == pytest.approx(
        [i.fast_s for i in other.instructions]
    )
    assert price_sources(made) == price_sources(other)
    assert with_prices_of(other, other) == other


def test_prices_go_from_one_of_several_instructions_of_a_name_to_the_same_one_here() -> None:
    """As where a computation was inlined twice, here once more than there."""
    same = [replace(i, name="kernel") for i in straight().instructions]
    program = replace(straight(), instructions=tuple(same))
    other = with_prices(program, {0: Price(US), 1: Price(2 * US, KERNEL)})
    other = replace(other, instructions=(*other.instructions[:2], straight().instructions[2]))
    own = with_prices(program, {2: Price(5 * US)})
    made = with_prices_of(own, other)
    assert [i.priced_s for i in made.instructions] == [US, 2 * US, 5 * US]
    assert price_sources(made) == {"kernel": KERNEL}


def test_prices_of_another_program_are_paid_as_often_as_their_instruction_runs_here(
    program: Program,
) -> None:
    loop = program.regions[0]
    prices = {time: Price(US) for time in range(program.num_slots)}
    longer = with_counts(program, Counts({loop.name: round(3 * loop.multiplicity)}))
    made = with_prices_of(program, with_prices(longer, prices))
    expected = [i.priced_s for i in with_prices(program, prices).instructions]
    assert [i.priced_s for i in made.instructions] == pytest.approx(expected)


def test_works_on_one_link_hide_behind_different_time() -> None:
    program = flying(flying(straight(), 0, 2), 1, 1)
    second_s, third_s = program.least_s[1], program.least_s[2]
    assert second_s > 0
    assert third_s > 0
    for over, hidden_s in ((LINKS, third_s), (HOST, 2 * third_s)):
        # The first hides behind the third instruction: the second has a price itself.
        prices = {0: Price(third_s, over=LINKS), 1: Price(third_s, over=over)}
        total_s = priced_s(with_prices(program, prices))
        assert total_s == pytest.approx(2 * third_s - hidden_s, abs=1e-15)


def test_work_in_flight_hides_behind_a_priced_kernel() -> None:
    """As behind what the compiler estimates; not behind what keeps its own link busy."""
    program = flying(straight(), 0, 2)
    kernel_s, third_s = 2 * program.least_s[1], program.least_s[2]
    hidden_s = program.least_s[1] + kernel_s + third_s
    prices = {0: Price(hidden_s + 7 * US, over=LINKS), 1: Price(kernel_s)}
    priced = with_prices(program, prices)
    assert priced_s(priced) == pytest.approx(kernel_s + 7 * US)
    # Prices that take the place of others hide as much.
    assert priced_s(with_prices(priced, prices)) == pytest.approx(kernel_s + 7 * US)
    busy = with_prices(program, {0: prices[0], 1: Price(kernel_s, over=LINKS)})
    assert priced_s(busy) == pytest.approx(hidden_s + 7 * US - third_s + kernel_s)


def test_nothing_hides_behind_what_is_only_started() -> None:
    program = flying(flying(straight(), 0, 2), 1, 1)
    third_s = program.least_s[2]
    prices = {0: Price(2 * third_s, over=LINKS), 1: Price(third_s, over=HOST)}
    assert priced_s(with_prices(program, prices)) == pytest.approx(third_s)
