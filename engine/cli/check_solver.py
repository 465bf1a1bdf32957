"""`check-solver`: whether a solver keeps to what every solver must."""

from __future__ import annotations

import argparse
from typing import Any

from engine.cli.arguments import add_command
from engine.cli.output import EXIT_VIOLATION, note, show


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "try a solver, of this or another package: what every solver must keep to"
    parser = add_command(commands, "check-solver", run, about)
    parser.add_argument("name", metavar="NAME", help="as `solve --solver` takes it")
    parser.add_argument("--seconds", type=float, default=3.0, help="of the runs that are measured")


def run(options: argparse.Namespace) -> int:
    """Try one solver; the exit code says whether it broke a rule."""
    from engine.workflows.solver_contract import RULES, tried

    findings = []
    for finding in tried(options.name, options.seconds):
        findings.append(finding)
        note(f"{finding.rule}: {finding.program}")
    rules = {
        rule: {
            "programs": sum(f.rule == rule for f in findings),
            "broken": {f.program: f.broken for f in findings if f.rule == rule and f.broken},
        }
        for rule in RULES
    }
    broken = [f for f in findings if f.broken]
    lines = [
        f"{'broken' if facts['broken'] else 'kept':6}  {rule} (programs: {facts['programs']})"
        for rule, facts in rules.items()
    ]
    lines += [f"{f.rule}, {f.program}: {f.broken}" for f in broken]
    show(options, {"solver": options.name, "keeps": not broken, "rules": rules}, lines)
    return EXIT_VIOLATION if broken else 0
