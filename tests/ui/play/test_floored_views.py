"""Every view of an instruction's time adds up where the instruction has a floor."""

from __future__ import annotations

import math

import pytest

from engine.analysis.attribution import attribute, breakdown, slow_costs
from engine.analysis.chrome_trace import COMPUTE, MICRO, chrome_trace
from engine.analysis.peak import residents
from engine.analysis.plan_diff import touch_differences
from engine.game.move_list import moves
from engine.game.moves import DROP, NO_COPY
from engine.game.reference.game import ReferenceGame
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from tests.program.floored import FAST_S, FLOOR_S, LARGE_S, SPARE_S, floored, kept
from tests.strategies import all_slow_plan
from ui.components.memory_map.board import board, saved_before
from ui.components.memory_map.draft import picture
from ui.components.memory_map.plan_actions import actions_of
from ui.components.packing import unpack
from ui.components.units import time_text
from ui.model.compare.differences import divergence_text
from ui.model.compare.sheet import Panel, sheet
from ui.model.compare.timing import kinds_table, time_table
from ui.model.play.decision import story

PROGRAM = floored()
PLANS = [all_slow_plan(PROGRAM), kept(PROGRAM, 0), kept(PROGRAM, 1), kept(PROGRAM, 0, 1)]


@pytest.mark.parametrize("plan", PLANS)
def test_where_the_time_goes_adds_up(plan: Plan) -> None:
    run = simulate(PROGRAM, plan)
    parts = breakdown(PROGRAM, run)
    assert parts.compute_s.tolist() == [FLOOR_S, FAST_S, 0.0]
    assert parts.total_s.sum() == pytest.approx(run.latency_s)
    assert sum(slow_costs(PROGRAM, plan).values()) == pytest.approx(parts.slow_s.sum())
    assert time_table(PROGRAM, parts, None)["total"].sum() == pytest.approx(1e6 * run.latency_s)
    assert kinds_table(["a"], [parts])["total"][0] == pytest.approx(1e6 * run.latency_s)
    first = PLANS[0], simulate(PROGRAM, PLANS[0])
    costs = attribute(PROGRAM, first, (plan, run))
    assert sum(c.total_s for c in costs) == pytest.approx(run.latency_s - first[1].latency_s)


@pytest.mark.parametrize("plan", PLANS)
def test_the_trace_adds_up(plan: Plan) -> None:
    events = chrome_trace(PROGRAM, plan)["traceEvents"]
    lasts = [e["dur"] for e in events if e["ph"] == "X" and e["tid"] == COMPUTE]
    assert sum(lasts) == pytest.approx(MICRO * simulate(PROGRAM, plan).latency_s)


@pytest.mark.parametrize("plan", PLANS)
def test_the_maps_show_the_floor_as_compute(plan: Plan) -> None:
    run, every = simulate(PROGRAM, plan), moves(PROGRAM)
    _, columns = unpack(board(PROGRAM, plan, every, run, "one"))
    assert columns["slot_fast"].tolist() == [FLOOR_S, FAST_S]
    parts = columns["slot_fast"] + columns["slot_slow"] + columns["slot_stall"]
    assert parts.sum() == pytest.approx(run.latency_s)
    assert columns["group_saving"].tolist() == [SPARE_S + LARGE_S, SPARE_S]
    _, panels = unpack(sheet(PROGRAM, [Panel("a", "", "a", plan, run)], "title"))
    assert (panels["slot_fast"] + panels["p0_slot_slow"]).sum() == pytest.approx(run.compute_s)
    assert columns["slot_spare"].tolist() == [SPARE_S, math.inf]
    assert columns["move_worth"].tolist() == [SPARE_S, SPARE_S, LARGE_S]
    saved = saved_before(PROGRAM, every, actions_of(PROGRAM, plan, every), run)
    assert saved[-1] == pytest.approx(PROGRAM.all_slow_s - run.latency_s)


def test_what_is_drawn_while_playing_adds_up() -> None:
    game = ReferenceGame(PROGRAM)
    while not game.is_over:
        shown = picture(game)
        slow_s = sum(slow for slow, _ in shown.slots) / 1e12
        stall_s = sum(stall for _, stall in shown.slots) / 1e12
        assert PROGRAM.all_fast_s + slow_s + stall_s == pytest.approx(game_s(game))
        game.step(NO_COPY if game.legal()[NO_COPY] else DROP)


def game_s(game: ReferenceGame) -> float:
    return PROGRAM.all_slow_s * (1 - game.total_reward)


def test_a_card_says_what_a_use_is_worth_and_why_no_more() -> None:
    at_floor, free = (m for m in moves(PROGRAM) if m.group == 0)
    told = story(PROGRAM, at_floor).stake
    assert time_text(SPARE_S) in told and f"{time_text(FLOOR_S)} at least" in told
    assert "at least" not in story(PROGRAM, free).stake
    found = touch_differences(PROGRAM, PLANS[0], PLANS[1])[0]
    assert f"{time_text(SPARE_S)} at stake" in divergence_text(PROGRAM, found, ("A", "B"))


def test_who_is_there_costs_what_the_simulator_says() -> None:
    plan = PLANS[3]
    large, small = residents(PROGRAM, plan, 0)
    assert (large.group, large.saving_s, large.stay_saving_s) == (0, 0.0, LARGE_S)
    assert (small.group, small.saving_s, small.stay_saving_s) == (1, 0.0, 0.0)
    assert residents(PROGRAM, PLANS[1], 0)[0].saving_s == SPARE_S
