"""The section `rules`: `evolution` as of version 1 of the game's rules, beside today's.

The solver of the last commit with version 1 plays in a work tree of that commit; it has changed
since as well, so what comes out is not the rules' alone. It knows neither floors nor writes that
cost time, so both arms play programs without them: savings add up, and none is below zero. Both are
judged by today's checker and simulator, and held to the linear program's bound; a shorter solve
before each has compiled what it needs.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

from benchmarks.agent_tables import lead_text
from benchmarks.rows import RESULTS, ROOT, Row, commit, keep, read
from benchmarks.settings import Settings
from benchmarks.solver_table import HELD_OUT, kind
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
    "mlpae-v5p-b4096",
    "mamba-v6e-b32",
    "densenet121-v6e-b64",
    "mlpae-v6e-b4096-train",
)
"""The thirteen that version 1 was measured on, one more that chosen stalls decide, and the
contested held-out ones."""
SOLVER, SECONDS = "evolution", 60.0
THEN, NOW = "version 1", "today"
"""The two arms."""
WARM_UP_S = 25.0
"""Seconds of a solve before the measured one: enough to reach what it compiles, which is kept."""


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
    for is_held_out in (False, True):
        if rows := [row for row in read(path) if (kind(row["program"]) == HELD_OUT) == is_held_out]:
            print("held out," if is_held_out else "samples,", summary(rows))


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)


def without_floors(program: Program) -> Program:
    """The program as version 1 could state it: savings add up, and no write costs time."""
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
    arms = {THEN: old, NOW: ROOT}
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
        file, plan_file = Path(folder) / "program.json", Path(folder) / "plan.json"
        io.save(program, file)
        for time in (WARM_UP_S, seconds):
            command = [sys.executable, "-m", "engine", "solve", str(file), "-o", str(plan_file)]
            flags = ["--solver", SOLVER, "--seconds", str(time), "--seed", str(seed)]
            subprocess.run([*command, *flags], cwd=tree, check=True, capture_output=True)
        plan = load_plan(plan_file)
    if violation := check(program, plan):
        raise RuntimeError(f"a plan of {tree} breaks a rule: {violation}")
    return simulate(program, plan).latency_s


def _line(row: Row) -> str:
    return f"{row['program']:28} seed {row['seed']} " + ", ".join(
        f"{arm} {closed:6.1%}" for arm, closed in row["gap_closed"].items()
    )


def summary(rows: Sequence[Row]) -> str:
    """Means of both arms, and the lead of today's with its standard error over the rows, points."""
    then, now = ([row["gap_closed"][arm] for row in rows] for arm in (THEN, NOW))
    leads = [100 * (new - old) for old, new in zip(then, now, strict=True)]
    return (
        f"mean of {len(rows)}: {THEN} {mean(then):.1%}, {NOW} {mean(now):.1%};"
        f" ahead by {lead_text(leads)} points"
    )
