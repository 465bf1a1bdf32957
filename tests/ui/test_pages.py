"""Every view runs without an exception, and does what its widgets promise (AppTest, no browser)."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.program import library

APP = Path(__file__).resolve().parents[2] / "ui" / "app.py"
SECONDS = 90
TEACHING = "teach-fragmentation"
"""Small enough for every solver to be done in a moment."""


def _play() -> None:
    from ui.views import play

    play.render()


def _programs() -> None:
    from ui.views import programs

    programs.render()


def _compare() -> None:
    from ui.views import compare

    compare.render()


def opened(script: object, program: str = TEACHING) -> AppTest:
    at = AppTest.from_function(script, default_timeout=SECONDS)
    at.query_params["program"] = program
    at.run()
    assert not at.exception
    return at


def panel_text(at: AppTest) -> str:
    return " ".join(element.proto.body for element in at.get("html"))


def test_the_app_opens_on_the_first_sample() -> None:
    at = AppTest.from_file(str(APP), default_timeout=SECONDS).run()
    assert not at.exception
    assert at.selectbox[0].value == library.index()[0].name
    assert at.button(key="take_over").label == "Play on from here"
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
    session = at.session_state["explorer"]
    told = {"plan": session.plan.identity, "selected": -1, "nonce": session.cursor.nonce}
    texts = set()
    for move in range(4):
        at.session_state["map"] = {"cursor": {**told, "move": move}}
        at.run()
        assert not at.exception
        assert session.cursor.move == move
        assert at.query_params["move"] == str(move + 1)
        texts.add(panel_text(at))
    assert len(texts) == 4


def test_a_stale_cursor_is_ignored() -> None:
    at = opened(_play)
    session = at.session_state["explorer"]
    before = session.cursor.move
    at.session_state["map"] = {
        "cursor": {"plan": "another", "selected": -1, "nonce": session.cursor.nonce, "move": 3}
    }
    at.run()
    assert session.cursor.move == before


def test_taking_over_playing_undoing_and_finishing() -> None:
    at = opened(_play)
    session = at.session_state["explorer"]
    at.session_state["map"] = {
        "cursor": {
            "plan": session.plan.identity,
            "selected": -1,
            "nonce": session.cursor.nonce,
            "move": 0,
        }
    }
    at.run()
    at.button(key="take_over").click().run()
    assert not at.exception
    assert session.line is not None
    legal = [b for b in at.button if b.key and b.key.startswith("play_")]
    assert legal
    legal[0].click().run()
    assert not at.exception
    assert session.line.game.move_index > 0
    at.button(key="undo").click().run()
    assert session.line.game.move_index == 0
    at.button(key="finish").click().run()
    assert not at.exception
    assert session.line is None
    assert at.selectbox[1].options == ["greedy", "you"]
    assert at.selectbox[1].value == "you"
    assert "valid" in next(m.value for m in at.metric if m.label == "Checker")


def test_leaving_goes_back_to_the_plan() -> None:
    at = opened(_play)
    at.button(key="take_over").click().run()
    at.button(key="leave").click().run()
    assert not at.exception
    assert at.session_state["explorer"].line is None
    assert at.button(key="take_over")


def test_every_sample_opens() -> None:
    for entry in library.index():
        at = opened(_play, entry.name)
        assert at.selectbox[0].value == entry.name


def test_programs_lists_all_samples() -> None:
    at = opened(_programs)
    titles = [title for frame in at.dataframe for title in frame.value["title"]]
    assert len(titles) == len(library.index())
    assert at.button(key="go_play") and at.button(key="go_compare")
    assert at.button(key="open_files").disabled


def test_compare_runs_a_solver_beside_the_page() -> None:
    at = opened(_compare)
    at.button_group[0].set_value(["all_slow"]).run()
    at.button(key="run").click().run()
    assert not at.exception
    until = time.monotonic() + SECONDS
    while at.session_state["explorer"].open.is_busy and time.monotonic() < until:
        time.sleep(0.1)
    at.run()
    assert not at.exception
    assert not at.error
    rows = at.dataframe[0].value
    assert list(rows["solver"]) == ["greedy", "all_slow"]
    assert set(rows["checker"]) == {"valid"}
    assert rows["saved"][1] == pytest.approx(0)


def test_the_views_do_not_load_jax() -> None:
    """jax takes seconds to load; only who brings an HLO dump should wait for it."""
    code = "import sys; from ui.views import compare, play, programs; print('jax' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=APP.parents[1], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
