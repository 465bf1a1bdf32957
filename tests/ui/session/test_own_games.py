"""What a visitor made in Play is there again after a reload: plans kept, and all variations."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.program.model import Program
from engine.solvers import solve
from tests.ui.apps import kept_by_a_server, session_of
from tests.ui.play_page import first_choice, line_of, opened, tell
from ui.model.play.line import Rating, Variation
from ui.session import links, opening
from ui.session.own_games import Games, OwnGames
from ui.session.state import Session

TEACHING = "teach-fragmentation"
LINES = (
    Variation(-1, 3, ((0, 1), (2,)), "you", Rating(1e-9, -2e-9)),
    Variation(0, 4, ((4,),), "greedy"),
)


def games(program: Program, name: str = "you") -> Games:
    plan = solve("greedy", program)
    return Games({name: plan}, {"greedy": plan}, {"plan": ("game", LINES)})


def test_they_come_back_as_they_were(tmp_path: Path, program: Program) -> None:
    OwnGames(tmp_path).save("v", "a1", games(program))
    OwnGames(tmp_path).save("v", "a1", games(program, "you 2"))
    assert OwnGames(tmp_path).find("v", "a1") == games(program, "you 2")
    for visitor, of in (("w", "a1"), ("", "a1"), ("v", "b2")):
        assert OwnGames(tmp_path).find(visitor, of) == Games()
    OwnGames(tmp_path).forget("v", "a1")
    assert OwnGames(tmp_path).find("v", "a1") == Games()


def test_the_oldest_go(tmp_path: Path, program: Program) -> None:
    store = OwnGames(tmp_path, most_of_one=2, most_of_all=3)
    for age, (visitor, of) in enumerate(["va", "vb", "vc", "wd", "we"]):
        store.save(visitor, of, games(program))
        os.utime(tmp_path / visitor / of, (age, age))
    left = [of for visitor, of in ("va", "vb", "vc", "wd", "we") if store.find(visitor, of).plans]
    assert left == ["c", "d", "e"]


def test_what_cannot_be_read_or_kept_costs_nothing_else(tmp_path: Path, program: Program) -> None:
    store = OwnGames(tmp_path)
    store.save("v", "a1", games(program))
    (tmp_path / "v" / "a1" / "games.json.gz").write_bytes(b"[1]")
    assert store.find("v", "a1") == Games()
    (tmp_path / "file").write_text("")
    for store in (OwnGames(None), OwnGames(tmp_path / "file")):
        store.save("v", "a1", games(program))
        store.forget("v", "a1")
        assert store.find("v", "a1") == Games()


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnGames:
    """The store of a server whose visitor is always the same."""
    return kept_by_a_server(monkeypatch, "own_games", OwnGames(tmp_path))


def reloaded(at: AppTest) -> AppTest:
    """The page as the browser loads it anew, from the address that it shows."""
    lists = {name: v if isinstance(v, list) else [v] for name, v in at.query_params.items()}
    return opened(**{name: values[0] for name, values in lists.items()})


@pytest.mark.usefixtures("kept")
def test_a_plan_that_was_kept_is_shown_again_and_what_it_left_is_listed() -> None:
    at = opened(TEACHING)
    move, action = first_choice(at)
    tell(at, move, do="play", action=action)
    tell(at, 0, do="let", player="the plan", moves=0, tip=1)
    left, tree = line_of(at), line_of(at).tree
    tell(at, 0, do="keep")
    before = session_of(at)
    there = reloaded(at)
    here = session_of(there)
    assert here.plan_name == "you" and here.plan is not None and before.plan is not None
    assert here.plan.identity == before.plan.identity
    assert not there.warning
    here.show_plan("greedy")
    assert here.plan.name == "greedy" and line_of(there).is_on_plan
    assert line_of(there).tree.lines == tree.lines
    assert line_of(there).film.actions == left.film.actions


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("longest", [300, 0])
def test_a_new_game_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch, longest: int) -> None:
    monkeypatch.setattr(links, "_LONGEST", longest)
    at = opened(TEACHING)
    tell(at, 0, do="new_game")
    move, action = first_choice(at)
    tell(at, move, do="play", action=action)
    tip = line_of(at).tip
    tell(at, tip, do="play", action=line_of(at).game_at(tip).legal_actions()[0])
    tell(at, line_of(at).tip)
    there = reloaded(at)
    assert session_of(there).plan_name == "new game"
    assert line_of(there).path == line_of(at).path
    assert line_of(there).tree.lines == line_of(at).tree.lines
    assert session_of(there).cursor.move == session_of(at).cursor.move
    assert not there.warning


@pytest.mark.usefixtures("kept")
def test_two_tabs_lose_nothing_of_each_other() -> None:
    one, two = opened(TEACHING), opened(TEACHING)
    move, action = first_choice(one)
    tell(one, move, do="play", action=action)
    tell(one, 0, do="let", player="the plan", moves=0, tip=1)
    tell(one, 0, do="keep")
    tell(two, move, do="let", player="random", moves=3)
    shown = line_of(two).path
    three = opened(TEACHING, plan="you")
    assert not three.warning
    session_of(three).show_plan("greedy")
    assert {line.by for line in line_of(three).tree.lines} == {"you", "random"}
    assert line_of(two).path == shown, "and what a tab shows stays"


@pytest.mark.usefixtures("kept")
def test_plans_that_two_tabs_keep_have_one_name_each() -> None:
    one, two = Session(identity="v"), Session(identity="v")
    for tab, solver in ((one, "all_slow"), (two, "greedy"), (one, "random")):
        opening.open_named(tab, TEACHING)
        tab.plan_name = opening.keep_plan(tab, "you", solve(solver, tab.open.program))
    assert (one.plan_name, two.plan_name) == ("you 3", "you 2")
    for tab in (one, two):
        there = Session(identity="v")
        opening.open_link(there, {"program": TEACHING, "plan": tab.plan_name})
        assert (
            there.plan is not None and there.plan.identity == tab.open.plans[tab.plan_name].identity
        )


def test_variations_by_other_rules_are_not_shown(kept: OwnGames) -> None:
    at = opened(TEACHING)
    plan = session_of(at).plan
    assert plan is not None
    program = session_of(at).open.identity
    kept.save("v", program, Games({}, {}, {plan.identity: ("of other rules", LINES)}))
    assert line_of(opened(TEACHING)).tree.lines == ()
