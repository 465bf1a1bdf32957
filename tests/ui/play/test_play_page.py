"""Every view runs without an exception, and does what its widgets promise (AppTest, no browser)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.game.moves import ACTION_NAMES, DROP, KINDS, NUM_ACTIONS, Rules
from engine.game.reference.explain import explain
from engine.plan.check import check
from engine.plan.io import plan_to_json
from engine.plan.simulate import simulate
from engine.program import library
from engine.solvers import Budget, solve
from tests.chosen import chosen
from tests.strategies import all_slow_plan
from tests.ui.apps import session_of
from tests.ui.play_page import first_choice, first_refused, line_of, opened, panel_text, tell
from ui.components.units import time_text
from ui.model.play.line import Line, line_text
from ui.play.commands import dispatch
from ui.play.references import references_of
from ui.session import links
from ui.session.opening import BEST_KNOWN

APP = Path(__file__).resolve().parents[3] / "ui" / "app.py"
TEACHING = "teach-fragmentation"
"""Small enough for every solver to be done in a moment."""


def test_play_opens_on_the_first_sample() -> None:
    at = opened("")
    assert at.selectbox[0].value == library.index()[0].name
    assert all(figure(at, label) for label in ("Runtime", "Saved", "Stalls"))
    assert figure(at, "Checker") == "✓ valid"


def test_a_program_without_a_plan_gets_a_first_one() -> None:
    at = opened(TEACHING)
    assert at.selectbox[0].value == TEACHING
    assert at.selectbox[1].options == ["greedy"]
    text = panel_text(at)
    assert all(name in text for name in ("Copy", "NoCopy", "Drop"))


def test_a_plan_file_is_opened_and_shown() -> None:
    at = opened(TEACHING)
    session = session_of(at)
    slow = replace(all_slow_plan(session.open.program), notes={"rules": 5, "moves": "012"})
    data = json.dumps(plan_to_json(slow)).encode()
    at.get("file_uploader")[0].set_value(("mine.plan.json", data, "application/json")).run()
    at.button(key="open_plan_file").click().run()
    assert not at.exception and not at.error
    assert session.plan is not None and session.plan.name == "mine (file)"
    assert session.plan.is_own, "it is kept, and a link spells it out"
    assert figure(at, "Checker") == "✓ valid"


def test_a_move_on_the_map_changes_the_panel() -> None:
    at = opened(TEACHING)
    texts = set()
    for move in range(4):
        tell(at, move)
        assert session_of(at).cursor.move == move
        assert at.query_params["move"] == str(move + 1)
        texts.add(panel_text(at))
    assert len(texts) == 4


def test_a_stale_cursor_is_ignored() -> None:
    at = opened(TEACHING)
    here = session_of(at)
    before = here.cursor.move
    at.session_state["map"] = {
        "cursor": {"plan": "another", "selected": -1, "nonce": here.cursor.nonce, "move": 3}
    }
    at.run()
    assert here.cursor.move == before


def test_playing_undoing_and_finishing_keeps_a_plan() -> None:
    at = opened(TEACHING)
    move, action = first_choice(at)
    tell(at, move, do="play", action=str(action))
    line = line_of(at)
    assert not line.is_on_plan
    assert session_of(at).cursor.move == line.tip > move
    assert "Your variation" in panel_text(at) and "Finish it" in panel_text(at)
    tell(at, line.tip, do="undo")
    assert session_of(at).cursor.move == move
    tell(at, move, do="redo")
    assert session_of(at).cursor.move == line.tip
    tell(at, 0, do="let", player="the plan", moves="0", tip="1")
    assert line.is_complete
    tell(at, 0, do="keep")
    assert at.selectbox[1].options == ["greedy", "you"]
    assert at.selectbox[1].value == "you"
    assert "valid" in figure(at, "Checker")


def figure(at: AppTest, label: str) -> str:
    names, values = (
        e.proto.body for e in at.get("html") if e.proto.body.startswith('<div class="figures">')
    )
    labels, figures = re.findall(r">([A-Z]\w+)</dfn>", names), re.findall("<b>([^<]*)</b>", values)
    return dict(zip(labels, figures, strict=True))[label]


def test_the_figures_follow_the_variation_and_come_back() -> None:
    at = opened(TEACHING)
    before = figure(at, "Runtime")
    move, action = first_choice(at)
    tell(at, move, do="play", action=action)
    line, program = line_of(at), session_of(at).open.program
    assert not line.is_complete
    latency_s = simulate(program, line.whole).latency_s
    change_s = line.tree.lines[line.tree.current].rating.final
    assert latency_s == pytest.approx(program.all_slow_s - line.film.saved_s[-1] - change_s)
    assert figure(at, "Runtime") == time_text(latency_s) != before
    tell(at, move, do="go", number=-1)
    assert figure(at, "Runtime") == before


def test_the_best_known_stands_in_the_legend_once() -> None:
    """As a plan that the curve is compared with, it needs no second line at its end."""
    at = opened(TEACHING)
    here = session_of(at)
    here.open.add_plan(BEST_KNOWN, solve("evolution", here.open.program, Budget(1.0)))
    assert here.plan is not None
    references = references_of(here, here.open.plans["greedy"], line_of(at))
    assert references.rival_name.startswith(BEST_KNOWN)
    assert BEST_KNOWN not in [name for name, _ in references.marks]
    alone = references_of(here, here.open.plans[BEST_KNOWN], line_of(at))
    assert BEST_KNOWN in [name for name, _ in alone.marks]


def test_a_line_is_kept_and_held_against_the_plan_that_it_left() -> None:
    at = opened(TEACHING)
    here, line = session_of(at), line_of(at)
    move, action = first_choice(at)
    tell(at, move, do="play", action=action)
    tell(at, move, do="let", player="greedy", moves=0, tip=1)
    dispatch(here, line, {"do": "compare"})
    assert here.wanted_page == "compare"
    assert (here.open.comparison.mode, here.plan_name) == ("layouts", "you")
    assert here.open.comparison.plans == ["greedy", "you"]
    kept = line_of(at)
    dispatch(here, kept, {"do": "compare"})
    assert here.open.comparison.plans == ["greedy", "you"]
    assert list(here.open.plans) == ["greedy", "you"]


def test_a_command_is_carried_out_once_and_illegal_ones_not_at_all() -> None:
    at = opened(TEACHING)
    line = line_of(at)
    move, refused = first_refused(line)
    tell(at, move, do="play", action=refused)
    assert line.is_on_plan and session_of(at).cursor.move == move
    assert session_of(at).cursor.refusal == explain(line.game_at(move), refused).reason
    tell(at, 0, do="let", player="random", moves="2")
    tip, tree = line.tip, line.tree
    at.run()
    assert (line.tip, line.tree) == (tip, tree)
    tell(at, 0, do="no such thing")
    tell(at, 0, do="let", player="nobody", moves="1")
    assert line.tree == tree


def test_the_other_end_is_played_by_its_line_and_marked_there() -> None:
    at = opened(TEACHING)
    tell(at, 0, do="new_game")
    line = line_of(at)
    move, action = next(
        (m, a)
        for m in range(line.film.num_moves)
        for a in range(NUM_ACTIONS)
        if a != KINDS[a] and line.game_at(m).legal()[a]
    )
    tell(at, move)
    button = f'<button class="other-end {ACTION_NAMES[KINDS[action]].lower()}" data-do="play"'
    assert f'{button} data-action="{action}"' in panel_text(at)
    tell(at, move, do="play", action=str(action))
    assert line.tree.lines[0].actions[0] == action
    tell(at, move)
    marked = re.findall(r'chosen" data-do="play" data-action="(.)"', panel_text(at))
    assert marked == [str(action)], "and not its card"
    again = Line(line.film)
    again.follow(line.text())
    assert again.action_at(move) == action


def test_an_other_end_that_is_none_says_why() -> None:
    at = opened(TEACHING)
    line = line_of(at)
    for move in range(line.film.num_moves):
        game = line.game_at(move)
        for action in range(NUM_ACTIONS):
            if action == KINDS[action] or game.legal()[action]:
                continue
            tell(at, move, do="play", action=action)
            assert session_of(at).cursor.refusal == explain(game, action).reason != ""
            assert line.is_on_plan
            assert f'data-do="play" data-action="{action}"' not in panel_text(at)


def test_variations_survive_other_plans_and_the_way_back() -> None:
    at = opened(TEACHING)
    here = session_of(at)
    move, action = first_choice(at)
    tell(at, move, do="play", action=action)
    tree = line_of(at).tree
    here.open.add_plan("other", line_of(at).film.plan)
    here.open.plans["other"] = replace(here.open.plans["other"], identity="other")
    at.run()
    at.selectbox[1].set_value("other").run()
    assert line_of(at).is_on_plan
    at.selectbox[1].set_value("greedy").run()
    assert line_of(at).tree == tree
    tell(at, move, do="go", number="-1")
    assert line_of(at).is_on_plan
    assert "You follow the plan" in panel_text(at)
    tell(at, move, do="go", number="0")
    assert not line_of(at).is_on_plan


def test_what_if_answers_and_opens_as_a_variation() -> None:
    at = opened(TEACHING)
    line = line_of(at)
    move = next(m for m, action in enumerate(line.film.actions) if action != DROP)
    tell(at, move, do="evict", for_ever="1")
    assert "lost" in panel_text(at) and "Open as variation" in panel_text(at)
    film = line.film
    before_s, change = film.program.all_slow_s - film.saved_s[-1], session_of(at).eviction
    assert change is not None and change.latency_s - change.change_s == pytest.approx(before_s)
    answer = f"instead of {time_text(before_s)}"
    assert answer in panel_text(at)
    session_of(at).cursor.selected = (change.group + 1) % len(film.program.groups)
    tell(at, move)
    assert answer not in panel_text(at), "the question names another tensor by now"
    session_of(at).cursor.selected = change.group
    tell(at, move)
    assert answer in panel_text(at)
    tell(at, move, do="open_eviction")
    assert line.is_complete and not line.is_on_plan
    assert line.tree.lines[0].by == "what if"


def test_a_link_restores_line_move_and_selection() -> None:
    at = opened(TEACHING)
    move, action = first_choice(at)
    tell(at, move, do="play", action=action)
    session_of(at).cursor.selected = 1
    tell(at, move)
    query = {
        name: values[0] if isinstance(values, list) else values
        for name, values in at.query_params.items()
    }
    there = opened(**query, window="0_2_0_9", colour="size")
    here = session_of(there)
    assert (here.cursor.move, here.cursor.selected) == (move, 1)
    assert line_of(there).text() == line_of(at).text() != ""
    assert here.look == {"window": "0_2_0_9", "colour": "size"}


def test_a_damaged_link_opens_the_plan() -> None:
    at = opened(TEACHING, plan="none", move="x", line="9-zz", select="99999")
    assert line_of(at).is_on_plan
    assert session_of(at).cursor.selected == -1


@pytest.mark.parametrize("name", chosen(library.sample_names()))
def test_every_sample_opens(name: str) -> None:
    assert opened(name).selectbox[0].value == name


def test_a_new_game_has_nothing_in_fast_memory_and_can_be_left_anywhere() -> None:
    at = opened(TEACHING)
    tell(at, 3, do="new_game")
    session = session_of(at)
    assert (session.plan_name, session.cursor.move) == ("new game", 0)
    assert session.plan is not None
    assert not any(session.plan.plan.is_fast)
    assert check(session.open.program, session.plan.plan) is None
    line = line_of(at)
    assert line.film.is_exact and line.is_on_plan
    move, action = first_choice(at)
    tell(at, move, do="play", action=action)
    assert not line_of(at).is_on_plan
    tell(at, 0, do="new_game")
    assert session.plan_name == "new game" and line_of(at).is_on_plan


def test_a_new_game_has_the_usual_place_rule_whatever_plan_it_was_begun_from() -> None:
    """The places of this plan are looked up in it; by those the agent could not go on."""
    at = opened("lstm-v5e-b64-train", plan=BEST_KNOWN)
    assert line_of(at).film.game_at(0).rules.planned
    tell(at, 3, do="new_game")
    assert line_of(at).film.game_at(0).rules == Rules()


def copied(at: AppTest) -> dict[str, str]:
    """The parameters of a link to the view, as the map's script writes them."""
    here, line = session_of(at), line_of(at)
    assert here.plan is not None
    link = links.for_browser(here, here.plan, line)
    begin, move = link.pop("from"), str(here.cursor.move + 1)
    query = {name: str(value) for name, value in link.items()} | {"move": move}
    if isinstance(begin, int) and begin >= 0:
        query["line"] = line_text(begin, line.actions_before(line.tip)[begin:])
    return query


