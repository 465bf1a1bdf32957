"""`steered`: XLA's heuristic with chosen priorities."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from engine.compiler.steering.export import exports
from engine.compiler.toolchain.results import SLOW_OPTIONS
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.io import content_hash
from engine.program.minimalloc import minimalloc_program
from engine.program.model import Program
from engine.solvers import Budget, solve
from engine.solvers.xla_msa import solver as placing
from engine.solvers.xla_msa.steered import LAST, Steering, _Search, in_names, place
from tests.strategies import random_program


@pytest.fixture(scope="module")
def program() -> Program:
    return library.load_sample("alexnet-v4-b24")


def test_without_priorities_it_is_the_heuristic_itself(program: Program) -> None:
    plain, ours = solve("xla_like", program), place(program, Steering())
    assert (ours.is_fast, ours.stays, ours.copies) == (plain.is_fast, plain.stays, plain.copies)


def test_priorities_are_places_in_the_order() -> None:
    told = Steering(first=(4, 2), last=frozenset({9}))
    assert told.priorities == {4: -2, 2: -1, 9: LAST}


def test_the_ratio_is_one_of_the_two_that_the_compiler_is_asked_for(program: Program) -> None:
    search = _Search(program, random.Random(0))
    steering = Steering(inefficient_use_to_copy_ratio=0.2)
    found = set()
    for _ in range(300):
        steering = search._changed(steering)
        found.add(steering.inefficient_use_to_copy_ratio)
    assert found == {0.5, 0.2}


def test_no_cross_program_prefetch_is_a_plan_of_the_same_program(program: Program) -> None:
    plan = place(program, Steering(max_cross_program_prefetches=0))
    assert plan.program_hash == content_hash(program)
    assert check(program, plan) is None
    usual = place(program, Steering())
    starts = [min(stay.start for stay in some.stays) for some in (usual, plan)]
    assert starts[0] < 0 <= starts[1]


def test_it_is_never_worse_than_the_heuristic_and_says_how_to_come_to_its_plan(
    program: Program,
) -> None:
    plan = solve("steered", program, Budget(seconds=1.0, seed=3))
    own = simulate(program, solve("xla_like", program)).latency_s
    assert simulate(program, plan).latency_s < own
    steering = plan.notes["steering"]
    assert isinstance(steering, dict)
    groups = {v.name: v.group for v in program.values}
    again = place(
        program,
        Steering(
            tuple(dict.fromkeys(groups[name] for name in steering["first"])),
            frozenset(groups[name] for name in steering["last"]),
            steering["knobs"].get("max_cross_program_prefetches"),
            steering["knobs"].get("inefficient_use_to_copy_ratio", 0.5),
        ),
    )
    assert (again.is_fast, again.stays, again.copies) == (plan.is_fast, plan.stays, plan.copies)


def test_the_first_order_that_it_tries_is_one_that_mostly_helps(program: Program) -> None:
    """So that a short search is ahead of XLA's own order, which it tries too."""
    first, then, *_ = _Search(program, random.Random(0))._beginnings()
    own = simulate(program, place(program, then)).latency_s
    assert then == Steering() and simulate(program, place(program, first)).latency_s < own


def test_it_is_ended_while_it_places_and_what_was_cut_short_does_not_count(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "ASK_EVERY", 1)
    asked: list[str] = []

    def first_order_alone(share: float, words: str) -> bool:
        asked.append(words)
        return words.startswith("0 orders") or not asked[-2].startswith("1 orders")

    plan = solve("steered", program, Budget(60.0, 0, first_order_alone))
    first = place(program, next(_Search(program, random.Random(0))._beginnings()))
    assert (plan.is_fast, plan.stays) == (first.is_fast, first.stays)
    assert len(asked) > 10 and sum(words.startswith("1 orders") for words in asked) == 2
    ended = solve("steered", program, Budget(60.0, 0, lambda share, words: False))
    assert not any(ended.is_fast)


def test_it_never_loses_to_a_memory_pass_that_is_off() -> None:
    program = random_program(3, 40, loops=False)
    crawling = replace(program, hardware=replace(program.hardware, bandwidth=1e5))
    own = simulate(crawling, solve("xla_like", crawling)).latency_s
    assert own > crawling.all_slow_s
    plan = solve("steered", crawling, Budget(600.0, options={"orders": 4}))
    assert simulate(crawling, plan).latency_s == pytest.approx(crawling.all_slow_s)
    assert exports(crawling, plan)[0].options == SLOW_OPTIONS


def test_where_a_plan_takes_no_time_the_search_goes_on() -> None:
    """Spans of a table of lifetimes compute nothing."""
    table = "id,lower,upper,size\nb1,0,9,4\nb2,3,12,4\nb3,6,15,4\nb4,9,18,4\nb5,3,18,4\n"
    spans = minimalloc_program(table, "", "spans", 64)
    search = _Search(spans, random.Random(0))
    for _ in range(3):
        search._try(Steering(), temperature=0.1)
    assert search.best_s == 0.0
    assert simulate(spans, solve("steered", spans, Budget(0.05))).latency_s == 0.0


def test_a_change_names_every_group_once(program: Program) -> None:
    search = _Search(program, random.Random(0))
    steering = Steering()
    seen = set()
    for _ in range(300):
        steering = search._changed(steering)
        assert len(set(steering.first)) == len(steering.first)
        assert not steering.last & set(steering.first)
        seen.add((len(steering.first) > 2, len(steering.last) > 1))
        knobs = in_names(program, steering)["knobs"]
        assert isinstance(knobs, dict)
        seen |= set(knobs)
    assert {"max_cross_program_prefetches", "inefficient_use_to_copy_ratio", (True, True)} <= seen
