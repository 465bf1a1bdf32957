"""`import`: a program out of HLO dumps, or out of a table of buffers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from engine.cli.arguments import (
    add_command,
    add_compiler_options,
    add_counts,
    add_output,
    add_profile,
    counts_of,
    filled,
    profile_of,
    refuse_given,
)
from engine.cli.output import show_program, with_profile
from engine.errors import UsageError
from engine.hardware.presets import DEVICES
from engine.program.io import save
from engine.program.model import Program

_CAPACITY = 2**20
_OF_DUMPS = (
    "fast",
    "buffers",
    "hardware",
    "topology",
    "compiler_options",
    "scoped_kib",
    "trip_count",
    "branch",
    "profile",
    "profile_program",
)


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "import", run, "turn HLO dumps or a CSV into a program")
    parser.add_argument("--slow", type=Path, metavar="HLO", help="dump with all in slow memory")
    parser.add_argument("--fast", type=Path, metavar="HLO", help="the default compile's dump")
    parser.add_argument(
        "--buffers", type=Path, metavar="TXT", help="its offsets; without them, ours"
    )
    parser.add_argument(
        "--scoped-kib",
        type=int,
        metavar="N",
        help="xla_tpu_scoped_vmem_limit_kib that they were compiled with, where it was set",
    )
    parser.add_argument("--minimalloc", type=Path, metavar="CSV")
    parser.add_argument(
        "--capacity", type=int, help=f"bytes, with --minimalloc; default: {_CAPACITY}"
    )
    parser.add_argument("--hardware", metavar="NAME", help="the chip that the dumps are of")
    parser.add_argument(
        "--topology",
        type=filled,
        metavar="NAME|CHIPS",
        help="of a program of a mesh: v5e:4x4, 4x4 or 16; default: the smallest large enough",
    )
    add_compiler_options(parser)
    add_counts(parser)
    add_profile(parser)
    add_output(parser, "-o", "--output", metavar="P", required=True)


def run(options: argparse.Namespace) -> int:
    """Import and save one program."""
    from engine.compiler.capture.importer import import_hlo
    from engine.compiler.toolchain.target import SCOPED_LIMIT, read_flags
    from engine.program.minimalloc import import_minimalloc

    if (options.slow is None) == (options.minimalloc is None):
        raise UsageError("import: name either --slow (an HLO dump) or --minimalloc (a CSV)")
    if options.minimalloc is not None:
        dumps = {name: getattr(options, name) for name in _OF_DUMPS}
        refuse_given("import", "is for HLO dumps; leave it out with --minimalloc", **dumps)
        capacity = _CAPACITY if options.capacity is None else options.capacity
        return _finish(options, import_minimalloc(options.minimalloc, capacity))
    refuse_given("import", "is for --minimalloc; leave it out", capacity=options.capacity)
    if options.hardware is None:
        raise UsageError(
            "import: say with --hardware which chip the dump is of, since it does not name it: "
            + ", ".join(DEVICES)
        )
    own = read_flags(options.compiler_options)
    if options.scoped_kib is not None:
        if own.get(SCOPED_LIMIT, str(options.scoped_kib)) != str(options.scoped_kib):
            raise UsageError(f"import: --scoped-kib and {SCOPED_LIMIT} differ; give one of them")
        own[SCOPED_LIMIT] = str(options.scoped_kib)
    program = import_hlo(
        options.slow,
        options.fast,
        options.hardware,
        options.buffers,
        own,
        counts_of(options),
        options.topology or "",
    )
    return _finish(options, program)


def _finish(options: argparse.Namespace, program: Program) -> int:
    program = with_profile(program, profile_of(options))
    save(program, options.output)
    show_program(options, program)
    return 0
