"""The section `fidelity`: whole compiles of our own plans, predicted by costs that never saw them.

A solver looks for what pays most, and so for every saving that is too high. Of every compile whose
placement came of a plan of ours (`sample_programs/observations/`), of the samples and of the
programs that were held out, the total that a fit to all other compiles predicts is set beside the
compiler's. Cycles alone, loops multiplied out: stalls are simulated on both sides. No compiler is
needed.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from benchmarks.rows import RESULTS, Row, commit, keep
from benchmarks.settings import Settings
from engine.compiler.observations import load_observations, observations_path
from engine.compiler.refit import left_out
from engine.program import library
from engine.program.library import SampleEntry

OF_OUR_PLANS = ("plan-", "best-")
"""How the compiles of exported plans are called; the others are knobs, random or identify costs."""

GOALS = (0.005, 0.02)
"""The median error without sign that is aimed at, and the worst."""


def run(section: str, settings: Settings) -> None:
    """Predict the kept compiles of all programs, or of those asked for."""
    rows = [
        row
        for is_held_out, entries in ((False, library.index()), (True, library.held_out()))
        for entry in entries
        if not settings.programs or entry.name in settings.programs
        for row in _rows(entry, is_held_out)
    ]
    keep(RESULTS / f"{section}.json", rows)
    for title, is_held_out in (("samples", False), ("held out", True)):
        found = [row for row in rows if row["is_held_out"] == is_held_out]
        if found:
            print(f"{title}: {_summary(found)}")


def _rows(entry: SampleEntry, is_held_out: bool) -> Iterator[Row]:
    path = observations_path(entry.name, entry.folder)
    if not path.exists():
        return
    program = library.load_entry(entry)
    for one in left_out(program, load_observations(path, program)):
        if one.compile.name.startswith(OF_OUR_PLANS):
            print(f"{program.name:28} {one.compile.name:18} {one.error:+8.3%}", flush=True)
            yield {
                "program": program.name,
                "is_held_out": is_held_out,
                "compile": one.compile.name,
                "error": float(f"{one.error:.6g}"),
                "commit": commit(),
            }


def _summary(rows: list[Row]) -> str:
    errors = [abs(row["error"]) for row in rows]
    usual, most = GOALS
    return (
        f"{len(rows)} plans of {len({row['program'] for row in rows})} programs, median error"
        f" {statistics.median(errors):.2%} (goal {usual:.1%}), worst {max(errors):.2%} (goal"
        f" {most:.0%}), {sum(e <= most for e in errors)} within {most:.0%}"
    )
