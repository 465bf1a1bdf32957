"""Learning curves of training runs, and the drift of the learned model in a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from engine.agent.trace_io import SearchTrace
from engine.debugging.model_error import DriftStep
from engine.debugging.trace_units import MICRO
from engine.files import json_of
from engine.game.moves import ACTION_NAMES
from ui.components.charts import DOTTED, POINTS, SOLID, STEPS, Lines, Mark, Series, finite

CURVE = "curve.jsonl"
_FOLDERS = (".training", "checkpoints")
_MOST_BYTES = 64 * 2**20
_NUMBERS = ("number", "mean", "top", "best")
_HUGE = 1e18
_WINDOW = 15
"""Rounds over which the trend is averaged."""
_BEST, _MEAN, _IMAGINED = "#2a9d80", "#3f7fd9", "#e08a2c"
_COLOURS = (_MEAN, _BEST, _IMAGINED, "#8b5cc7", "#d23b4e", "#8a94a3")


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


def progress_chart(run: Run, program: str | None) -> Lines:
    """Points above par per round: the mean and the best of its games, and the best so far.

    `program` None: all programs; then the best so far, which is each program's own, is left out.
    """
    rounds = [r for r in run.rounds if program in (None, r["program"])]
    number = tuple(float(r["number"]) for r in rounds)
    mean = [float(r["mean"]) for r in rounds]
    top = tuple(float(r["top"]) for r in rounds)
    series = [
        Series("best game of the round", number, top, _BEST, POINTS),
        Series("mean game of the round", number, tuple(mean), _MEAN, POINTS),
        Series("its trend", number, _trend(mean), _MEAN),
    ]
    if program is not None:
        best = tuple(float(r["best"]) for r in rounds)
        series.append(Series("best so far", number, best, _BEST, STEPS))
    par = (Mark("y", 0.0, "par", dash=DOTTED),)
    return Lines(tuple(series), "round", "points above par", "round", marks=par)


def loss_chart(run: Run) -> Lines:
    """The losses per round, on a logarithmic axis, smoothed."""
    series = []
    for name, colour in zip(run.losses, cycle(_COLOURS), strict=False):
        some = [(r["number"], r["losses"][name]) for r in run.rounds if name in r["losses"]]
        number = tuple(float(n) for n, _ in some)
        series.append(Series(name, number, _trend([float(v) for _, v in some]), colour))
    return Lines(tuple(series), "round", "loss", "round", is_log=True)


def _trend(values: Sequence[float]) -> tuple[float | None, ...]:
    smooth = pd.Series(values, dtype=float).rolling(_WINDOW, min_periods=1).mean()
    return finite(smooth.tolist())


def drift_chart(steps: Sequence[DriftStep]) -> Lines:
    """Mean absolute errors by imagined step, beside those of always predicting par."""
    number = tuple(float(step.step) for step in steps)
    lines = (
        ("reward: error", [s.reward.mean_abs_us for s in steps], _IMAGINED, SOLID),
        ("reward: its size", [s.reward_size_us for s in steps], _IMAGINED, DOTTED),
        ("value: error", [s.value.mean_abs_us for s in steps], _MEAN, SOLID),
        ("value: its size", [s.value_size_us for s in steps], _MEAN, DOTTED),
        ("value: slip of the model", [s.slip.mean_abs_us for s in steps], _BEST, SOLID),
    )
    series = tuple(
        Series(name, number, finite(values), colour, dash=dash)
        for name, values, colour, dash in lines
    )
    title = "mean error, µs"
    return Lines(series, "moves imagined", title, "moves imagined:", "µs", is_log=True)


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
