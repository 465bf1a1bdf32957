"""`corpus`: random networks, compiled for the training of the agent."""

from __future__ import annotations

import argparse
from typing import Any

from engine.cli.arguments import add_command, add_output, add_raw
from engine.cli.output import note, show
from engine.workflows.capturing import compiles_folder
from engine.workflows.corpus import FOLDER, make_corpus


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "random networks, compiled by the real compiler, to train the agent on; resumable"
    parser = add_command(commands, "corpus", run, about)
    parser.add_argument("--count", type=int, default=300, help="how many networks")
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="of the first one")
    add_output(parser, "--folder", is_folder=True, default=FOLDER)
    add_raw(parser)


def run(options: argparse.Namespace) -> int:
    """Capture what is missing."""
    from engine.compiler.toolchain.libtpu import use_cpu_here

    use_cpu_here()
    raw = compiles_folder() if options.raw is None else options.raw
    made = make_corpus(options.count, options.first, options.folder, raw, note)
    body = {"folder": str(options.folder), "networks": options.count, "programs": made}
    show(options, body, [f"{made} of {options.count} networks are programs in {options.folder}"])
    return 0
