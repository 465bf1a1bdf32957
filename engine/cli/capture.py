"""`capture`: compile a model, or a program of the user's, with the real compiler."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.arguments import add_command, refuse_missing_folder
from engine.cli.output import note, show, show_program
from engine.errors import UsageError
from engine.files import read_bytes
from engine.program import library
from engine.program.io import save
from engine.program.model import Program
from engine.workflows.capturing import COMPILES, RAW_FOLDER, SECONDS, SOLVERS, capturing

if TYPE_CHECKING:
    from engine.compiler.capture.capture import Capturing


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "capture", run, "compile a model with the real compiler")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a model of the zoo")
    parser.add_argument(
        "--stablehlo", type=Path, metavar="FILE", help="instead: a program that jax.export wrote"
    )
    parser.add_argument("--all", action="store_true", help="every sample program, resumable")
    parser.add_argument("--held-out", action="store_true", help="every held-out one, resumable")
    parser.add_argument("--large", action="store_true", help="every large one, resumable")
    parser.add_argument("--offline", action="store_true", help="with these three: compile nothing")
    parser.add_argument("--hardware", default="tpu-v5e")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--train", action="store_true", help="a training step")
    add_study(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="P")


def add_study(parser: argparse.ArgumentParser) -> None:
    """Options of commands that compile until a program's costs are known."""
    parser.add_argument("--compiles", type=int, default=COMPILES, help="whole compiles at most")
    parser.add_argument(
        "--solvers", default=SOLVERS, metavar="A,B", help="whose plans are compiled, in turn"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each plan")
    parser.add_argument("--raw", type=Path, default=RAW_FOLDER, help="where answers are kept")


def run(options: argparse.Namespace) -> int:
    """Capture one model, or all of a kind."""
    from engine.compiler.capture.capture import capture_all
    from engine.compiler.capture.samples import HELD_OUT, LARGE, SAMPLES
    from engine.workflows.catalogue import write_catalogue

    how = capturing(
        options.solvers, options.seconds, options.raw, options.compiles, options.offline, note
    )
    kinds = (
        (options.all, SAMPLES, library.SAMPLES_FOLDER),
        (options.held_out, HELD_OUT, library.SAMPLES_FOLDER / library.HELD_OUT),
        (options.large, LARGE, library.SAMPLES_FOLDER / library.LARGE),
    )
    for is_wanted, samples, folder in kinds:
        if is_wanted:
            names = capture_all(how, samples, folder)
            kept = [s.name for s in samples if (folder / f"{s.name}.json.gz").exists()]
            write_catalogue(folder, kept, note)
            show(options, {"programs": names}, names)
            return 0
    if (options.model is None) == (options.stablehlo is None) or options.output is None:
        raise UsageError(
            "capture: name a MODEL or a --stablehlo FILE, and an output with -o,"
            " or use --all, --held-out or --large"
        )
    refuse_missing_folder(options.output)
    program = _captured(options, how)
    save(program, options.output)
    show_program(options, program)
    return 0


def _captured(options: argparse.Namespace, how: Capturing) -> Program:
    from engine.compiler.capture.capture import Source, capture_sample, capture_stablehlo
    from engine.compiler.capture.samples import Sample
    from engine.compiler.toolchain.compile import MAX_SOURCE_BYTES

    if options.stablehlo is not None:
        stablehlo = read_bytes(options.stablehlo, MAX_SOURCE_BYTES)
        name = options.stablehlo.name.split(".")[0]
        return capture_stablehlo(Source(name, options.hardware, stablehlo), how)
    return capture_sample(
        Sample(options.model, options.hardware, options.batch, options.train), how
    )
