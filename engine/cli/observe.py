"""`observe` and `refit`: compile samples whose costs are not known, and fit what was seen."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from engine.cli.arguments import add_command, add_output
from engine.cli.capture import add_study
from engine.cli.output import complain, note, show
from engine.errors import FAILURES, UsageError
from engine.plan.model import Plan
from engine.program import library
from engine.program.io import save
from engine.program.library import SampleEntry
from engine.program.model import Program
from engine.workflows.capturing import COMPILES, at_least_one, compiles_folder, planners

Planner = Callable[[Program], Plan]


def add_parser(commands: Any) -> None:
    """Add the commands."""
    parser = add_command(
        commands, "observe", run_observe, "compile samples where their costs are not known yet"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="captured samples; else all")
    add_study(parser)
    parser = add_command(
        commands,
        "refit",
        run_refit,
        "fit costs to what was observed, and say how well they predict",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="observed samples; else all")
    add_output(parser, "-o", "--output", is_folder=True, metavar="FOLDER", help="for the programs")
    parser.add_argument(
        "--keep", action="store_true", help="put them in place of the samples; best plans stay"
    )


def run_observe(options: argparse.Namespace) -> int:
    """Observe each program; what is known already is not compiled again.

    Of several, one that cannot be compiled is noted on stderr and passed over.
    """
    entries = [*map(library.find_sample, options.names or quick_first(captured_names()))]
    compiles = COMPILES if options.compiles is None else at_least_one(options.compiles)
    solving = planners(options.solvers, options.seconds)
    raw = compiles_folder() if options.raw is None else options.raw
    rows = []
    for entry in entries:
        try:
            count = _observe(entry, raw, solving, compiles)
        except FAILURES as error:
            if len(entries) == 1:
                raise
            note(f"{entry.name}: {error}")
            continue
        rows.append({"program": entry.name, "compiles": count})
    lines = [f"{row['program']}: {row['compiles']} compiles known" for row in rows]
    show(options, {"programs": rows}, lines)
    if not rows:
        return complain(f"observe: none of {len(entries)} programs could be compiled")
    return 0


def run_refit(options: argparse.Namespace) -> int:
    """Predict each placement by the others; write the refitted programs where asked."""
    from engine.compiler.costs.observations import observations_path

    rows, lines = [], []
    entries = [*map(library.find_sample, options.names or observed_names())]
    for entry in entries:
        if not observations_path(entry.name, entry.folder).exists():
            raise UsageError(f"{entry.name}: nothing was observed; mallocmuzero observe does it")
    for entry in entries:
        errors = _refit(entry, options)
        rows.append({"program": entry.name, "errors": errors})
        lines += _error_lines(entry.name, errors)
    show(options, {"programs": rows}, lines)
    return 0


def captured_names() -> list[str]:
    """The samples that the real compiler made, in the order of the index."""
    names = library.sample_names()
    return [n for n in names if library.find_sample(n).xla_latency_s is not None]


def quick_first(names: Sequence[str]) -> list[str]:
    """The programs of fewest instructions first: they compile fastest."""
    return sorted(names, key=lambda name: library.find_sample(name).instructions)


def observed_names() -> list[str]:
    """The samples whose compiles are kept."""
    from engine.compiler.costs.observations import observations_path

    return [name for name in captured_names() if observations_path(name).exists()]


def _refit(entry: SampleEntry, options: argparse.Namespace) -> dict[str, float]:
    """The relative error of each placement's prediction by the others; writes where asked."""
    from engine.compiler.costs.observations import load_observations, observations_path
    from engine.compiler.costs.refit import refitted
    from engine.compiler.costs.trust import left_out
    from engine.workflows.catalogue import recost

    program = library.load_entry(entry)
    observations = load_observations(observations_path(entry.name, entry.folder), program)
    errors = {one.compile.name: one.error for one in left_out(program, observations)}
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        save(refitted(program, observations), options.output / f"{entry.name}.json.gz")
    if options.keep:
        recost(entry, refitted(program, observations))
    return errors


def _error_lines(name: str, errors: Mapping[str, float]) -> list[str]:
    sizes = [abs(error) for error in errors.values()]
    return [
        *(f"{name} without {other}: {error:+.2%}" for other, error in errors.items()),
        f"{name}: {len(errors)} placements, each predicted by the others:"
        f" error median {median(sizes):.2%}, worst {max(sizes):.2%}",
    ]


def _observe(entry: SampleEntry, raw: Path, solving: Sequence[Planner], compiles: int) -> int:
    """How many compiles are known of one program afterwards."""
    from engine.compiler.capture.capture import ANSWERS
    from engine.compiler.capture.study import Study, begun
    from engine.compiler.costs.observations import (
        keep_observations,
        load_observations,
        observations_path,
    )
    from engine.compiler.reading.own_compile import stored_answers

    program = library.load_entry(entry)
    path = observations_path(program.name, entry.folder)
    answers = stored_answers(program, raw / ANSWERS, note=note)
    imported, observations = begun(program, answers)
    if path.exists():
        known = load_observations(path, program)
        # Another version of the compiler says something else: then all begins anew.
        if known.versions == observations.versions:
            observations = known
    study = Study(
        imported,
        answers,
        observations,
        solving,
        note,
        lambda now: keep_observations(now, path, program),
    )
    return len(study.run(compiles).compiles)
