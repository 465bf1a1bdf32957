"""`analyse`: what a search trace says of the agent."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from engine.cli.arguments import add_command, add_program
from engine.cli.output import show
from engine.errors import CheckpointError
from engine.program import library


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "what a search trace says of the agent: calibration, drift, surprises, regrets"
    parser = add_command(commands, "analyse", run, about)
    add_program(parser)
    parser.add_argument("trace", type=Path, metavar="trace.npz", help="of solve --trace")
    parser.add_argument("--seconds", type=float, default=10.0, help="to look for regrets")


def run(options: argparse.Namespace) -> int:
    """Report on one traced game."""
    from engine.agent.trace_io import load_trace
    from engine.analysis.play_report import in_words, report
    from engine.analysis.regret import study_of
    from engine.analysis.traced_game import traced_game

    program, trace = library.resolve(options.program), load_trace(options.trace)
    game = traced_game(program, trace)
    if game is None:
        raise CheckpointError(
            f"{options.trace}: it is not a game of {program.name} as it is here;"
            f" name {trace.program}, or trace anew"
        )
    body = report(trace, study_of(trace, program, game.rules), seconds=options.seconds)
    show(options, body, in_words(body))
    return 0
