"""The section `fidelity`: whole compiles of our own plans, predicted by costs that never saw them.

A solver looks for what pays most, and so for every saving that is too high. Of every compile whose
placement came of a plan of ours (`sample_programs/observations/`), of the samples and of the
programs that were held out, the compiler's cycles are set beside those that two fits predict: one
to all other compiles, and one to those that came before it, which is what the study knew when it
chose the plan. Loops are multiplied out; stalls, which are simulated in any case, do not count. No
compiler is needed.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from itertools import takewhile

from benchmarks.rows import RESULTS, Row, commit, dependencies, keep_of
from benchmarks.settings import Settings
from engine.compiler.costs.calibrate import fit_savings, total_error
from engine.compiler.costs.observations import (
    Compile,
    Observations,
    load_observations,
    observations_path,
)
from engine.compiler.costs.trust import left_out
from engine.program import library
from engine.program.library import SampleEntry
from engine.program.model import Program

OF_OUR_PLANS = ("plan-", "best-")
"""How names of compiles of exported plans begin; others try options, chance, single costs."""

FITS = {"others": "by all other compiles", "before": "by those before it"}
"""The keys of a row that hold a relative error, and what the fit was to."""

GOALS = (0.005, 0.02)
"""The median error without sign that is aimed at, and the worst."""


def run(section: str, settings: Settings) -> None:
    """Predict the kept compiles of all programs, or of those asked for."""
    rows = [
        row
        for title, entries in (("samples", library.index()), ("held out", library.held_out()))
        for entry in entries
        if not settings.programs or entry.name in settings.programs
        for row in _rows(entry, title)
    ]
    keep_of(RESULTS / f"{section}.json", settings.programs, rows)
    for title in dict.fromkeys(row["set"] for row in rows):
        some = [row for row in rows if row["set"] == title]
        print(f"{title}: {len(some)} plans of {len({row['program'] for row in some})} programs")
        for key, words in FITS.items():
            print(f"  predicted {words}: {summary([row[key] for row in some])}")


def _rows(entry: SampleEntry, title: str) -> Iterator[Row]:
    path = observations_path(entry.name, entry.folder)
    if not path.exists():
        return
    program = library.load_entry(entry)
    observations = load_observations(path, program)
    for one in left_out(program, observations):
        if one.compile.name.startswith(OF_OUR_PLANS):
            row = {
                "program": program.name,
                "set": title,
                **dependencies("fidelity", program.name),
                "compile": one.compile.name,
                "others": float(f"{one.error:.6g}"),
                "before": float(f"{_error_before(program, observations, one.compile):.6g}"),
                "commit": commit(),
            }
            line = "{program:28} {compile:18} {others:+8.3%} {before:+8.3%}"
            print(line.format(**row), flush=True)
            yield row


def _error_before(program: Program, observations: Observations, one: Compile) -> float:
    """Relative error of the predicted cycles where the fit ends before this compile."""
    before = [c.seen for c in takewhile(lambda c: c is not one, observations.compiles)]
    fit = fit_savings(program, observations.pools, observations.slow.seen, before)
    return total_error(program, fit, one.seen)


def summary(errors: Sequence[float]) -> str:
    """The errors in words, without their signs: the median, the worst, and how many are small."""
    (usual, most), sizes = GOALS, [abs(error) for error in errors]
    return (
        f"median error {statistics.median(sizes):.2%} (goal {usual:.1%}), worst"
        f" {max(sizes):.2%} (goal {most:.0%}), {sum(s <= most for s in sizes)} within {most:.0%}"
    )
