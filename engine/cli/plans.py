"""`check`, `simulate` and `bound`: the judges of plans."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from engine.cli.arguments import add_command, add_program, load_valid_plan
from engine.cli.output import EXIT_VIOLATION, show, timing, timing_lines
from engine.errors import UsageError
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.io import load_plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
from engine.program.proof import is_optimal
from engine.program.provenance import has_compiled_plan
from engine.solvers import solve
from engine.solvers.registry import refuse_bad_budget


def add_parser(commands: Any) -> None:
    """Add the commands."""
    for name, run, about in (
        ("check", run_check, "apply the referee to a plan"),
        ("simulate", run_simulate, "time a plan"),
    ):
        parser = add_command(commands, name, run, about)
        add_program(parser)
        parser.add_argument("plan", type=Path, metavar="plan.json")
    parser = add_command(commands, "bound", run_bound, "a lower bound on every plan's latency")
    add_program(parser)
    parser.add_argument(
        "--method", default="lp", help="lp: linear program; mip: branch on its 0/1 variables too"
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--plan", type=Path, metavar="plan.json", help="with mip: a plan to be proven optimal"
    )


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
    refuse_bad_budget(options.seconds, 0)
    program = library.resolve(options.program)
    target_s = math.inf
    if options.method == "mip":
        target_s = _known_s(options, program)
    elif options.plan is not None:
        raise UsageError("bound: --plan needs --method mip")
    bound = lower_bound(program, options.seconds, options.method, target_s)
    body = {"bound_s": bound.bound_s, "method": bound.method, "seconds": bound.seconds}
    if options.method == "mip":
        body |= {"known_s": target_s, "is_optimal": is_optimal(target_s, bound.bound_s)}
    show(options, body, timing_lines(body))
    return 0


def _known_s(options: argparse.Namespace, program: Program) -> float:
    """Latency of the given plan, or of the best of XLA's, if there is one, and the greedy one."""
    if options.plan is not None:
        return simulate(*load_valid_plan(options)).latency_s
    names = ["greedy"] + ["xla_compiled"] * has_compiled_plan(program)
    return min(simulate(program, solve(name, program)).latency_s for name in names)
