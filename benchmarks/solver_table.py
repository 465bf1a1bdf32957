"""The section `table`: every solver on every contested program at 1, 10 and 60 seconds.

One core each, but for `portfolio`, which gets all. Rows go to `docs/results/solver_table.json` as
soon as they are measured, the table to `docs/results/solvers.md`: samples of families that the
networks were trained on, other samples, held-out programs and large ones apart.
"""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Iterator, Sequence
from functools import lru_cache

from benchmarks.rows import (
    MARK,
    RESULTS,
    STALE,
    Row,
    beats_xla,
    is_current,
    is_of_program,
    keep,
    read,
)
from benchmarks.runs import Run, fill, with_best_bound
from benchmarks.settings import Settings
from engine.files import write_bytes
from engine.program import library
from engine.program.provenance import reading_warning
from engine.solvers import SOLVERS, find
from engine.solvers.generalist import is_held_out

ROWS, TABLE = RESULTS / "solver_table.json", RESULTS / "solvers.md"
TIMES = (1.0, 10.0, 60.0)
LEFT_OUT = ("all_slow", "xla_compiled")
"""The two ends of what is measured."""
ON_ALL_CORES = ("portfolio",)
TRAINING, OTHER_FAMILIES = "Samples of families of the training", "Samples of other families"
HELD_OUT, LARGE = "Held-out programs", "Large programs"
KINDS = (TRAINING, OTHER_FAMILIES, HELD_OUT, LARGE)
HEAD = f"""
Share of the gap between XLA's plan and the best proven lower bound that each solver closes on the
contested programs (XLA's plan at least 3 % above the bound), on one core (`portfolio`: on {{}}),
simulated. Every plan has passed the checker. Only solvers that were run on all of the programs have
a mean. *Beats XLA*: programs on which the plan is faster than XLA's own, of those of whose plan by
XLA at least 99 % of the saving was read. Seed 0; other seeds stand at the end. Seconds are those
that a solver counts: what `muzero` prepares, and a generation of `evolution` under way, come on top
([seconds in all](README.md#solvers-and-bounds)). What JAX compiles is kept from run to run, and was
there when these two were measured: the first solve of a program of a new size takes up to a minute
longer. {MARK}: {STALE}. Written by `python -m benchmarks table`.
"""


def programs(settings: Settings) -> tuple[str, ...]:
    """The programs asked for, else every contested one."""
    entries = (*library.index(), *library.held_out(), *library.large())
    return settings.programs or tuple(e.name for e in entries if e.is_contested)


def own_names() -> tuple[str, ...]:
    """The solvers that are run where none is named: not those that happen to be installed."""
    return tuple(n for n, s in SOLVERS.items() if n not in LEFT_OUT and not s.package)


def runs(settings: Settings) -> Iterator[Run]:
    """Shortest times first, so that a run which is broken off compares what it has."""
    names = settings.solvers or own_names()
    times = TIMES if settings.seconds is None else (settings.seconds,)
    for seconds in times:
        for program in programs(settings):
            for name in names:
                if find(name).uses_time or seconds == times[0]:
                    yield Run(program, name, seconds, settings.seed)


def tell(row: Row) -> None:
    """Print one line about a run."""
    program, solver, seconds, seed, _ = row["key"]
    closed = f"{row['gap_closed']:7.1%} of the gap in {row['took_s']:.1f} s"
    print(f"{program:28} {solver:10} {seconds:4.0f} s seed {seed} {closed}", flush=True)


def kind(program: str) -> str:
    """Under which heading a program's rows stand."""
    if any(entry.name == program for entry in library.held_out()):
        return HELD_OUT
    if any(entry.name == program for entry in library.large()):
        return LARGE
    return OTHER_FAMILIES if is_held_out(program) else TRAINING


@lru_cache
def is_xla_a_measure(program: str) -> bool:
    """Whether to be faster than XLA's plan of the program is a win: it was not read in part."""
    return reading_warning(library.load_sample(program)) is None


def table(rows: Sequence[Row], num_programs: int) -> str:
    """One line per solver and time; no mean where not all of so many programs have a row."""
    lines = [
        "| solver | seconds | programs | mean | median | least | beats XLA |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    groups: dict[tuple[str, float], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["key"][1], row["key"][2]), []).append(row)
    for (solver, seconds), some in sorted(groups.items(), key=lambda item: (item[0][1], item[0])):
        closed = [row["gap_closed"] for row in some]
        measured = [row for row in some if is_xla_a_measure(row["program"])]
        wins = sum(map(beats_xla, measured))
        mark = "" if all(is_current(ROWS.stem, row) for row in some) else f" {MARK}"
        shares = [statistics.mean(closed), statistics.median(closed), min(closed)]
        cells = [f"{x:.1%}" if len(some) == num_programs else "" for x in shares]
        lines.append(
            f"| `{solver}`{mark} | {seconds:.0f} | {len(some)} of {num_programs}"
            f" | {' | '.join(cells)} | {wins} of {len(measured)} |"
        )
    return "\n".join(lines)


def table_of_seeds(rows: Sequence[Row]) -> str:
    """One line per solver, time and program that was measured with several seeds."""
    groups: dict[tuple[str, float, str], dict[int, float]] = {}
    for row in rows:
        program, solver, seconds, seed, _ = row["key"]
        groups.setdefault((solver, seconds, program), {})[seed] = row["gap_closed"]
    lines = [
        "| solver | seconds | program | seeds | least | most |",
        "|---|---:|---|---|---:|---:|",
    ]
    lines += [
        f"| `{solver}` | {seconds:.0f} | {program} | {', '.join(map(str, sorted(closed)))}"
        f" | {min(closed.values()):.1%} | {max(closed.values()):.1%} |"
        for (solver, seconds, program), closed in sorted(groups.items())
        if len(closed) > 1
    ]
    return "\n".join(lines)


def run(section: str, settings: Settings) -> None:
    """Measure what is missing and write the table."""
    del section
    keep(ROWS, [with_best_bound(row) for row in read(ROWS) if is_of_program(row)])
    wanted = list(runs(settings))
    for gets_all in (False, True):
        some = [run for run in wanted if (run.solver in ON_ALL_CORES) == gets_all]
        fill(ROWS, some, tell, gets_all_cores=gets_all)
    text = page(read(ROWS))
    write_bytes(TABLE, text.encode())
    print(text)


def page(rows: Sequence[Row]) -> str:
    """The page of all rows of programs that are what they were, held to the bounds of now."""
    rows = [with_best_bound(row) for row in rows if is_of_program(row)]
    parts = ["# Solvers\n", textwrap.fill(HEAD.format(cores_in_words(rows)).strip(), 100) + "\n"]
    every = programs(Settings())
    for title in KINDS:
        names = [name for name in every if kind(name) == title]
        some = [row for row in rows if row["program"] in names and row["key"][3] == 0]
        if some:
            parts.append(f"## {title}\n\n{table(some, len(names))}\n")
    parts.append(f"## Several seeds\n\n{table_of_seeds(rows)}\n")
    return "\n".join(parts)


def cores_in_words(rows: Sequence[Row]) -> str:
    """How many cores the solvers had that get all, as far as their rows say."""
    own = [row.get("cores") for row in rows if row["key"][1] in ON_ALL_CORES]
    known = sorted({cores for cores in own if cores is not None})
    return " or ".join(map(str, known)) if known and None not in own else "all of the machine's"
