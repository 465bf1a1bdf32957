"""The section `portfolio`: it against `local`, with as much time, on one core and on all.

Six contested programs of all kinds, three seeds; each run in a process of its own. Those on one
core run one per core at a time, those on all cores alone. Rows: `docs/results/portfolio.json`.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.rows import RESULTS, Row, is_of_program, rows_of
from benchmarks.runs import Run, fill, with_best_bound
from benchmarks.settings import Settings
from benchmarks.solver_table import tell

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


@dataclass(frozen=True)
class Duel:
    """The pairs of one time and number of cores: rows of `local`, on one core, and `portfolio`."""

    seconds: float
    cores: int
    pairs: tuple[tuple[Row, Row], ...]

    @property
    def is_fair(self) -> bool:
        """Whether each pair is of one version of the code."""
        return all(one["commit"] == other["commit"] for one, other in self.pairs)

    @property
    def means(self) -> tuple[float, float]:
        """What `local` and `portfolio` close of the gap in the mean, 0 to 1."""
        local, portfolio = (
            statistics.mean(row["gap_closed"] for row in rows)
            for rows in zip(*self.pairs, strict=True)
        )
        return local, portfolio

    @property
    def leads(self) -> list[float]:
        """By what share of the gap `portfolio` is ahead, for each pair."""
        return [other["gap_closed"] - one["gap_closed"] for one, other in self.pairs]

    @property
    def counts(self) -> str:
        """How often `portfolio` is ahead, the same and behind."""
        ahead, behind = sum(x > SAME for x in self.leads), sum(x < -SAME for x in self.leads)
        return f"{ahead}, {len(self.leads) - ahead - behind}, {behind}"

    @property
    def most_behind(self) -> float:
        """The share of the gap by which it is behind at most."""
        return max(0.0, -min(self.leads))


def duels(rows: Sequence[Row]) -> list[Duel]:
    """All times and numbers of cores of which there are pairs, held to the bounds of now."""
    by_key = {tuple(row["key"]): with_best_bound(row) for row in rows if is_of_program(row)}
    groups: dict[tuple[float, int], list[tuple[Row, Row]]] = {}
    for (program, solver, seconds, seed, on), row in by_key.items():
        local = by_key.get((program, "local", seconds, seed, label(1)))
        if solver == "portfolio" and local is not None:
            groups.setdefault((seconds, int(on.split()[0])), []).append((local, row))
    return [Duel(*key, tuple(pairs)) for key, pairs in sorted(groups.items())]


def table(rows: Sequence[Row]) -> str:
    """One line per time and number of cores: the means, and who is ahead how often."""
    lines = [
        "| seconds | cores | pairs | `local`, one core | `portfolio` | ahead, same, behind"
        " | most behind |",
        "|---:|---:|---:|---:|---:|---|---:|",
    ]
    for duel in duels(rows):
        local, portfolio = duel.means
        unfair = "" if duel.is_fair else ", some of two commits"
        lines.append(
            f"| {duel.seconds:.0f} | {duel.cores} | {len(duel.pairs)}{unfair} | {local:.1%}"
            f" | {portfolio:.1%} | {duel.counts} | {duel.most_behind:.1%} |"
        )
    return "\n".join(lines)


def run(section: str, settings: Settings) -> None:
    """Measure what is missing, and print the table."""
    del section
    alone = [run for solver in ("local", "portfolio") for run in runs(settings, solver, 1)]
    fill(ROWS, sorted(alone, key=lambda run: run.seconds), tell)
    if (cores := len(os.sched_getaffinity(0))) > 1:
        fill(ROWS, runs(settings, "portfolio", cores), tell, gets_all_cores=True)
    print(table(rows_of("portfolio")))
