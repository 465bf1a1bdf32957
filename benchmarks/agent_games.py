"""The section `games`: what a search adds to a game of the same networks.

On every program the shipped networks play, and the same after `ROUNDS` rounds of practice on it.
Each player of `PLAYERS` plays `GAMES` games with either: the first without noise, the last the
noisiest. A row per program, weights and player is kept in `docs/results/agent_games.json`; programs
that have rows are not played again.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

from benchmarks import failures
from benchmarks.agent_run import practise_rounds
from benchmarks.rows import RESULTS, Row, commit, dependencies, is_current, keep_of, read
from benchmarks.settings import Settings
from engine.agent.checkpoint import load_checkpoint
from engine.agent.config import LEARNED, POLICY_ONLY, SIMULATOR, SearchConfig
from engine.agent.network import Params
from engine.agent.self_play import FREE, first_positions, noise_levels, play_games, temperatures
from engine.agent.workload import Workload
from engine.game.notes import plan_from_actions
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.solvers import Budget, solve
from engine.solvers.practice import GENERALIST

PATH = RESULTS / "agent_games.json"
GAMES, ROUNDS, TOP_TEMPERATURE = 32, 100, 0.5
LONGEST_S = 1e4
"""Seconds of the practice, which ends after `ROUNDS`."""
PRIOR = "prior"
"""The player that does not search."""
SHIPPED = "shipped"
"""The weights of the repository."""
PLAYERS = {
    PRIOR: SearchConfig(POLICY_ONLY),
    **{f"learned model, {n}": SearchConfig(LEARNED, num_simulations=n) for n in (4, 8, 16, 32)},
    **{f"real rules, {n}": SearchConfig(SIMULATOR, num_simulations=n) for n in (8, 32)},
}
"""Each player's search; the number in a name: simulations per move."""


def pin(cores: multiprocessing.Queue[int]) -> None:
    """Pin this process to a core of its own, the next of `cores`."""
    os.sched_setaffinity(0, {cores.get()})


def rows_of(name: str) -> list[Row]:
    """All players' rows of a program."""
    program = library.load_sample(name)
    practised = practise_rounds(program, Budget(LONGEST_S), ROUNDS)
    weights = {
        SHIPPED: load_checkpoint(GENERALIST).params,
        "practised": practised.trainer.params,
    }
    xla_s = simulate(program, solve("xla_compiled", program)).latency_s
    gap_s = xla_s - lower_bound(program).bound_s
    rows = []
    for label, params in weights.items():
        for player, config in PLAYERS.items():
            closed = [(xla_s - s) / gap_s for s in latencies(practised.workload, params, config)]
            row = {
                "key": [name, label, player],
                "program": name,
                "rounds": practised.trainer.rounds,
                "first": closed[0],
                "mean": statistics.mean(closed),
                "best": max(closed),
            }
            rows.append(row)
    return rows


def latencies(workload: Workload, params: Params, config: SearchConfig) -> Iterator[float]:
    """Latencies of the checked plans of `GAMES` games, the one without noise first."""
    played = play_games(
        params,
        workload.arena,
        first_positions(workload.arena, GAMES),
        jax.random.key(0),
        temperatures(noise_levels(GAMES), TOP_TEMPERATURE),
        np.full((workload.num_moves, GAMES), FREE, np.int32),
        config,
    )
    assert played is not None
    for actions in played.moves.action.T:
        plan = plan_from_actions(workload.program, actions, "muzero", workload.rules)
        assert check(workload.program, plan) is None
        yield simulate(workload.program, plan).latency_s


def _alone(rows_of: Callable[[str], list[Row]], name: str) -> list[Row]:
    """The rows of a program, as if none had been played before it.

    A process can map only so many pieces of memory, and each compiled function takes some: without
    this the fifth program of one process failed.
    """
    try:
        return rows_of(name)
    finally:
        jax.clear_caches()


def fill(
    path: Path, rows_of: Callable[[str], list[Row]], names: Sequence[str]
) -> Iterator[list[Row]]:
    """Add the rows of those programs that have none of today, a program per core at a time.

    Programs that fail are told and counted (`benchmarks.failures`).
    """
    known = {row["program"] for row in read(path) if is_current(path.stem, row)}
    missing = [name for name in names if name not in known]
    context = multiprocessing.get_context("spawn")
    cores: Any = context.Queue()
    usable = sorted(os.sched_getaffinity(0))
    for core in usable:
        cores.put(core)
    with ProcessPoolExecutor(len(usable), context, pin, (cores,)) as pool:
        running = {pool.submit(_alone, rows_of, name): name for name in missing}
        for done in as_completed(running):
            name = running[done]
            try:
                rows = done.result()
            except Exception as error:
                failures.tell(name, error)
                continue
            of = {**dependencies(path.stem, name), "commit": commit()}
            keep_of(path, (name,), [{**row, **of} for row in rows])
            yield rows


def run(section: str, settings: Settings) -> None:
    """Play what is missing."""
    del section
    for rows in fill(PATH, rows_of, settings.contested()):
        means = [f"{r['key'][2]} {r['mean']:.1%}" for r in rows[-len(PLAYERS) :]]
        print(f"{rows[-1]['program']:24} practised, means: {'; '.join(means)}", flush=True)
