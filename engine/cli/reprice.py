"""`reprice`: measured times of the user's for what the compiler does not estimate."""

from __future__ import annotations

import argparse
from typing import Any

from engine.cli.arguments import add_command, add_output, add_profile, add_program, profile_of
from engine.cli.output import show_program, with_profile
from engine.program import library
from engine.program.io import save


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "give a program measured times for what the compiler does not estimate"
    parser = add_command(commands, "reprice", run, about)
    add_program(parser)
    add_profile(parser, is_required=True)
    add_output(parser, "-o", "--output", replaces="program", metavar="Q", required=True)


def run(options: argparse.Namespace) -> int:
    """Save the program with its new prices."""
    program = with_profile(library.resolve(options.program), profile_of(options))
    save(program, options.output)
    show_program(options, program)
    return 0
