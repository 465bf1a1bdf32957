"""`compare` and `bench`: several solvers side by side, on one program or on many."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from engine.cli.arguments import add_budget, add_command, add_program, add_solvers
from engine.cli.output import complain, note, show
from engine.errors import EngineError, UsageError
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
    parser.add_argument("--programs", help="comma-separated; default: all samples")
    add_solvers(parser)
    add_budget(parser)
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="run them on a Ray cluster: HOST:PORT, auto (this machine's), or local (this machine)",
    )
    parser.add_argument("--cores", type=int, help="of each program, with --ray; default: 1")


def run_compare(options: argparse.Namespace) -> int:
    """Compare solvers on one program."""
    body = _compared(options.program, options)
    show(options, body, _lines(body))
    return 0


def run_bench(options: argparse.Namespace) -> int:
    """Compare solvers on several programs, one after another, or all at once on a cluster."""
    if options.cores is not None and options.ray is None:
        raise UsageError("--cores is for --ray; name a cluster, or leave it out")
    names = options.programs.split(",") if options.programs else library.sample_names()
    programs, failed = [], []
    for name, body in (_one_by_one if options.ray is None else _on_cluster)(names, options):
        if isinstance(body, EngineError):
            failed.append(f"{name}: {body}")
        else:
            programs.append(body)
    lines = [line for body in programs for line in [*_lines(body), ""]]
    show(options, {"programs": programs}, lines)
    return complain("; ".join(failed)) if failed else 0


def _compared(name: str, options: argparse.Namespace) -> dict[str, Any]:
    from engine.workflows.compare import compare

    return compare(library.resolve(name), _solvers(options), _budget(options))


Comparisons = Iterable[tuple[str, dict[str, Any] | EngineError]]


def _one_by_one(names: Sequence[str], options: argparse.Namespace) -> Comparisons:
    for name in names:
        note(f"{name} …")
        yield name, _compared(name, options)


def _on_cluster(names: Sequence[str], options: argparse.Namespace) -> Comparisons:
    """The results in the order of `names`; a line on stderr as each program is done."""
    from engine.workflows.cluster import compare_on_cluster

    programs = [library.resolve(name) for name in names]
    done = {}
    for number, body in compare_on_cluster(
        programs,
        _solvers(options),
        _budget(options),
        options.ray,
        1 if options.cores is None else options.cores,
    ):
        done[number] = body
        note(f"{names[number]}: {len(done)} of {len(names)} done")
    return [(name, done[number]) for number, name in enumerate(names)]


def _solvers(options: argparse.Namespace) -> list[str] | None:
    return options.solvers.split(",") if options.solvers else None


def _budget(options: argparse.Namespace) -> Budget:
    return Budget(options.seconds, options.seed)


def _lines(body: dict[str, Any]) -> list[str]:
    lines = [f"{body['program']}: bound {body['bound_s'] * 1e6:.3f} us"]
    if body["warning"] is not None:
        lines.append(f"  warning: {body['warning']}")
    for row in body["results"]:
        if row["latency_s"] is None:
            lines.append(f"  {row['solver']:14} {row['violation']}")
            continue
        share = gap(row["latency_s"], body["bound_s"])
        above = "-" if share is None else f"{share:+.2%}"
        lines.append(
            f"  {row['solver']:14} {row['latency_s'] * 1e6:14.3f} us  {above:>8} over the bound"
            f"  ({row['seconds']:.2f} s)"
        )
    return lines
