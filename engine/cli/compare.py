"""`compare` and `bench`: several solvers side by side, on one program or on many."""

from __future__ import annotations

import argparse
from typing import Any

from engine.cli.arguments import (
    add_budget,
    add_command,
    add_output,
    add_program,
    add_solvers,
    names,
)
from engine.cli.output import announcer, complain, note, show
from engine.errors import UsageError
from engine.program import library
from engine.program.proof import gap
from engine.solvers import Budget


def add_parser(commands: Any) -> None:
    """Add the commands."""
    parser = add_command(commands, "compare", run_compare, "several solvers on one program")
    add_program(parser)
    add_solvers(parser)
    add_budget(parser)
    parser = add_command(commands, "bench", run_bench, "several solvers on several programs")
    parser.add_argument("--programs", type=names, help="comma-separated; default: all samples")
    add_solvers(parser)
    add_budget(parser)
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="run them on a Ray cluster: HOST:PORT, auto (this machine's), or local (this machine)",
    )
    parser.add_argument("--cores", type=int, help="of each program, with --ray; default: 1")
    add_output(
        parser,
        "-o",
        "--output",
        metavar="results.json",
        help="keep each program's results at once; an interrupted run goes on from there",
    )


def run_compare(options: argparse.Namespace) -> int:
    """Compare solvers on one program."""
    from engine.workflows.compare import compare

    program = library.resolve(options.program)
    body = compare(program, options.solvers, _budget(options))
    show(options, body, _lines(body))
    _warn(body)
    return 0


def run_bench(options: argparse.Namespace) -> int:
    """Compare solvers on several programs, one after another, or all at once on a cluster."""
    from engine.workflows.bench import Bench

    if options.cores is not None and options.ray is None:
        raise UsageError("--cores is for --ray; name a cluster, or leave it out")
    asked = library.sample_names() if options.programs is None else options.programs
    asked = list(dict.fromkeys(asked))
    bench = Bench(options.solvers, _budget(options), options.output)
    if options.ray is None:
        compared = bench.one_by_one(asked)
    else:
        cores = 1 if options.cores is None else options.cores
        compared = bench.on_cluster(asked, options.ray, cores)
    done: dict[str, dict[str, Any]] = {}
    try:
        for name, body in compared:
            done[name] = body
            note(f"{name}: {len(done)} of {len(asked)} done")
            if not options.json:
                show(options, body, [*_lines(body), ""])
            _warn(body)
    finally:
        # What is done is worth having, also where the user has had enough.
        if options.json and done:
            show(options, {"programs": [done[name] for name in asked if name in done]}, [])
    lost = [f"{name}: {body['error']}" for name, body in done.items() if body["error"]]
    return complain("; ".join(lost)) if lost else 0


def _warn(body: dict[str, Any]) -> None:
    """Say on stderr what the percentages rest on; results of before there were prices do not."""
    if body.get("unestimated"):
        note(f"warning: {body['program']}: {body['unestimated']}")


def _budget(options: argparse.Namespace) -> Budget:
    return Budget(options.seconds, options.seed, announcer())


def _lines(body: dict[str, Any]) -> list[str]:
    if body["error"] is not None:
        return [f"{body['program']}: {body['error']}"]
    lines = [f"{body['program']}: bound {body['bound_s'] * 1e6:.3f} us"]
    if body["warning"] is not None:
        lines.append(f"  warning: {body['warning']}")
    for row in body["results"]:
        if row["latency_s"] is None:
            lines.append(f"  {row['solver']:14} {row['violation']}")
            continue
        share = gap(row["latency_s"], body["bound_s"])
        above = "-" if share is None else f"{share:+.2%}"
        other = "" if row["found_by"] == row["solver"] else f", found by {row['found_by']}"
        lines.append(
            f"  {row['solver']:14} {row['latency_s'] * 1e6:14.3f} us  {above:>8} over the bound"
            f"  ({row['seconds']:.2f} s{other})"
        )
    return lines
