"""`check`, `simulate` and `bound`: the judges of plans."""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

from engine.cli.arguments import add_command, add_program, load_valid_plan
from engine.cli.output import EXIT_VIOLATION, fact_lines, show, timing
from engine.errors import UsageError
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.io import load_plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
from engine.program.proof import is_optimal
from engine.program.provenance import has_compiled_plan
from engine.solvers import Budget, solve
from engine.solvers.registry import first_plan, refuse_bad_budget


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
        "--method",
        default="mip",
        help="lp: the linear program alone; mip: branch on its 0/1 variables too (the default)",
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="most of them (60)")
    parser.add_argument("--plan", type=Path, metavar="plan.json", help="to be proven optimal")


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
    show(options, body, fact_lines(body))
    return 0


def run_bound(options: argparse.Namespace) -> int:
    """Bound the latency of every plan from below."""
    refuse_bad_budget(options.seconds)
    begun = time.perf_counter()
    program = library.resolve(options.program)
    target_s = math.inf
    if options.method == "mip":
        target_s = _known_s(options, program)
    elif options.plan is not None:
        raise UsageError(f"bound: --plan is for --method mip, not for {options.method!r:.40}")
    left_s = max(0.0, options.seconds - (time.perf_counter() - begun))
    bound = lower_bound(program, left_s, options.method, target_s)
    body = {"bound_s": bound.bound_s, "method": bound.method, "seconds": bound.seconds}
    if options.method == "mip":
        body |= {"known_s": target_s, "is_optimal": is_optimal(target_s, bound.bound_s)}
    show(options, body, fact_lines(body))
    return 0


def _known_s(options: argparse.Namespace, program: Program) -> float:
    """Latency of the given plan, or of the best that is there at once, XLA's among them."""
    if options.plan is not None:
        return simulate(*load_valid_plan(options)).latency_s
    plans = [first_plan(program, Budget(options.seconds))]
    if has_compiled_plan(program):
        plans.append(solve("xla_compiled", program))
    return min(simulate(program, plan).latency_s for plan in plans)
