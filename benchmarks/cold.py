"""The section `cold`: solvers on the command line, each run in a new process, at 1, 2 and 10 s.

What a user waits for: imports, start-up, the work, the file. A run keeps its word if its plan is
not slower than XLA's own, and if it takes no more than 1.1 times its seconds and one more, beside
what it announces as not counted. `--arms first-use` has an empty cache, as the first run on a
machine; `--arms busy` shares each of its cores with a process that never rests.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path
from statistics import mean

from benchmarks import failures
from benchmarks.rows import NOISE, RESULTS, ROOT, RULES, Row, commit, dependencies, put, read
from benchmarks.settings import Settings
from engine.errors import EngineError, UsageError
from engine.folders import VARIABLE
from engine.plan.io import load_plan
from engine.program import library
from engine.program.library import SampleEntry
from engine.solvers import find

ROWS = RESULTS / "cold.json"
PROGRAMS = ("gptdecode-v5e-b8", "bert-v5e-b32-train", "alphatensorfull-v5e-b4-train")
"""A small one, one of 1,600 touches, and the largest."""
SOLVERS = ("portfolio", "local", "rounded", "steered", "evolution", "muzero")
TIMES = (1.0, 2.0, 10.0)
CACHED, FIRST_USE, BUSY = "cached", "first-use", "busy"
ARMS = (CACHED,)
SPINNING = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
while os.getppid() > 1:
    pass
"""
"""A process that keeps a core busy as long as there is one that asked for it."""
MOST_SHARE, MOST_S = 1.1, 1.0
"""What a run may take: that share of its seconds, and so many seconds more."""


def run(section: str, settings: Settings) -> None:
    """Measure all runs in turn, print a line of each, and what they come to."""
    for key in keys(settings):
        try:
            row = measured(*key)
        except (EngineError, RuntimeError) as error:
            failures.tell(str(key), error)
            continue
        print(line(row), flush=True)
        put(ROWS, row)
    print("\n".join(summary(read(ROWS))))


Key = tuple[str, str, float, int, str]
"""Program, solver, seconds, seed, arm."""


def keys(settings: Settings) -> Iterator[Key]:
    """What is run; a solver that has no use for time once alone."""
    times = TIMES if settings.seconds is None else (settings.seconds,)
    programs, solvers = settings.programs or PROGRAMS, settings.solvers or SOLVERS
    for arm, program, solver, seconds in product(settings.arms or ARMS, programs, solvers, times):
        if find(solver).uses_time or seconds == times[0]:
            yield program, solver, seconds, settings.seed, arm


def measured(program: str, solver: str, seconds: float, seed: int, arm: str) -> Row:
    """The row of one run in a process of its own.

    Raises RuntimeError with what the process said last if it fails; UsageError without a plan of
    the compiler's.
    """
    entry = library.find_sample(program)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "plan.json"
        budget = ["--seconds", str(seconds), "--seed", str(seed)]
        command = ["solve", program, "--solver", solver, *budget, "-o", str(file), "--json"]
        environment = dict(os.environ)
        if arm == FIRST_USE:
            environment[VARIABLE] = str(Path(name) / "cache")
        with busy_cores() if arm == BUSY else nullcontext():
            begun, cpu_before_s = time.perf_counter(), children_cpu_s()
            done = subprocess.run(
                [sys.executable, "-m", "engine", *command],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            wall_s, cpu_s = time.perf_counter() - begun, children_cpu_s() - cpu_before_s
        if done.returncode:
            said = done.stderr.strip().splitlines()
            raise RuntimeError(said[-1] if said else f"it ended with {done.returncode}")
        notes = load_plan(file).notes
    body = json.loads(done.stdout)
    return {
        "key": [program, solver, seconds, seed, arm],
        **dependencies("cold", program),
        RULES: notes.get("rules"),
        "commit": commit(),
        "latency_s": body["latency_s"],
        "found_by": notes.get("found_by", body["solver"]),
        "wall_s": round(wall_s, 2),
        "cpu_s": round(cpu_s, 2),
        "not_counted_s": round(notes["seconds"] - notes["counted_s"], 2),
        "load": round(os.getloadavg()[0], 1),
        **standard(entry),
    }


@contextmanager
def busy_cores() -> Iterator[None]:
    """Every core that this process may use has a process beside it that never rests."""
    others = []
    try:
        for core in os.sched_getaffinity(0):
            others.append(subprocess.Popen([sys.executable, "-c", SPINNING, str(core)]))
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def children_cpu_s() -> float:
    """Processor seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def standard(entry: SampleEntry) -> Row:
    """What a plan of the program is measured against."""
    if entry.xla_latency_s is None or entry.bound_s is None:
        raise UsageError(f"cold: {entry.name} has no plan of the compiler's to be measured against")
    return {"xla_s": entry.xla_latency_s, "bound_s": entry.bound_s}


def is_behind(row: Row) -> bool:
    """Whether the plan is slower than XLA's."""
    return bool(row["latency_s"] > row["xla_s"] * (1 + NOISE))


def is_late(row: Row) -> bool:
    """Whether it took longer than it may."""
    return late_s(row) > 0.0


def late_s(row: Row) -> float:
    """How much longer than it may it took, without what was announced as not counted."""
    may_s = MOST_SHARE * row["key"][2] + MOST_S
    return float(row["wall_s"] - row["not_counted_s"] - may_s)


def closed(row: Row) -> float:
    """The share of the gap from XLA's plan to the bound that the plan closes; 0 without a gap."""
    gap_s = row["xla_s"] - row["bound_s"]
    return (row["xla_s"] - row["latency_s"]) / gap_s if gap_s > 0 else 0.0


def line(row: Row) -> str:
    """One run in words."""
    program, solver, seconds, _, arm = row["key"]
    faults = [word for word, is_so in (("BEHIND", is_behind(row)), ("LATE", is_late(row))) if is_so]
    return (
        f"{program:30} {solver:10} {seconds:4.0f} s {arm:9} {closed(row):7.1%} of the gap by"
        f" {row['found_by']:12} in {row['wall_s']:5.1f} s ({row['not_counted_s']:.1f} not counted),"
        f" {row['cpu_s']:.1f} s of the processor"
        f" at load {row['load']:.0f} {' '.join(faults)}"
    )


def summary(rows: Sequence[Row]) -> list[str]:
    """One line per solver, time and arm: mean gap closed, runs behind XLA's plan, runs too late.

    On a busy machine all are late: the processor seconds say what a run took.
    """
    groups: dict[tuple[str, float, str], list[Row]] = {}
    for row in rows:
        _, solver, seconds, _, arm = row["key"]
        groups.setdefault((arm, seconds, solver), []).append(row)
    return [
        f"{arm:9} {seconds:4.0f} s {solver:10} {mean(map(closed, some)):7.1%} of the gap,"
        f" {sum(map(is_behind, some))} of {len(some)} behind XLA, {sum(map(is_late, some))} late,"
        f" at most {max(row['wall_s'] - row['not_counted_s'] for row in some):.1f} s,"
        f" {max(row['cpu_s'] for row in some):.1f} s of the processor"
        for (arm, seconds, solver), some in sorted(groups.items())
    ]
