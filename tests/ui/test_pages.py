"""Every view runs without an exception, and does what its widgets promise (AppTest, no browser)."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from streamlit.testing.v1 import AppTest

from engine.game.moves import DROP
from engine.program import library
from ui.session import Session
from ui.viewmodel.line import Line

APP = Path(__file__).resolve().parents[2] / "ui" / "app.py"
SECONDS = 90
TEACHING = "teach-fragmentation"
"""Small enough for every solver to be done in a moment."""


def _play() -> None:
    from ui.views import play

    play.render()


def opened(script: object, program: str = TEACHING) -> AppTest:
    at = AppTest.from_function(script, default_timeout=SECONDS)
    at.query_params["program"] = program
    at.run()
    assert not at.exception
    return at


def panel_text(at: AppTest) -> str:
    return " ".join(element.proto.body for element in at.get("html"))


def session_of(at: AppTest) -> Session:
    return at.session_state["explorer"]


def tell(at: AppTest, move: int, **command: object) -> None:
    """What the map sends: the move shown, and a command if there is one."""
    here = session_of(at)
    cursor = {
        "plan": here.stored,
        "held": 0,
        "move": move,
        "selected": here.cursor.selected,
        "nonce": here.cursor.nonce,
    }
    if command:
        cursor["command"] = {**command, "move": move, "serial": here.obeyed + 1}
    at.session_state["map"] = {"cursor": cursor}
    at.run()
    assert not at.exception


def line_of(at: AppTest) -> Line:
    here = session_of(at)
    assert here.plan is not None
    return here.open.lines[here.plan.identity]


def first_choice(at: AppTest) -> tuple[int, int]:
    """A move with an action that the plan does not play, and that action."""
    line = line_of(at)
    for move in range(line.film.num_moves):
        for action, is_legal in enumerate(line.game_at(move).legal()):
            if is_legal and action != line.action_at(move):
                return move, action
    raise AssertionError("the program leaves no choice")


def test_the_app_opens_on_the_first_sample() -> None:
    at = AppTest.from_file(str(APP), default_timeout=SECONDS).run()
    assert not at.exception
    assert at.selectbox[0].value == library.index()[0].name
    assert {"Runtime", "Saved", "Stalls", "Checker"} == {m.label for m in at.metric}
    checker = next(m for m in at.metric if m.label == "Checker")
    assert checker.value == "✓ valid"


def test_a_program_without_a_plan_gets_a_first_one() -> None:
    at = opened(_play)
    assert at.selectbox[0].value == TEACHING
    assert at.selectbox[1].options == ["greedy"]
    text = panel_text(at)
    assert all(name in text for name in ("Copy", "NoCopy", "Drop"))


def test_a_move_on_the_map_changes_the_panel() -> None:
    at = opened(_play)
    texts = set()
    for move in range(4):
        tell(at, move)
        assert session_of(at).cursor.move == move
        assert at.query_params["move"] == str(move + 1)
        texts.add(panel_text(at))
    assert len(texts) == 4


def test_a_stale_cursor_is_ignored() -> None:
    at = opened(_play)
    here = session_of(at)
    before = here.cursor.move
    at.session_state["map"] = {
        "cursor": {"plan": "another", "selected": -1, "nonce": here.cursor.nonce, "move": 3}
    }
    at.run()
    assert here.cursor.move == before


def test_playing_undoing_and_finishing_keeps_a_plan() -> None:
    at = opened(_play)
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
    assert "valid" in next(m.value for m in at.metric if m.label == "Checker")


def test_a_command_is_carried_out_once_and_illegal_ones_not_at_all() -> None:
    at = opened(_play)
    line = line_of(at)
    move, refused = next(
        (m, a)
        for m in range(line.film.num_moves)
        for a, is_legal in enumerate(line.game_at(m).legal())
        if not is_legal
    )
    tell(at, move, do="play", action=refused)
    assert line.is_on_plan and session_of(at).cursor.move == move
    tell(at, 0, do="let", player="random", moves="2")
    tip, tree = line.tip, line.tree
    at.run()
    assert (line.tip, line.tree) == (tip, tree)
    tell(at, 0, do="no such thing")
    tell(at, 0, do="let", player="nobody", moves="1")
    assert line.tree == tree


def test_variations_survive_other_plans_and_the_way_back() -> None:
    at = opened(_play)
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
    at = opened(_play)
    line = line_of(at)
    move = next(m for m, action in enumerate(line.film.actions) if action != DROP)
    tell(at, move, do="evict", for_ever="1")
    assert "lost" in panel_text(at) and "Open as variation" in panel_text(at)
    tell(at, move, do="open_eviction")
    assert line.is_complete and not line.is_on_plan
    assert line.tree.lines[0].by == "what if"


def test_a_link_restores_line_move_and_selection() -> None:
    at = opened(_play)
    move, action = first_choice(at)
    tell(at, move, do="play", action=action)
    session_of(at).cursor.selected = 1
    tell(at, move)
    query = {
        name: values[0] if isinstance(values, list) else values
        for name, values in at.query_params.items()
    }
    there = AppTest.from_function(_play, default_timeout=SECONDS)
    for name, value in {**query, "window": "0_2_0_9", "colour": "size"}.items():
        there.query_params[name] = value
    there.run()
    assert not there.exception
    here = session_of(there)
    assert (here.cursor.move, here.cursor.selected) == (move, 1)
    assert line_of(there).text() == line_of(at).text() != ""
    assert here.look == {"window": "0_2_0_9", "colour": "size"}


def test_a_damaged_link_opens_the_plan() -> None:
    at = AppTest.from_function(_play, default_timeout=SECONDS)
    damaged = {"program": TEACHING, "plan": "none", "move": "x", "line": "9-zz", "select": "99999"}
    for name, value in damaged.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    assert line_of(at).is_on_plan
    assert session_of(at).cursor.selected == -1


def test_every_sample_opens() -> None:
    for entry in library.index():
        at = opened(_play, entry.name)
        assert at.selectbox[0].value == entry.name


def test_the_views_do_not_load_jax() -> None:
    """jax takes seconds to load; only who brings an HLO dump should wait for it."""
    code = "import sys; from ui.views import compare, play, programs; print('jax' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=APP.parents[1], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