def latency_shown(at: AppTest) -> float:
    here, line = session_of(at), line_of(at)
    assert here.plan is not None
    plan = here.plan.plan if line.is_on_plan else line.whole
    return simulate(here.open.program, plan).latency_s


PLANNED = "lstm-v5e-b64-train"
"""A small sample whose best plan was not made by a game."""


@pytest.mark.parametrize("plan", [BEST_KNOWN, "xla_compiled", "greedy"])
def test_a_copied_link_leads_others_to_a_plan_that_all_have(plan: str) -> None:
    at = opened(PLANNED, plan=plan)
    there = opened(**copied(at))
    assert session_of(there).plan_name == plan
    assert latency_shown(there) == latency_shown(at)
    assert line_of(there).is_on_plan


@pytest.mark.parametrize("plan", [BEST_KNOWN, "xla_compiled"])
def test_a_copied_link_leads_others_to_a_plan_that_a_visitor_made(plan: str) -> None:
    """Its places are looked up in the plan that it left, which may be another one there."""
    at = opened(PLANNED, plan=plan)
    move, action = first_choice(at)
    tell(at, move, do="play", action=action)
    tell(at, 0, do="let", player="the plan", moves=0, tip=1)
    there = opened(**copied(at))
    assert latency_shown(there) == latency_shown(at)
    tell(at, move, do="keep")
    there = opened(**copied(at))
    assert latency_shown(there) == latency_shown(at)
    assert session_of(there).plan_name.startswith("you")
    assert not there.warning
    move, action = first_choice(at)
    tell(at, move, do="play", action=action)
    there = opened(**copied(at))
    assert latency_shown(there) == latency_shown(at)
    assert not line_of(there).is_on_plan


