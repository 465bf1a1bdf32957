"""`check`, `simulate` and `bound`: the judges of plans."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from engine.cli.arguments import add_command, add_program, load_valid_plan
from engine.cli.output import EXIT_VIOLATION, show, timing, timing_lines
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.io import load_plan
from engine.program import library


def add_parser(commands: Any) -> None:
    """Add the commands."""
    for name, run, about in (
        ("check", run_check, "apply the referee to a plan"),
        ("simulate", run_simulate, "time a plan"),
    ):
        parser = add_command(commands, name, run, about)
        add_program(parser)
        parser.add_argument("plan", type=Path, metavar="plan.json")
    add_program(add_command(commands, "bound", run_bound, "a lower bound on every plan's latency"))


def run_check(options: argparse.Namespace) -> int:
    """Say whether a plan is valid, or which rule it breaks first."""
    violation = check(library.resolve(options.program), load_plan(options.plan))
    if violation is None:
        show(options, {"valid": True, "violation": None}, ["valid"])
        return 0
    body = {"valid": False, "violation": violation.rule, "message": violation.message}
    show(options, body, [f"{violation.rule}: {violation.message}"])
    return EXIT_VIOLATION


def run_simulate(options: argparse.Namespace) -> int:
    """Time a plan, if it is valid."""
    program, plan = load_valid_plan(options)
    body = timing(program, plan)
    show(options, body, timing_lines(body))
    return 0


def run_bound(options: argparse.Namespace) -> int:
    """Bound the latency of every plan from below."""
    bound = lower_bound(library.resolve(options.program))
    body = {"bound_s": bound.bound_s, "method": bound.method, "seconds": bound.seconds}
    show(options, body, timing_lines(body))
    return 0
