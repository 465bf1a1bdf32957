"""`import`: a program out of HLO dumps, or out of a table of buffers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from engine.cli.arguments import add_command, add_compiler_options
from engine.cli.output import show_program
from engine.errors import UsageError
from engine.hardware.presets import DEVICES
from engine.program.io import save


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "import", run, "turn HLO dumps or a CSV into a program")
    parser.add_argument("--slow", type=Path, metavar="HLO", help="dump with all in slow memory")
    parser.add_argument("--fast", type=Path, metavar="HLO", help="the default compile's dump")
    parser.add_argument(
        "--buffers", type=Path, metavar="TXT", help="its offsets; without them, ours"
    )
    parser.add_argument("--minimalloc", type=Path, metavar="CSV")
    parser.add_argument("--capacity", type=int, default=2**20, help="bytes, with --minimalloc")
    parser.add_argument("--hardware", metavar="NAME", help="the chip that the dumps are of")
    add_compiler_options(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="P", required=True)


def run(options: argparse.Namespace) -> int:
    """Import and save one program."""
    from engine.compiler.capture.importer import import_hlo
    from engine.compiler.toolchain.target import read_flags
    from engine.program.minimalloc import import_minimalloc

    if (options.slow is None) == (options.minimalloc is None):
        raise UsageError("import: name either --slow (an HLO dump) or --minimalloc (a CSV)")
    if options.slow is not None and options.hardware is None:
        raise UsageError(
            "import: say with --hardware which chip the dump is of, since it does not name it: "
            + ", ".join(DEVICES)
        )
    if options.minimalloc is not None:
        program = import_minimalloc(options.minimalloc, options.capacity)
    else:
        own = read_flags(options.compiler_options)
        program = import_hlo(options.slow, options.fast, options.hardware, options.buffers, own)
    save(program, options.output)
    show_program(options, program)
    return 0