def test_a_link_to_another_game_is_not_shown_as_if_it_were_this_one() -> None:
    at = opened(TEACHING)
    line = line_of(at)
    move, refused = first_refused(line)
    there = opened(TEACHING, plan="greedy", line=line_text(move, [refused]))
    assert line_of(there).is_on_plan
    assert any("none of this game" in told.value for told in there.warning)
    path, own = first_choice(at)
    there = opened(TEACHING, plan="you", line=line_text(path, [own]))
    assert line_of(there).is_on_plan, "it leaves a plan that is not here"


@pytest.mark.parametrize("game", ["", "x", "eJw", "AAAA" * 1000])
def test_a_damaged_game_of_a_link_is_said_and_not_shown(game: str) -> None:
    there = opened(TEACHING, plan="you", game=game, line="0-p")
    assert session_of(there).plan_name == ""
    assert line_of(there).is_on_plan
    assert len(there.warning) == 1


def test_what_a_link_asks_for_in_vain_is_said_until_the_visitor_chooses_a_plan() -> None:
    at = opened(TEACHING, plan="nobody's")
    session_of(at).open.add_plan("slow", all_slow_plan(session_of(at).open.program))
    at.run()
    assert len(at.warning) == 1
    next(box for box in at.selectbox if box.label == "Plan").set_value("slow").run()
    assert session_of(at).plan_name == "slow" and not at.warning


@pytest.mark.parametrize(("left", "told"), [(1, "1 move to go"), (2, "2 moves to go")])
def test_moves_to_go_are_counted_with_their_noun(left: int, told: str) -> None:
    at = opened(TEACHING)
    move = line_of(at).film.num_moves - 1 - left
    tell(at, move, do="play", action=DROP)
    assert not line_of(at).is_on_plan
    assert told in panel_text(at)
