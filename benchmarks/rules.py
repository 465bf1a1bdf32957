"""The section `rules`: what the game's rules are worth to `evolution`, version 1 beside today's.

The solver of the last commit with version 1 plays in a work tree of that commit. It knows neither
floors nor writes that cost time, so both arms play programs without them: savings add up, and none
is below zero. Both arms are judged by today's checker and simulator, and held to the linear
program's bound; a shorter solve before each has compiled what it needs.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.rows import RESULTS, ROOT, Row, commit, keep, read
from benchmarks.settings import Settings
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.io import load_plan
from engine.plan.simulate import simulate
from engine.program import io, library
from engine.program.model import Program
from engine.solvers import solve

VERSION_1 = "c55e6b6"
"""The last commit whose games have rules of version 1."""
PROGRAMS = (
    "gpt-v5e-b8-train",
    "alphatensor-v5e-b4-train",
    "alphatensor-v5e-b16",
    "lstm-v5e-b64-train",
    "llamadecode-v5e-b8",
    "t5-v5e-b24",
    "alphatensor-v4-b16",
    "efficientnetb0-v5e-b32",
    "bert-v5e-b32",
    "gptdecode-v5e-b8",
    "mobilenetv2-v5e-b64",
    "resnet50-v5e-b64",
    "unet-v5e-b8",
    "lstm-v5e-b128",
)
"""The thirteen that version 1 was measured on, and one more that chosen stalls decide."""
SOLVER, SECONDS = "evolution", 60.0
WARM_UP_S = 25.0
"""Of a solve before the measured one, which comes as far as to what it compiles; that is kept."""


def run(section: str, settings: Settings) -> None:
    """Play both arms on each program that has no row of this seed and time yet."""
    path, seconds = RESULTS / f"{section}.json", settings.seconds or SECONDS
    known = [(row["program"], row["seed"], row["seconds"]) for row in read(path)]
    with TemporaryDirectory() as folder:
        old = Path(folder) / "version-1"
        _git("worktree", "add", "--detach", str(old), VERSION_1)
        try:
            for name in settings.programs or PROGRAMS:
                if (name, settings.seed, seconds) not in known:
                    row = _row(name, old, seconds, settings.seed)
                    keep(path, [*read(path), row])
                    print(_line(row), flush=True)
        finally:
            _git("worktree", "remove", "--force", str(old))
    print(summary(read(path)))


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)


def without_floors(program: Program) -> Program:
    """The program as version 1 could tell it: savings add up, and no write costs time."""
    return replace(
        program,
        instructions=tuple(replace(i, floor_s=0.0) for i in program.instructions),
        accesses=tuple(replace(a, saving_s=max(0.0, a.saving_s)) for a in program.accesses),
    )


def _row(name: str, old: Path, seconds: float, seed: int) -> Row:
    captured = library.load_sample(name)
    program = without_floors(captured)
    xla = replace(solve("xla_compiled", captured), program_hash=io.content_hash(program))
    assert check(program, xla) is None
    xla_s = simulate(program, xla).latency_s
    bound_s = lower_bound(program).bound_s
    arms = {"version 1": old, "today": ROOT}
    return {
        "program": name,
        "seed": seed,
        "seconds": seconds,
        "xla_s": xla_s,
        "bound_s": bound_s,
        "gap_closed": {
            arm: (xla_s - _latency_s(program, tree, seconds, seed)) / (xla_s - bound_s)
            for arm, tree in arms.items()
        },
        "commit": commit(),
    }


def _latency_s(program: Program, tree: Path, seconds: float, seed: int) -> float:
    """Simulated seconds of the plan that the solver of a work tree finds in its time."""
    with TemporaryDirectory() as folder:
        file, plan = Path(folder) / "program.json", Path(folder) / "plan.json"
        io.save(program, file)
        for time in (WARM_UP_S, seconds):
            command = [sys.executable, "-m", "engine", "solve", str(file), "-o", str(plan)]
            flags = ["--solver", SOLVER, "--seconds", str(time), "--seed", str(seed)]
            subprocess.run([*command, *flags], cwd=tree, check=True, capture_output=True)
        found = load_plan(plan)
    if violation := check(program, found):
        raise RuntimeError(f"a plan of {tree} breaks a rule: {violation}")
    return simulate(program, found).latency_s


def _line(row: Row) -> str:
    return f"{row['program']:28} seed {row['seed']} " + ", ".join(
        f"{arm} {closed:6.1%}" for arm, closed in row["gap_closed"].items()
    )


def summary(rows: Sequence[Row]) -> str:
    """Means of both arms, and the lead of today's with its standard error over the rows."""
    arms = {
        arm: statistics.mean(row["gap_closed"][arm] for row in rows)
        for arm in ("version 1", "today")
    }
    leads = [row["gap_closed"]["today"] - row["gap_closed"]["version 1"] for row in rows]
    error = statistics.stdev(leads) / len(leads) ** 0.5 if len(leads) > 1 else 0.0
    return (
        f"mean of {len(rows)}: version 1 {arms['version 1']:.1%}, today {arms['today']:.1%};"
        f" ahead by {100 * statistics.mean(leads):.1f} ± {100 * error:.1f} points"
    )
