"""The section `portfolio`: it against `local`, with as much time, on one core and on all.

Six contested programs of all kinds, three seeds; each run in a process of its own. Those on one
core run one per core at a time, those on all cores alone. Rows: `docs/results/portfolio.json`.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Sequence

from benchmarks.rows import RESULTS, Row, rows_of
from benchmarks.runs import Run, fill
from benchmarks.settings import Settings
from benchmarks.solver_table import tell, with_best_bound

ROWS = RESULTS / "portfolio.json"
PROGRAMS = (
    "alphatensor-v5e-b4-train",
    "bert-v5e-b32",
    "efficientnetb0-v5e-b32",
    "llamadecode-v5e-b8",
    "mlpae-v5p-b4096",
    "bertlarge-v5e-b4-train",
)
TIMES, SEEDS = (1.0, 10.0, 60.0), (0, 1, 2)
SAME = 0.0005
"""Of the gap: closer than that nobody is ahead."""


def label(cores: int) -> str:
    """How a row's key says on how many cores it was."""
    return f"{cores} core" + "s" * (cores > 1)


def runs(settings: Settings, solver: str, cores: int) -> Iterator[Run]:
    """Shortest times first, so that a section which is broken off compares what it has."""
    for seconds in TIMES if settings.seconds is None else (settings.seconds,):
        for program in settings.programs or PROGRAMS:
            for seed in SEEDS:
                yield Run(program, solver, seconds, seed, label(cores))


def table(rows: Sequence[Row]) -> str:
    """One line per time and number of cores: the means, and who is ahead how often."""
    closed = {tuple(row["key"]): row["gap_closed"] for row in rows}
    lines = [
        "| seconds | cores | pairs | `local`, one core | `portfolio` | ahead, same, behind"
        " | most behind |",
        "|---:|---:|---:|---:|---:|---|---:|",
    ]
    groups: dict[tuple[float, str], list[tuple[float, float]]] = {}
    for (program, solver, seconds, seed, on), share in closed.items():
        local = closed.get((program, "local", seconds, seed, label(1)))
        if solver == "portfolio" and local is not None:
            groups.setdefault((seconds, on), []).append((local, share))
    for (seconds, on), pairs in sorted(groups.items()):
        by = [share - local for local, share in pairs]
        ahead, behind = sum(x > SAME for x in by), sum(x < -SAME for x in by)
        lines.append(
            f"| {seconds:.0f} | {on.split()[0]} | {len(pairs)}"
            f" | {statistics.mean(local for local, _ in pairs):.1%}"
            f" | {statistics.mean(share for _, share in pairs):.1%}"
            f" | {ahead}, {len(by) - ahead - behind}, {behind} | {max(0.0, -min(by)):.1%} |"
        )
    return "\n".join(lines)


def run(section: str, settings: Settings) -> None:
    """Measure what is missing, and print the table."""
    del section
    alone = [run for solver in ("local", "portfolio") for run in runs(settings, solver, 1)]
    fill(ROWS, sorted(alone, key=lambda run: run.seconds), tell)
    if (cores := len(os.sched_getaffinity(0))) > 1:
        fill(ROWS, runs(settings, "portfolio", cores), tell, gets_all_cores=True)
    print(table([with_best_bound(row) for row in rows_of("portfolio")]))
