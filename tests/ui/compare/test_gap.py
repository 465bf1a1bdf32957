"""The gap as pages show it: sentence and bar, ranked parts, curve, chain."""

import re

import numpy as np
import pytest

from engine.analysis.attribution import breakdown
from engine.analysis.causes import chain_of_causes
from engine.analysis.gap import openings
from engine.debugging.gap_account import Account, account, correct
from engine.game.notes import notes_of
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.plan.io import load_plan
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
from engine.solvers import solve
from ui.components.units import time_text
from ui.model.compare.gap import (
    DECISION,
    SLOT,
    Curve,
    account_html,
    chain_html,
    gap_chart,
    lost_s,
    rows_of,
    table_of,
)

NAME = "llamadecode-v5e-b8"


def greedy(program: Program) -> Plan:
    game = ReferenceGame(program)
    while not game.is_over:
        game.step(best_action(game))
    return game.plan("greedy", notes_of(game))


def best_of(name: str) -> Plan:
    path = library.find_sample(name).best_plan_path
    assert path is not None
    return load_plan(path)


@pytest.fixture(scope="module")
def program() -> Program:
    return library.load_sample(NAME)


@pytest.fixture(scope="module")
def found(program: Program) -> Account:
    plan, best = greedy(program), best_of(NAME)
    corrections = correct(program, plan, best, tries=15).found
    return account(program, plan, best, library.find_sample(NAME).bound_s, corrections)


def test_the_bar_holds_all_of_the_gap(found: Account) -> None:
    html = account_html(found, is_looking=False)
    widths = [float(w) for w in re.findall(r"width:([\d.]+)%", html)]
    assert len(widths) == 3
    assert sum(widths) == pytest.approx(100, abs=0.02)
    assert "looked for" not in html
    assert "looked for" in account_html(found, is_looking=True)


def test_the_parts_are_ranked_and_say_what_they_are(program: Program, found: Account) -> None:
    rows = rows_of(program, found)
    costs = [row.cost_s for row in rows]
    assert costs == sorted(costs, reverse=True)
    assert {row.kind for row in rows} == {DECISION, SLOT}
    decisions = {row.number: row for row in rows if row.kind == DECISION}
    for number, correction in enumerate(found.corrections):
        assert (decisions[number].time, decisions[number].cost_s) == (
            correction.time,
            correction.gain_s,
        )
    whole_s = found.explained_s + lost_s(found.open)
    shares = table_of(program, rows, whole_s)["share"]
    assert shares[0] == pytest.approx(rows[0].cost_s / whole_s)
    assert 0.9 < shares.sum() <= 1 + 1e-9


def test_the_curve_ends_at_the_difference_of_the_plans(program: Program, found: Account) -> None:
    best, plan = best_of(NAME), found.plan
    base = breakdown(program, simulate(program, best)).total_s
    own = breakdown(program, simulate(program, plan)).total_s
    rows = rows_of(program, found)
    figure = gap_chart(base, [Curve("the agent", own, "#000")], rows[:2])
    line, marks = figure.data
    difference_s = simulate(program, plan).latency_s - simulate(program, best).latency_s
    assert line.y[-1] == pytest.approx(1e6 * difference_s)
    assert list(marks.x) == [row.time for row in rows[:2]]


def test_a_long_curve_keeps_its_ends_and_its_largest_steps() -> None:
    base = np.zeros(20_000)
    steps = np.full(20_000, 1e-9)
    steps[12_345] = 1e-3
    line = gap_chart(base, [Curve("it", steps, "#000")], []).data[0]
    assert {0, 12_345, 19_999} <= set(line.x)
    assert len(line.x) <= 3000


def test_the_chain_begins_with_the_tensor_and_ends_with_the_whole(
    program: Program, found: Account
) -> None:
    pairs = [(p, simulate(program, p)) for p in (best_of(NAME), found.corrected)]
    worst = openings(program, pairs[0], pairs[1])[0]
    chain = chain_of_causes(program, pairs[0], pairs[1], worst.group)
    html = chain_html(program, chain, ("the best", "the game"))
    first = program.values[program.groups[worst.group].values[0]].name
    assert html.index(first) < html.index("<ol>", html.index("<ol>") + 1)
    assert f"+{time_text(chain.total_s)}" in html
    assert html.count("<li>") <= 16


def test_a_stay_from_before_the_start_is_told_as_one() -> None:
    name = "t5-v5e-b24"
    program = library.load_sample(name)
    plans = (best_of(name), solve("xla_compiled", program))
    best, compiled = ((plan, simulate(program, plan)) for plan in plans)
    worst = openings(program, best, compiled)[0]
    chain = chain_of_causes(program, best, compiled, worst.group)
    html = chain_html(program, chain, ("the best", "XLA's"))
    assert "from the previous run on" in html
