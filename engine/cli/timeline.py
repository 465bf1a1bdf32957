"""`timeline`: a plan's simulated timeline as a Chrome trace."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from engine.cli.arguments import add_command, add_output, add_program, load_valid_plan
from engine.cli.output import show
from engine.files import write_bytes


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "a plan's timeline as a Chrome trace, for Perfetto"
    parser = add_command(commands, "timeline", run, about)
    add_program(parser)
    parser.add_argument("plan", type=Path, metavar="plan.json")
    add_output(parser, "-o", "--output", required=True, metavar="trace.json")


def run(options: argparse.Namespace) -> int:
    """Write the trace of a valid plan."""
    from engine.analysis.chrome_trace import chrome_trace

    program, plan = load_valid_plan(options)
    trace = chrome_trace(program, plan)
    write_bytes(options.output, json.dumps(trace).encode())
    body = {"trace": str(options.output), "events": len(trace["traceEvents"])}
    show(options, body, [f"{body['events']} events in {body['trace']}; open it in Perfetto"])
    return 0
