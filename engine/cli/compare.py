"""`compare` and `bench`: several solvers side by side, on one program or on many."""

from __future__ import annotations

import argparse
from typing import Any

from engine.cli.arguments import add_budget, add_command, add_program, add_solvers
from engine.cli.output import note, show
from engine.program import library
from engine.solvers import Budget


def add_parser(commands: Any) -> None:
    """Add the commands."""
    parser = add_command(commands, "compare", run_compare, "several solvers on one program")
    add_program(parser)
    add_solvers(parser)
    add_budget(parser)
    parser = add_command(commands, "bench", run_bench, "several solvers on several programs")
    parser.add_argument("--programs", help="comma-separated; default: all samples")
    add_solvers(parser)
    add_budget(parser)


def run_compare(options: argparse.Namespace) -> int:
    """Compare solvers on one program."""
    body = _compared(options.program, options)
    show(options, body, _lines(body))
    return 0


def run_bench(options: argparse.Namespace) -> int:
    """Compare solvers on several programs, one after another."""
    names = options.programs.split(",") if options.programs else library.sample_names()
    programs = []
    for name in names:
        note(f"{name} …")
        programs.append(_compared(name, options))
    lines = [line for body in programs for line in [*_lines(body), ""]]
    show(options, {"programs": programs}, lines)
    return 0


def _compared(name: str, options: argparse.Namespace) -> dict[str, Any]:
    from engine.analysis.compare import compare

    program = library.resolve(name)
    solvers = options.solvers.split(",") if options.solvers else None
    return compare(program, solvers, Budget(options.seconds, options.seed))


def _lines(body: dict[str, Any]) -> list[str]:
    lines = [f"{body['program']}: bound {body['bound_s'] * 1e6:.3f} us"]
    if body["warning"] is not None:
        lines.append(f"  warning: {body['warning']}")
    for row in body["results"]:
        if row["latency_s"] is None:
            lines.append(f"  {row['solver']:14} {row['violation']}")
            continue
        above = row["latency_s"] / body["bound_s"] - 1 if body["bound_s"] > 0 else 0.0
        lines.append(
            f"  {row['solver']:14} {row['latency_s'] * 1e6:14.3f} us  {above:+8.2%} over the bound"
            f"  ({row['seconds']:.2f} s)"
        )
    return lines
