"""`solve`: find a plan."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from engine.cli.arguments import add_budget, add_command, add_output, add_program
from engine.cli.output import announcer, fact_lines, note, show, timing
from engine.errors import UsageError
from engine.plan.io import load_plan, save_plan
from engine.program import library
from engine.solvers import SOLVERS, Budget, solve

AGENT = "muzero"
AGENT_OPTIONS = [option.name for option in SOLVERS[AGENT].options or ()]
BEGIN_FROM = [s.name for s in SOLVERS.values() if "start" in [o.name for o in s.options or ()]]
TRACE_SUFFIX = ".npz"
STEERABLE = "steered"
"""The solver whose plans are the pass's own: whole lives, and copies that overlap with compute."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "solve", run, "find a plan")
    add_program(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--solver", default="portfolio", help=", ".join(SOLVERS))
    which.add_argument(
        "--steerable",
        dest="solver",
        action="store_const",
        const=STEERABLE,
        help="only plans that XLA's own pass can be steered to: those of the solver steered",
    )
    add_budget(parser)
    add_output(parser, "-o", "--output", replaces="start", metavar="plan.json")
    parser.add_argument(
        "--from",
        dest="start",
        type=Path,
        metavar="plan.json",
        help=f"a plan to begin from (only for the solvers {' and '.join(BEGIN_FROM)})",
    )
    agent = parser.add_argument_group(f"only for the solver {AGENT}")
    agent.add_argument("--checkpoint", metavar="FOLDER", help="weights to begin from, or 'scratch'")
    agent.add_argument(
        "--model", help="what the search grows its tree with: learned, simulator, policy"
    )
    agent.add_argument("--algorithm", help="of the search: gumbel or muzero")
    agent.add_argument("--simulations", type=int, help="per move")
    add_output(agent, "--trace", metavar="trace.npz", help="what the search saw")


def run(options: argparse.Namespace) -> int:
    """Solve one program and save its plan."""
    if options.trace is not None and options.trace.suffix != TRACE_SUFFIX:
        raise UsageError(f"solve: {options.trace}: the name of a trace ends in {TRACE_SUFFIX}")
    program = library.resolve(options.program)
    given = {n: getattr(options, n) for n in AGENT_OPTIONS if getattr(options, n) is not None}
    if given and options.solver != AGENT:
        raise UsageError(f"solve: --{min(given)} needs --solver {AGENT}")
    if options.start is not None:
        if options.solver not in BEGIN_FROM:
            raise UsageError(f"solve: --from needs --solver {' or '.join(BEGIN_FROM)}")
        given["start"] = load_plan(options.start)
    budget = Budget(options.seconds, options.seed, announcer(), given)
    plan = solve(options.solver, program, budget)
    if plan.solver != options.solver:
        why = plan.notes.get("ended_early", "it found nothing faster")
        note(f"{options.solver}: {why}; the plan is that of {plan.solver}")
    if options.output is not None:
        save_plan(plan, options.output)
    body = {
        **timing(program, plan),
        "solver": plan.solver,
        "seconds": plan.notes["seconds"],
        "plan": None if options.output is None else str(options.output),
    }
    show(options, body, fact_lines(body))
    return 0
