"""The section `exported`: plans of several solvers, compiled whole, beside what was predicted.

The plans come from today's costs, and the compiles enter no fit. Of each plan's exports, in every
order, that one is compiled whose placements, by early stops, are predicted to run fastest, as
`verify` does; a plan of `steered` has an order of its own beside them. Compiled and predicted
totals are cycles with loops multiplied out and stalls. A placement that the program's costs were
fitted to all the same says so in its row, and counts apart. Rows go to
`docs/results/exported.json` as soon as they are measured; what the compiler answered is kept in the
user's cache.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from statistics import mean

from benchmarks import failures
from benchmarks.fidelity import summary
from benchmarks.rows import (
    RESULTS,
    RULES,
    SETS,
    Row,
    commit,
    dependencies,
    is_measured,
    put,
    read,
    set_of,
)
from benchmarks.settings import Settings
from engine.compiler.costs.observations import load_observations, observations_path
from engine.compiler.reading.own_compile import stored_answers
from engine.compiler.steering.export import exports
from engine.compiler.steering.outcome import Outcome, compile_session
from engine.compiler.steering.tune import total
from engine.compiler.steering.verify import best_export
from engine.compiler.toolchain.results import DEFAULT_OPTIONS
from engine.errors import EngineError, PlanError
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.library import SampleEntry
from engine.program.model import Program
from engine.solvers import Budget, solve
from engine.workflows.capturing import answers_folder

ROWS = RESULTS / "exported.json"
SOLVERS = ("local", "steered", "evolution", "muzero", "greedy")
SECONDS = 10.0


def run(section: str, settings: Settings) -> None:
    """Compile the plans that have no row yet; print the errors and what they come to."""
    del section
    names = settings.programs or tuple(row["key"][0] for row in read(RESULTS / "tuning.json"))
    seconds = settings.seconds or SECONDS
    for name, solver in itertools.product(names, settings.solvers or SOLVERS):
        key = [name, solver, seconds, settings.seed]
        if not is_measured(ROWS, key):
            try:
                measured = _measured(name, solver, Budget(seconds, settings.seed))
            except PlanError as error:
                print(f"{name} {solver}: {error}", flush=True)
                continue
            except EngineError as error:
                failures.tell(f"{name} {solver}", error)
                continue
            row = {"key": key, **dependencies("exported", name), **measured}
            put(ROWS, row)
            print(_line(row), flush=True)
    print("\n".join(lines_of(read(ROWS))))


def lines_of(rows: Sequence[Row]) -> list[str]:
    """The lines printed at the end: the predictions' errors, then the gains by solver.

    Errors are per set, of placements that no fit has seen and of the others apart.
    """
    lines = []
    for was_fitted, words in ((False, "seen by no fit"), (True, "among those fitted to")):
        for title in SETS:
            some = [r for r in rows if r["was_fitted"] is was_fitted and r["set"] == title]
            if some:
                programs = {row["key"][0] for row in some}
                errors = summary([row["error"] for row in some])
                lines.append(
                    f"{title}, {words}: {len(some)} plans of {len(programs)} programs, {errors}"
                )
    return [*lines, *_by_solver(rows)]


def _by_solver(rows: Sequence[Row]) -> list[str]:
    """A line per set and solver: mean gains over the default as planned, placed and compiled."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if "planned_gain" in row:
            groups.setdefault((row["set"], row["key"][1]), []).append(row)
    lines = []
    for (title, solver), some in groups.items():
        planned, placed, compiled = (
            mean(row[name] for row in some) for name in ("planned_gain", "predicted_gain", "gain")
        )
        lines.append(
            f"{title}, {solver}: {len(some)} plans, below the default by {planned:.1%} as planned"
            f" (simulated), {placed:.1%} as placed (simulated), {compiled:.1%} compiled"
        )
    return lines


def _measured(name: str, solver: str, budget: Budget) -> Row:
    """What a row says of a plan. Raises PlanError where there is nothing to steer to.

    Raises CompilerError where nothing can be compiled.
    """
    entry = library.find_sample(name)
    program = library.load_entry(entry)
    plan = solve(solver, program, budget)
    answers = stored_answers(program, answers_folder())
    session = compile_session(program, answers)
    default = session.full(DEFAULT_OPTIONS)
    best = best_export(session, exports(program, plan), lambda _: None)
    outcome = session.full(best.options)
    planned = simulate(program, plan).latency_s * program.hardware.clock_hz
    return {
        "set": set_of(name),
        RULES: plan.notes.get("rules"),
        "was_fitted": _was_fitted(entry, program, outcome),
        "error": float(f"{_predicted(program, outcome) / total(outcome) - 1.0:.6g}"),
        "gain": 1.0 - total(outcome) / total(default),
        "planned_gain": 1.0 - planned / _predicted(program, default),
        "predicted_gain": 1.0 - _predicted(program, outcome) / _predicted(program, default),
        "commit": commit(),
    }


def _predicted(program: Program, outcome: Outcome) -> float:
    return outcome.predicted.latency_s * program.hardware.clock_hz


def _was_fitted(entry: SampleEntry, program: Program, outcome: Outcome) -> bool:
    observations = load_observations(observations_path(entry.name, entry.folder), program)
    own = outcome.observation.is_fast
    return any((one.seen.is_fast == own).all() for one in observations.compiles)


def _line(row: Row) -> str:
    name, solver, seconds, _ = row["key"]
    fitted = "  (fitted to)" if row["was_fitted"] else ""
    return (
        f"{name:24} {solver:10} {seconds:3.0f} s  {row['error']:+7.2%} of the compiled total;"
        f" gain {row['gain']:+7.2%}, predicted {row['predicted_gain']:+7.2%}{fitted}"
    )
