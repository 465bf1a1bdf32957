"""The section `sizes`: how long things take on each captured program, and how that grows.

Every step of the way of a program that is to be quick at real size too: importing the HLO of its
compile with everything in slow memory (where the user's cache has it, as after `capture --large`),
opening its file, simulating the best plan known, the linear program's bound, the plans of the
solvers that take what time they need, and the first plan of `local`. *Exponent*: the slope of the
logarithm of the seconds over that of the touches, by least squares; 1 is linear.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.rows import RESULTS, Row, commit, keep, read
from benchmarks.settings import Settings
from benchmarks.stopwatch import median_seconds, seconds_of
from engine.compiler.capture.importer import import_hlo
from engine.compiler.reading.own_compile import stored_stablehlo
from engine.compiler.toolchain.results import SLOW_OPTIONS, Answers
from engine.compiler.toolchain.target import Target
from engine.errors import CompilerError
from engine.plan.bounds import lower_bound
from engine.plan.io import load_plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.library import SampleEntry
from engine.program.model import Program
from engine.solvers import Budget, solve
from engine.workflows.capturing import answers_folder

ROWS = RESULTS / "sizes.json"
LIMITS_S = {"import": 10.0, "bound": 60.0, "simulate": 0.1, "first plan": 5.0}
"""Most seconds that each step may take on a program of 30,000 touches."""
SOLVERS = ("xla_like", "greedy", "density")
"""Solvers that end by themselves."""
REPEATS = 5


def run(section: str, settings: Settings) -> None:
    """Measure the programs that have no row yet; print the rows and how the times grow."""
    del section
    entries = [
        entry
        for entry in (*library.index(), *library.held_out(), *library.large())
        if (entry.name in settings.programs if settings.programs else entry.xla_latency_s)
    ]
    solve("local", library.load_entry(entries[0]), Budget(seconds=0.0))  # compiles what it needs
    for entry in sorted(entries, key=lambda entry: entry.touches):
        if all(row["key"] != [entry.name, entry.content_hash] for row in read(ROWS)):
            row = _row(entry)
            keep(ROWS, [*(old for old in read(ROWS) if old["key"][0] != entry.name), row])
            print(line(row), flush=True)
    names = [entry.name for entry in entries]
    for what, words in growth([row for row in read(ROWS) if row["key"][0] in names]):
        print(f"{what:12} {words}")


def _row(entry: SampleEntry) -> Row:
    program = library.load_entry(entry)
    path = entry.best_plan_path
    plan = load_plan(path) if path else solve("density", program)
    taken = {
        "open": median_seconds(lambda: library.load_entry(entry), REPEATS),
        "import": _import_seconds(program),
        "simulate": median_seconds(lambda: simulate(program, plan), REPEATS),
        "bound": seconds_of(lambda: lower_bound(program)),
        **{name: _solver_seconds(name, program) for name in SOLVERS},
        "first plan": seconds_of(lambda: solve("local", program, Budget(seconds=0.0))),
    }
    return {
        "key": [entry.name, entry.content_hash],
        "touches": entry.touches,
        "instructions": entry.instructions,
        "seconds": taken,
        "commit": commit(),
    }


def _solver_seconds(name: str, program: Program) -> float:
    return seconds_of(lambda: solve(name, program, Budget(seconds=0.0)))


def _import_seconds(program: Program) -> float | None:
    """Seconds to import the HLO of its own compile; None where the cache does not have it."""
    target = Target(program.hardware.name)
    answers = Answers(stored_stablehlo(program), target, answers_folder(), is_offline=True)
    try:
        hlo = answers.full(SLOW_OPTIONS).hlo
    except CompilerError:
        return None
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / f"{program.name}.hlo"
        path.write_text(hlo)
        return seconds_of(lambda: import_hlo(path, None, program.hardware.name))


def line(row: Row) -> str:
    """A program's size, and the seconds that each step takes; `!` after those above the limit."""
    times = [
        f"{what} {seconds:.3g}{'!' if seconds > LIMITS_S.get(what, math.inf) else ''}"
        for what, seconds in row["seconds"].items()
        if seconds is not None
    ]
    return f"{row['key'][0]:28} {row['touches']:6} touches, seconds: {', '.join(times)}"


def growth(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Of each step, in words: its exponent over the programs, and its seconds on the largest."""
    found = []
    for what in dict.fromkeys(what for row in rows for what in row["seconds"]):
        some = [row for row in rows if row["seconds"].get(what) is not None]
        if len(some) > 1:
            touches, seconds = zip(
                *((row["touches"], row["seconds"][what]) for row in some), strict=True
            )
            largest = max(some, key=lambda row: row["touches"])
            words = (
                f"exponent {exponent(touches, seconds):.2f} over {len(some)} programs;"
                f" {largest['seconds'][what]:.3g} s at {largest['touches']:,} touches"
            )
            found.append((what, words))
    return found


def exponent(touches: Sequence[int], seconds: Sequence[float]) -> float:
    """The `k` of `seconds = c * touches ** k`, by least squares of the logarithms."""
    return float(np.polyfit(np.log(touches), np.log(seconds), 1)[0])
