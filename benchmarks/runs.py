"""Runs of solvers, each in a process and on cores of its own, kept once they are measured."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import failures
from benchmarks.rows import PROGRAM, Row, commit, is_current, program_of, put, read
from engine.plan.bounds import lower_bound
from engine.plan.simulate import simulate
from engine.program import library
from engine.solvers import solve


@dataclass(frozen=True)
class Run:
    """One measurement; `settings` are changes of the agent's settings by dotted name.

    `tells_all`: the row has every round, else those that brought a better game. `is_primed`: the
    agent plays a few rounds before, so that none of its time goes into compiling.
    """

    program: str
    solver: str
    seconds: float
    seed: int = 0
    label: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    tells_all: bool = False
    is_primed: bool = False

    @property
    def key(self) -> list[Any]:
        """The values by which a run differs from all others of its section."""
        return [self.program, self.solver, self.seconds, self.seed, self.label]


Cores = tuple[int, ...]


def measure(run: Run, free: queue.SimpleQueue[Cores]) -> Row:
    """The row of one run, in a process and on cores of its own, with the gap that it closes."""
    cores = free.get()
    command = [sys.executable, "-m", "benchmarks.agent_run", json.dumps(asdict(run))]
    environment = {**os.environ, "CORES": ",".join(map(str, cores))}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    finally:
        free.put(cores)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"it ended with {done.returncode}")
    return with_gap({**json.loads(done.stdout.splitlines()[-1]), "cores": len(cores)})


def with_gap(row: Row) -> Row:
    """The row with its commit, its program's content, XLA's latency, the bound, and what is closed.

    The bound is the best one known, that of the index.
    """
    entry = library.find_sample(row["program"])
    program = library.load_entry(entry)
    xla_s = simulate(program, solve("xla_compiled", program)).latency_s
    bound_s = entry.bound_s
    if bound_s is None:
        bound_s = lower_bound(program).bound_s
    known = {PROGRAM: entry.content_hash, "commit": commit(), "xla_s": xla_s}
    return held_to({**row, **known}, bound_s)


def with_best_bound(row: Row) -> Row:
    """The row, its gap to the bound that the index has now; the row itself if that has none."""
    bound_s = library.find_sample(program_of(row)).bound_s
    return row if bound_s is None else held_to(row, bound_s)


def held_to(row: Row, bound_s: float) -> Row:
    """The row with this bound, and how much of the gap from XLA's plan to it is closed, 0 to 1."""
    gap_s = row["xla_s"] - bound_s
    closed = (row["xla_s"] - row["latency_s"]) / gap_s if gap_s > 0 else 0.0
    return {**row, "bound_s": bound_s, "gap_closed": closed}


def fill(
    path: Path,
    runs: Iterable[Run],
    tell: Callable[[Row], None],
    gets_all_cores: bool = False,
) -> list[Row]:
    """Measure the runs without a row in the file, one per core at a time; return all its rows.

    Stale rows are measured anew. `gets_all_cores`: one at a time instead, on all cores. `tell` is
    called with each new row. Runs that fail are told and counted (`benchmarks.failures`).
    """
    # With `seconds` two runs of a section may be the same.
    wanted = {json.dumps(run.key): run for run in runs}
    known = [row["key"] for row in read(path) if is_current(path.stem, row)]
    missing = [run for run in wanted.values() if run.key not in known]
    free: queue.SimpleQueue[Cores] = queue.SimpleQueue()
    usable = tuple(sorted(os.sched_getaffinity(0)))
    lots = [usable] if gets_all_cores else [(core,) for core in usable]
    for lot in lots:
        free.put(lot)
    with ThreadPoolExecutor(len(lots)) as pool:
        running = {pool.submit(measure, run, free): run for run in missing}
        for done in as_completed(running):
            try:
                row = done.result()
            except Exception as error:
                failures.tell(str(running[done].key), error)
                continue
            put(path, row)
            tell(row)
    return read(path)
