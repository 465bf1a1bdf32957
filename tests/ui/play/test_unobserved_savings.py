"""Savings that no compile has shown are marked wherever savings are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.analysis.attribution import attribute, breakdown
from engine.analysis.peak import residents
from engine.analysis.plan_diff import first_divergence, touch_differences
from engine.game.move_list import moves
from engine.plan.model import Plan, Stay
from engine.plan.simulate import simulate
from engine.program.io import content_hash
from engine.program.library import load_sample
from engine.program.model import Program
from engine.program.provenance import CYCLES, uncounted_by_slot
from tests.program.uncertain import COUNTED_S, LARGE, LATE, MORE_S, SMALL, UNSEEN_S, uncertain
from tests.strategies import all_slow_plan
from ui.components.memory_map.board import board
from ui.components.packing import unpack
from ui.components.units import time_text, unobserved_text
from ui.model.compare.differences import cost_table, divergence_text
from ui.model.compare.pressure import resident_table
from ui.model.compare.timing import time_table
from ui.model.play.decision import Story, story
from ui.model.programs.catalogue import facts

PROGRAM = uncertain()
SLOW = all_slow_plan(PROGRAM)
MARK = unobserved_text(COUNTED_S, MORE_S)


def kept(*groups: int) -> Plan:
    """The plan that has these inputs in fast memory all the time, and no others."""
    stays = tuple(Stay(group, 256 * group, -1, 2) for group in groups)
    is_fast = tuple(PROGRAM.values[a.value].group in groups for a in PROGRAM.accesses)
    return Plan(content_hash(PROGRAM), "test", is_fast, stays, ())


def told(group: int, program: Program = PROGRAM) -> Story:
    return story(program, next(m for m in moves(program) if m.group == group))


def test_the_mark_says_how_much_it_may_be() -> None:
    assert f"not observed: up to {time_text(COUNTED_S + MORE_S)}" == MARK
    assert unobserved_text(COUNTED_S, 0.0) == ""


def test_a_move_says_what_its_saving_rests_on() -> None:
    assert "not observed" not in told(LARGE).stake and "Observed" not in dict(told(LARGE).facts)
    assert f"it saves {time_text(COUNTED_S)} ({MARK}) of the" in told(SMALL).stake
    assert dict(told(SMALL).facts)["Observed"].startswith("no: no compile shows")
    assert "a cautious share counts" in dict(told(SMALL).facts)["Observed"]


def test_a_use_that_was_never_seen_fast_counts_nothing() -> None:
    large, small, _ = PROGRAM.accesses
    late = replace(large, time=1, saving_s=0.0, uncertainty_s=UNSEEN_S)
    program = replace(PROGRAM, accesses=(large, small, late))
    unseen = story(program, next(m for m in moves(program) if (m.time, m.group) == (1, LARGE)))
    assert f"saves nothing here ({unobserved_text(0.0, UNSEEN_S)})" in unseen.stake
    assert "nothing counts" in dict(unseen.facts)["Observed"]


def test_what_one_dump_says_is_estimated() -> None:
    program = replace(PROGRAM, provenance={"costs": CYCLES})
    assert "estimated from the bytes" in dict(told(LARGE, program).facts)["Observed"]
    assert dict(facts(program))["Observed"].startswith("0.0\N{NO-BREAK SPACE}%")


def test_a_program_says_how_much_of_its_savings_is_observed() -> None:
    found = dict(facts(PROGRAM))["Observed"]
    assert found.startswith("52.5\N{NO-BREAK SPACE}% of what fast memory may save")
    assert f"{time_text(COUNTED_S)} counts that no compile shows by itself" in found
    assert f"up to {time_text(MORE_S + UNSEEN_S)} more does not count" in found
    assert "Observed" not in dict(facts(load_sample("teach-prefetch")))


def test_the_map_knows_of_each_move_and_tensor_how_much_more_it_may_save() -> None:
    every = moves(PROGRAM)
    _, columns = unpack(board(PROGRAM, SLOW, every, simulate(PROGRAM, SLOW), "one"))
    assert columns["group_more"].tolist() == [0.0, MORE_S, UNSEEN_S]
    assert len(columns["move_more"]) == len(columns["move_saving"]) == len(every)
    expected = {LARGE: 0.0, SMALL: MORE_S, LATE: UNSEEN_S}
    assert columns["move_more"].tolist() == [expected[m.group] for m in every]


def test_tables_of_instructions_and_tensors_have_a_column_for_it() -> None:
    plan = kept(LARGE, SMALL)
    runs = simulate(PROGRAM, SLOW), simulate(PROGRAM, plan)
    parts = breakdown(PROGRAM, runs[1])
    rows = time_table(PROGRAM, parts, None, uncounted_by_slot(PROGRAM, plan.is_fast))
    assert dict(zip(rows["slot"], rows["uncounted"], strict=True)) == {0: 1e6 * MORE_S, 1: 0.0}
    assert set(time_table(PROGRAM, parts, None)["uncounted"]) == {0.0}
    found = touch_differences(PROGRAM, SLOW, plan)
    costs = cost_table(PROGRAM, attribute(PROGRAM, (SLOW, runs[0]), (plan, runs[1])), found)
    by_group = dict(zip(costs["group"], costs["uncounted"], strict=True))
    assert by_group == {LARGE: 0.0, SMALL: pytest.approx(1e6 * MORE_S)}
    inside = resident_table(PROGRAM, residents(PROGRAM, plan, 0))
    by_group = dict(zip(inside["group"], inside["uncounted"], strict=True))
    assert by_group == {LARGE: 0.0, SMALL: pytest.approx(1e6 * MORE_S)}


def test_the_first_divergence_is_marked() -> None:
    parting = first_divergence(PROGRAM, touch_differences(PROGRAM, SLOW, kept(SMALL)))
    assert parting is not None
    assert f"at stake, {MARK})" in divergence_text(PROGRAM, parting, ("A", "B"))
