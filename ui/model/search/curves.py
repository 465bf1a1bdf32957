"""Learning curves of training runs, and the drift of the learned model in a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from engine.agent.trace_io import SearchTrace
from engine.debugging.model_error import DriftStep
from engine.debugging.trace_units import MICRO
from engine.files import json_of
from engine.game.moves import ACTION_NAMES

CURVE = "curve.jsonl"
_FOLDERS = (".training", "checkpoints")
_MOST_BYTES = 64 * 2**20
_NUMBERS = ("number", "mean", "top", "best")
_HUGE = 1e18
_WINDOW = 15
"""Rounds over which the trend is averaged."""
_BEST, _MEAN, _REAL, _IMAGINED = "#2a9d80", "#3f7fd9", "#8a94a3", "#e08a2c"


@dataclass(frozen=True)
class Run:
    """The rounds of a training run: one dictionary each, as `engine.agent.run` writes them."""

    rounds: tuple[dict[str, Any], ...]

    @property
    def programs(self) -> list[str]:
        """Names of the programs, in the order of their first round."""
        return list(dict.fromkeys(str(r["program"]) for r in self.rounds))

    @property
    def losses(self) -> list[str]:
        """Names of the losses."""
        return sorted({name for r in self.rounds for name in r["losses"]})


def curve_files(root: Path) -> list[Path]:
    """Learning curves below the project's folder, the one written last first."""
    paths = [p for folder in _FOLDERS for p in (root / folder).glob(f"**/{CURVE}")]
    return sorted(paths, key=lambda p: -p.stat().st_mtime)


def read_curve(text: str) -> Run:
    """The rounds in a curve file; other lines, such as a half-written last one, are left out."""
    rounds = []
    for line in text[:_MOST_BYTES].splitlines():
        try:
            row = json_of(line)
        except (ValueError, RecursionError):
            continue
        if _is_round(row):
            rounds.append(row)
    return Run(tuple(rounds))


def _is_round(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("losses"), dict):
        return False
    values = [row.get(name) for name in _NUMBERS] + list(row["losses"].values())
    return "program" in row and all(isinstance(v, int | float) and abs(v) < _HUGE for v in values)


def progress_figure(run: Run, program: str | None) -> go.Figure:
    """Points above par per round: the mean and the best of its games, and the best so far.

    `program` None: all programs; then the best so far, which is each program's own, is left out.
    """
    rounds = [r for r in run.rounds if program in (None, r["program"])]
    number = [r["number"] for r in rounds]
    figure = go.Figure()
    figure.add_scatter(
        x=number, y=[r["top"] for r in rounds], mode="markers", name="best game of the round",
        marker={"size": 4, "color": _BEST, "opacity": 0.5},
    )  # fmt: skip
    mean = [r["mean"] for r in rounds]
    figure.add_scatter(
        x=number, y=mean, mode="markers", name="mean game of the round",
        marker={"size": 4, "color": _MEAN, "opacity": 0.35},
    )  # fmt: skip
    figure.add_scatter(x=number, y=_trend(mean), name="its trend", line={"color": _MEAN})
    if program is not None:
        best = [r["best"] for r in rounds]
        figure.add_scatter(
            x=number, y=best, name="best so far", line={"color": _BEST, "shape": "hv"}
        )
    figure.add_hline(y=0, line={"color": _REAL, "dash": "dot"}, annotation_text="par")
    return _laid_out(figure, "round", "points above par")


def loss_figure(run: Run) -> go.Figure:
    """The losses per round, on a logarithmic axis, smoothed."""
    figure = go.Figure()
    for name in run.losses:
        some = [(r["number"], r["losses"][name]) for r in run.rounds if name in r["losses"]]
        trend = positive(_trend([v for _, v in some]))
        figure.add_scatter(x=[n for n, _ in some], y=trend, name=name)
    figure.update_yaxes(type="log")
    return _laid_out(figure, "round", "loss")


def _trend(values: Sequence[float]) -> list[float]:
    smooth = pd.Series(values, dtype=float).rolling(_WINDOW, min_periods=1).mean()
    return [float(value) for value in smooth]


def positive(values: Sequence[float]) -> list[float | None]:
    """The values for a logarithmic axis, with a gap in place of what has no logarithm."""
    return [value if value > 0 else None for value in values]


def drift_figure(steps: Sequence[DriftStep]) -> go.Figure:
    """Mean absolute errors by imagined step, beside those of always predicting par."""
    number = [step.step for step in steps]
    figure = go.Figure()
    lines = (
        ("reward: error", [s.reward.mean_abs_us for s in steps], _IMAGINED, "solid"),
        ("reward: its size", [s.reward_size_us for s in steps], _IMAGINED, "dot"),
        ("value: error", [s.value.mean_abs_us for s in steps], _MEAN, "solid"),
        ("value: its size", [s.value_size_us for s in steps], _MEAN, "dot"),
        ("value: slip of the model", [s.slip.mean_abs_us for s in steps], _BEST, "solid"),
    )
    for name, values, colour, dash in lines:
        shown = positive(values)
        figure.add_scatter(x=number, y=shown, name=name, line={"color": colour, "dash": dash})
    figure.update_xaxes(dtick=1)
    figure.update_yaxes(type="log")
    return _laid_out(figure, "moves imagined", "mean error, µs")


def _laid_out(figure: go.Figure, x: str, y: str) -> go.Figure:
    figure.update_layout(
        height=300,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        xaxis={"title": x},
        yaxis={"title": y},
    )
    return figure


def drift_rows(trace: SearchTrace, move: int) -> pd.DataFrame:
    """The moves from `move` on as the model imagined them from there, in microseconds.

    `value`: above par, of the rest of the game from that move on; `searched` is what the search
    said at that very position, `earned` what came of it.
    """
    us = trace.point_s * MICRO
    to_go = np.append(np.cumsum(trace.reward[::-1].astype(np.float64))[::-1], 0.0)
    steps = range(min(trace.imagined_reward.shape[1], trace.num_moves - move))
    return pd.DataFrame(
        {
            "step": list(steps),
            "move": [move + u + 1 for u in steps],
            "action": [ACTION_NAMES[trace.action[move + u]] for u in steps],
            "reward": [float(trace.imagined_reward[move, u]) * us for u in steps],
            "real_reward": [float(trace.reward[move + u]) * us for u in steps],
            "value": [float(trace.imagined_value[move, u]) * us for u in steps],
            "searched": [float(trace.value[move + u]) * us for u in steps],
            "earned": [float(to_go[move + u]) * us for u in steps],
        }
    )
