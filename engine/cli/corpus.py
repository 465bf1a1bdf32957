"""`corpus`: random networks, compiled for the training of the agent."""

from __future__ import annotations

import argparse
from typing import Any

from engine.cli.arguments import add_command, add_output
from engine.cli.output import note, show
from engine.folders import cache_folder
from engine.workflows.capturing import COMPILES_CACHE
from engine.workflows.corpus import FOLDER, make_corpus


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "random networks, compiled by the real compiler, to train the agent on; resumable"
    parser = add_command(commands, "corpus", run, about)
    parser.add_argument("--count", type=int, default=300, help="how many networks")
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="of the first one")
    add_output(parser, "--folder", is_folder=True, default=FOLDER)
    add_output(
        parser,
        "--raw",
        is_folder=True,
        default=cache_folder(COMPILES_CACHE),
        metavar="FOLDER",
        help="where compile results are kept, so that nothing is compiled twice",
    )


def run(options: argparse.Namespace) -> int:
    """Capture what is missing."""
    made = make_corpus(options.count, options.first, options.folder, options.raw, note)
    body = {"folder": str(options.folder), "networks": options.count, "programs": made}
    show(options, body, [f"{made} of {options.count} networks are programs in {options.folder}"])
    return 0
