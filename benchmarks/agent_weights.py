"""The section `weights`: what weights know of what they were not trained on.

The prior alone plays single games on every program of the training with a memory size and bandwidth
that it was not trained with (*other hardware*), and on every captured program of the families that
are held out. Scores are points above the baseline: 100 points are the most that a plan can save,
the baseline is what plain heuristics save (docs/agent.md). Rows go to
`docs/results/agent_weights.json`, in place of those under the same names.

The shipped weights play, or those of the checkpoints that `--weights` names; fresh ones beside
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

from benchmarks.agent_games import PLAYERS, PRIOR, SHIPPED, latencies
from benchmarks.rows import RESULTS, Row, commit, keep, read
from benchmarks.settings import Settings
from engine.agent.checkpoint import load_checkpoint
from engine.agent.compile_cache import keep_compiled
from engine.agent.config import AgentConfig
from engine.agent.network import Params, init_params
from engine.agent.workload import Workload
from engine.game.jaxgame.encoding import common_shape, encode
from engine.program import library
from engine.program.model import Program
from engine.solvers.generalist import is_held_out, training_names, training_workload, vary
from engine.solvers.practice import GENERALIST

PATH = RESULTS / "agent_weights.json"
OTHER_HARDWARE, HELD_OUT = "other hardware", "held out"
FRESH = "fresh"
SEED = 77
"""Seed of the other hardware; the variants of the training have the seed of its course."""


def programs() -> Iterator[tuple[str, Program]]:
    """The programs that none of the shipped weights was trained on, each after its kind."""
    for index, name in enumerate(training_names()):
        rng = np.random.default_rng([SEED, index])
        yield OTHER_HARDWARE, vary(library.load_sample(name), rng)
    for entry in library.index():
        if entry.xla_latency_s is not None and is_held_out(entry.name):
            yield HELD_OUT, library.load_sample(entry.name)


def scores(workload: Workload, params: Params) -> list[float]:
    """Points above the baseline of single games, the one without noise first."""
    slow_s = workload.program.all_slow_s
    return [
        (slow_s - latency_s) / workload.point_s - workload.baseline
        for latency_s in latencies(workload, params, PLAYERS[PRIOR])
    ]


def rows(weights: dict[str, Params]) -> Iterator[Row]:
    """A row per program and weights; all programs share the compiled game of the longest."""
    some = list(programs())
    shape = common_shape([encode(program) for _, program in some])
    for kind, program in some:
        workload = training_workload(program, AgentConfig(), shape)
        for label, params in weights.items():
            points = scores(workload, params)
            yield {
                "key": [program.name, label],
                "program": program.name,
                "kind": kind,
                "commit": commit(),
                "par": workload.baseline,
                "first": points[0],
                "mean": float(np.mean(points)),
                "best": max(points),
            }


def run(section: str, settings: Settings) -> None:
    """Let the named weights play, and fresh ones beside them."""
    del section
    folders = dict(word.split("=", 1) for word in settings.weights) or {SHIPPED: str(GENERALIST)}
    keep_compiled()
    weights = {label: load_checkpoint(Path(folder)).params for label, folder in folders.items()}
    weights[FRESH] = init_params(jax.random.key(0), AgentConfig().network)
    measured: list[Row] = []
    for row in rows(weights):
        measured.append(row)
        print(
            f"{row['program']:58} {row['key'][1]:10} without noise {row['first']:+7.2f},"
            f" mean {row['mean']:+7.2f}, best {row['best']:+7.2f} points above the baseline",
            flush=True,
        )
    keep(PATH, [*measured, *(row for row in read(PATH) if row["key"][1] not in weights)])
