"""Learning curves and drift, as the Search view shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.debugging.model_error import drift
from engine.game.moves import ACTION_NAMES
from tests.ui.network import residual_network
from tests.ui.search_traces import STEPS, made_up_trace
from ui.model.search.curves import (
    curve_files,
    drift_figure,
    drift_rows,
    loss_figure,
    positive,
    progress_figure,
    read_curve,
)

TRACE = made_up_trace(residual_network())


def told(number: int, program: str = "a", **changes: object) -> dict[str, object]:
    losses = {"value": 2.0 / (number + 1), "policy": 1.0}
    line = {"number": number, "mean": -1.0, "top": 1.0, "best": 2.0, "greedy": None}
    return {**line, "losses": losses, "program": program, **changes}


def test_a_curve_is_read_and_what_is_no_round_left_out() -> None:
    lines = [json.dumps(told(0)), json.dumps(told(1, "b")), json.dumps(told(2))]
    half_written = json.dumps(told(3))[:20]
    strange = [json.dumps(told(4, top=None)), "[]", "7", json.dumps(told(5, losses=[1]))]
    run = read_curve("\n".join([*lines, *strange, half_written]))
    assert [r["number"] for r in run.rounds] == [0, 1, 2]
    assert run.programs == ["a", "b"]
    assert run.losses == ["policy", "value"]


def test_a_round_without_losses_is_a_round() -> None:
    """Training that was ended early in a round has none."""
    run = read_curve(json.dumps(told(0, losses={})))
    assert len(run.rounds) == 1
    assert len(loss_figure(run).data) == 0


def test_one_program_shows_its_best_so_far() -> None:
    run = read_curve("\n".join(json.dumps(told(n, "ab"[n % 2])) for n in range(6)))
    whole, one = progress_figure(run, None), progress_figure(run, "b")
    assert "best so far" not in [t.name for t in whole.data]
    best = next(t for t in one.data if t.name == "best so far")
    assert list(best.x) == [1, 3, 5]
    assert {t.name for t in loss_figure(run).data} == {"policy", "value"}


def test_the_trend_goes_on_below_par_and_a_logarithmic_one_has_a_gap() -> None:
    losses = {"value": 0.0}
    rounds = [told(n, mean=mean, losses=losses) for n, mean in enumerate((-2.0, -4.0, 6.0))]
    run = read_curve("\n".join(map(json.dumps, rounds)))
    trend = next(t for t in progress_figure(run, None).data if t.name == "its trend")
    assert list(trend.y) == [-2.0, -3.0, 0.0]
    assert list(loss_figure(run).data[0].y) == [None, None, None]


def test_runs_are_found_the_latest_first(tmp_path: Path) -> None:
    import os

    for age, name in enumerate((".training/new", "checkpoints/old")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "curve.jsonl").write_text("")
        os.utime(tmp_path / name / "curve.jsonl", (1000 - age, 1000 - age))
    found = [p.parent.name for p in curve_files(tmp_path)]
    assert found == ["new", "old"]


def test_drift_rows_follow_the_game() -> None:
    rows = drift_rows(TRACE, 4)
    us = TRACE.point_s * 1e6
    assert rows["move"].tolist() == [5, 6, 7, 8, 9]
    assert rows["action"].tolist() == [ACTION_NAMES[a] for a in TRACE.action[4:9]]
    assert rows["real_reward"].tolist() == pytest.approx((TRACE.reward[4:9] * us).tolist())
    assert rows["earned"][0] == pytest.approx(float(TRACE.reward[4:].sum()) * us, rel=1e-4)
    assert rows["reward"].tolist() == pytest.approx((TRACE.imagined_reward[4] * us).tolist())


def test_drift_ends_with_the_game() -> None:
    assert len(drift_rows(TRACE, TRACE.num_moves - 2)) == 2


def test_the_drift_figure_has_a_point_per_step() -> None:
    figure = drift_figure(drift(TRACE))
    assert [len(trace.x) for trace in figure.data] == [STEPS] * 5


def test_what_has_no_logarithm_is_a_gap() -> None:
    """A zero on a logarithmic axis was drawn as a stroke to the bottom."""
    assert positive([2.0, 0.0, -1.0, float("nan"), 1e-9]) == [2.0, None, None, None, 1e-9]
