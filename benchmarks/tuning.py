"""The section `tuning`: `tune` with the real compiler, beside options chosen by chance.

For every contested program, of the samples, of those held out and of the real ones, those of fewest
instructions first, three searches with as many whole compiles each, those that the program's
capture had made counted: `tune`, of placement alone
(`--no-program-options`) but for the real ones; pass options and random rules, of which the
simulator chooses by early stops, on the real ones after random program options (`tune`'s own
baseline); and the first pass options and random rules that come, all compiled.
Gains are of the compiler's cycles, stalls and prices against its default. Rows go to
`docs/results/tuning.json` as soon as a program is done; what the compiler answered is cached, so a
broken run goes on.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from benchmarks import failures
from benchmarks.rows import (
    NOISE,
    REAL_SETS,
    RESULTS,
    Row,
    commit,
    dependencies,
    is_measured,
    put,
    read,
    set_of,
)
from benchmarks.settings import Settings
from engine.compiler.reading.own_compile import stored_answers
from engine.compiler.steering.candidates import pass_option_candidates, random_rules
from engine.compiler.steering.outcome import CompileSession, compile_session
from engine.compiler.steering.tune import total
from engine.compiler.toolchain.results import DEFAULT_OPTIONS
from engine.errors import CompilerError, EngineError, UsageError
from engine.program import library
from engine.workflows.capturing import answers_folder
from engine.workflows.tuning import tune_program

ROWS = RESULTS / "tuning.json"
COMPILES = 12
SECONDS = 1800.0
WAYS = {
    "ours": "tune",
    "chosen": "random rules and options, chosen by the simulator",
    "plain": "random rules and options as they come",
}
"""The keys of a row that may hold a gain, and how it was searched for."""


def run(section: str, settings: Settings) -> None:
    """Tune the programs that have no row yet; print the gains and what they come to."""
    del section
    entries = [
        entry
        for entry in (*library.index(), *library.held_out(), *library.real())
        if (entry.name in settings.programs if settings.programs else entry.is_contested)
    ]
    names = [entry.name for entry in sorted(entries, key=lambda entry: entry.instructions)]
    for name in names:
        key = [name, settings.seed]
        if not is_measured(ROWS, key):
            try:
                measured = _row(name, settings.seconds or SECONDS, settings.seed)
            except EngineError as error:
                failures.tell(name, error)
                continue
            row = {"key": key, **dependencies("tuning", name), **measured}
            put(ROWS, row)
            print(_line(row), flush=True)
    rows = [row for row in read(ROWS) if row["key"][0] in names]
    for title in dict.fromkeys(row["set"] for row in rows):
        some = [row for row in rows if row["set"] == title]
        print("\n".join([f"{title}:", *map(_line, some), *summary(some)]))


def summary(rows: Sequence[Row]) -> list[str]:
    """For each way, how often it beats the default and by how much; then ours beside the others."""
    lines = []
    ways = [key for key in WAYS if any(key in row for row in rows)]
    for key in ways:
        gains = [row[key] for row in rows if key in row]
        wins = sum(gain > NOISE for gain in gains)
        lines.append(
            f"{WAYS[key]}: beats the default on {wins} of {len(gains)}, median gain"
            f" {statistics.median(gains):.1%}, mean {statistics.mean(gains):.1%},"
            f" greatest {max(gains):.1%}"
        )
    for key in ways[1:]:
        ahead = [row["ours"] - row[key] for row in rows if key in row]
        level = sum(difference >= -NOISE for difference in ahead)
        lines.append(
            f"tune against {WAYS[key]}: {statistics.mean(ahead):+.2%} in the mean,"
            f" not worse on {level} of {len(ahead)}"
        )
    return lines


def _row(name: str, seconds: float, seed: int) -> Row:
    program = library.load_sample(name)
    title = set_of(name)
    began = time.monotonic()
    tuned = tune_program(
        program,
        compiles=COMPILES,
        seconds=seconds,
        seed=seed,
        folder=answers_folder(),
        has_program_options=title in REAL_SETS,
        note=lambda text: print(f"{name}: {text}", flush=True),
    )
    took_s = time.monotonic() - began
    if (most := max(tuned.compiles, tuned.random_compiles)) > COMPILES:
        # A row is of one run: what earlier runs tried beyond its compiles is no part of it.
        raise UsageError(
            f"tuning: it went on from earlier runs, with {most} whole compiles; remove"
            f" tuning-*.json from {answers_folder()}"
        )
    by_chance = {}
    if tuned.random_improvement is not None:
        by_chance["chosen"] = tuned.random_improvement
    session = compile_session(program, stored_answers(program, answers_folder()))
    # `tune` chooses among what the capture compiled, too.
    by_chance["plain"] = _as_they_come(session, tuned.compiles + tuned.captured, seed)
    return {
        "set": title,
        "ours": tuned.verdict.improvement,
        "knobs": tuned.program_improvement,
        "predicted": tuned.verdict.predicted_improvement,
        **by_chance,
        "compiles": tuned.compiles,
        "captured": tuned.captured,
        "chosen_compiles": tuned.random_compiles,
        "seconds": seconds,
        "took_s": round(took_s, 1),
        "commit": commit(),
    }


def _as_they_come(session: CompileSession, compiles: int, seed: int) -> float:
    """The best gain of the pass options and of random rules, with the default `compiles` in all."""
    numbers = range(compiles)
    candidates = [*pass_option_candidates(), *(random_rules(seed, number) for number in numbers)][
        : compiles - 1
    ]
    default = total(session.full(DEFAULT_OPTIONS))
    best = default
    for candidate in candidates:
        try:
            best = min(best, total(session.full(candidate.options)))
        except CompilerError as error:
            print(f"{candidate.title}: {error}", flush=True)
    return 1.0 - best / default


def _line(row: Row) -> str:
    shown = [key for key in (*WAYS, "knobs", "predicted") if key in row]
    gains = "  ".join(f"{key} {row[key]:+7.2%}" for key in shown)
    return f"{row['key'][0]:28} {gains}  ({row['compiles']} compiles, {row['took_s']:.0f} s)"
