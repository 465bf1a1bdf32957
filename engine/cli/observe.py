"""`observe` and `refit`: compile samples whose costs are not known, and fit what was seen."""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from typing import Any

from engine.cli.arguments import add_command
from engine.cli.output import note, show
from engine.program import library
from engine.program.io import save
from engine.program.model import Program


def add_parser(commands: Any) -> None:
    """Add the commands."""
    parser = add_command(
        commands, "observe", run_observe, "compile samples where their costs are not known yet"
    )
    parser.add_argument("names", nargs="+", metavar="NAME", help="a captured sample")
    parser.add_argument("--compiles", type=int, default=12, help="whole compiles at most")
    parser.add_argument("--solver", default="greedy", help="whose plans are compiled")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each plan")
    parser.add_argument("--raw", type=Path, default=Path(".capture"), help="where answers are kept")
    parser = add_command(
        commands,
        "refit",
        run_refit,
        "fit costs to what was observed, and say how well they foretell",
    )
    parser.add_argument("names", nargs="+", metavar="NAME", help="an observed sample")
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="for the programs")


def run_observe(options: argparse.Namespace) -> int:
    """Observe each program; what is known already is not compiled again."""
    for name in options.names:
        count = _observe(library.load_sample(name), options)
        show(options, {"program": name, "compiles": count}, [f"{name}: {count} compiles known"])
    return 0


def run_refit(options: argparse.Namespace) -> int:
    """Foretell each placement by the others; write the refitted programs where asked."""
    from engine.compiler.observations import load_observations, observations_path
    from engine.compiler.refit import left_out, refitted

    for name in options.names:
        program = library.load_sample(name)
        found = load_observations(observations_path(name), program)
        errors = {one.compile.name: one.error for one in left_out(program, found)}
        sizes = [abs(error) for error in errors.values()]
        text = [f"{name} without {other}: {error:+.2%}" for other, error in errors.items()]
        text.append(
            f"{name}: {len(found.compiles)} compiles, {len(errors)} placements, each foretold by"
            f" the others: error median {median(sizes):.2%}, worst {max(sizes):.2%}"
        )
        show(options, {"program": name, "errors": errors}, text)
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            save(refitted(program, found), options.output / f"{name}.json.gz")
    return 0


def _observe(program: Program, options: argparse.Namespace) -> int:
    """How many compiles are known of one program afterwards."""
    from engine.compiler.answers import Answers
    from engine.compiler.observations import (
        load_observations,
        observations_path,
        save_observations,
    )
    from engine.compiler.own_compile import stored_stablehlo
    from engine.compiler.study import Study, begun
    from engine.solvers import Budget, solve

    path = observations_path(program.name)
    folder = options.raw / program.name / "answers"
    answers = Answers(stored_stablehlo(program), program.hardware.name, folder)
    imported, found = begun(program, answers)
    if path.exists():
        found = load_observations(path, program)
    study = Study(
        imported,
        answers,
        found,
        lambda costed: solve(options.solver, costed, Budget(seconds=options.seconds)),
        note,
        lambda now: save_observations(now, path),
    )
    return len(study.run(options.compiles).compiles)
