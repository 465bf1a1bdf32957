"""`info`: what a program holds, and what its costs rest on."""

from __future__ import annotations

import argparse
from typing import Any

from engine.cli.arguments import add_command, add_program
from engine.cli.output import show_program
from engine.program import library


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "what a program holds, and what share of its savings was measured"
    add_program(add_command(commands, "info", run, about))


def run(options: argparse.Namespace) -> int:
    """Print the facts of a program."""
    show_program(options, library.resolve(options.program))
    return 0
