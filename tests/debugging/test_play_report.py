"""The report of a real traced game: plain JSON that agrees with its parts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.cli.analyse import finding_lines
from engine.debugging.play_report import in_words, report
from engine.debugging.regret import RegretStudy, study_of
from engine.debugging.surprise import surprises
from engine.game.reference.game import ReferenceGame
from tests.debugging.traces import hand_made, real_run

pytestmark = pytest.mark.timeout(900)
"""The tiny agent is compiled in whichever test asks first."""


def test_it_is_json_and_agrees_with_the_game() -> None:
    program, rules, trace = real_run()
    body = report(trace, study_of(trace, program, rules))
    assert json.loads(json.dumps(body, allow_nan=False)) == body
    game = ReferenceGame(program, rules)
    saved_us = sum(game.step(int(a)) for a in trace.action) * program.all_slow_s * 1e6
    assert body["regret"]["saved_us"] == pytest.approx(saved_us)
    par_us = (trace.par[0] - trace.par[-1]) * trace.point_s * 1e6
    assert body["above_par_us"] == pytest.approx(saved_us - float(par_us), abs=1e-3 * saved_us)
    assert body["regret"]["completeness"] == 1
    assert body["regret"]["num_known"] == len(body["regret"]["by_move_us"])
    assert [s["move"] for s in body["surprise"]["inbox"]] == [
        s.move for s in surprises(trace).inbox(20)
    ]
    assert len(body["surprise"]["index"]) == body["num_moves"] == trace.num_moves
    assert len(body["regret"]["best_game"]["actions"]) == trace.num_moves
    for entry in body["surprise"]["inbox"]:
        regret = body["regret"]["by_move_us"].get(str(entry["move"]))
        assert entry["regret_us"] == regret


def test_the_worst_moves_come_first() -> None:
    """A game of nothing but the last legal action has much to regret."""
    program, rules, trace = real_run()
    game = ReferenceGame(program, rules)
    while not game.is_over:
        game.step(max(game.legal_actions()))
    study = RegretStudy(program, game.actions, rules)
    body = report(trace, study, limit=2)["regret"]
    costs = [row["regret_us"] for row in body["worst"]]
    assert 0 < len(costs) <= 2
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == max(body["by_move_us"].values()) > 0
    row = body["worst"][0]
    assert row["other"]["total_us"] - row["played"]["total_us"] == pytest.approx(row["regret_us"])
    assert len(row["other"]["actions"]) == trace.num_moves - row["move"]
    assert body["best_game"]["gain_us"] >= costs[0]


def test_in_words_the_first_move_is_move_1() -> None:
    program, rules, trace = real_run()
    body = report(trace, study_of(trace, program, rules))
    one = body["surprise"]["inbox"][0]
    body["regret"]["worst"] = [
        {
            "move": 6,
            "regret_us": 2.0,
            "played": {"action": "Drop"},
            "other": {"action": "Copy"},
        }
    ]
    told = "\n".join(in_words(body))
    assert f"surprise   move {one['move'] + 1}: {one['action']}" in told
    assert "regret     move 7: Drop cost 2.000 us, Copy is better" in told
    row = {"verdict": "blunder", "move": 6, "action": "Drop", "tensor": "w", "better": "Copy"}
    (line,) = finding_lines([row | {"regret_us": 2.0}])
    assert line == "blunder    move 7: Drop of w, Copy is better by 2.000 us"


def test_progress_is_told_and_may_end_the_work() -> None:
    program, rules, trace = real_run()
    told: list[tuple[float, str]] = []

    def stop(share: float, word: str) -> bool:
        told.append((share, word))
        return False

    study = study_of(trace, program, rules)
    assert len(study.choices) > 1
    body = report(trace, study, progress=stop)
    assert len(told) == 1
    assert told[0][0] == body["regret"]["completeness"] == 1 / len(study.choices)
    first = next(m for m in surprises(trace).order() if m in study.choices)
    assert told[0][1].startswith(f"move {first + 1}:"), "in words the first move is move 1"
    # What is known is not looked for again; the rest is.
    more: list[float] = []
    report(trace, study, progress=lambda share, word: not more.append(share))
    assert len(more) == len(study.choices) - 1
    assert more[-1] == 1


def test_without_time_or_study_there_are_no_regrets() -> None:
    program, rules, trace = real_run()
    late = report(trace, study_of(trace, program, rules), seconds=0)["regret"]
    assert (late["completeness"], late["mean_us"], late["worst"]) == (0.0, None, [])
    body = report(trace)
    assert body["regret"] is None
    assert {entry["regret_us"] for entry in body["surprise"]["inbox"]} == {None}


def test_a_game_without_moves() -> None:
    body = report(hand_made([], []))
    assert body["calibration"] is None
    assert body["drift"] == []
    json.dumps(body, allow_nan=False)


def test_constant_values_give_no_nan() -> None:
    trace = hand_made([0.0, 0.0], [1.0, 1.0], raw_value=np.ones(2, np.float32))
    assert report(trace)["calibration"]["raw"]["correlation"] is None
    json.dumps(report(trace), allow_nan=False)
