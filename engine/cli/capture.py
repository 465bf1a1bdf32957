"""`capture`: compile a model, or a program of the user's, with the real compiler."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.arguments import (
    add_command,
    add_compiler_options,
    add_counts,
    add_output,
    add_profile,
    add_raw,
    counts_of,
    filled,
    profile_of,
    refuse_given,
)
from engine.cli.output import note, show, show_program, with_profile
from engine.errors import OutOfMemoryError, UsageError
from engine.files import read_bytes
from engine.program import library
from engine.program.io import save
from engine.program.model import Program
from engine.workflows.capturing import COMPILES, SECONDS, SOLVERS, capturing

if TYPE_CHECKING:
    from engine.compiler.capture.capture import Capturing
    from engine.compiler.toolchain.target import Target


_HARDWARE, _BATCH = "tpu-v5e", 32
_OF_ONE = (
    "hardware",
    "topology",
    "compiler_options",
    "trip_count",
    "branch",
    "batch",
    "train",
    "stablehlo",
    "profile",
    "profile_program",
)
"""Options that only count for one program."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "capture", run, "compile a model with the real compiler")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a model of the zoo")
    parser.add_argument(
        "--stablehlo", type=Path, metavar="FILE", help="instead: a program that jax.export wrote"
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--all", action="store_true", help="every sample program, resumable")
    kinds.add_argument("--held-out", action="store_true", help="every held-out one, resumable")
    kinds.add_argument("--large", action="store_true", help="every large one, resumable")
    kinds.add_argument("--real", action="store_true", help="every real one, resumable")
    parser.add_argument(
        "--offline", action="store_true", help="compile nothing: only cached results count"
    )
    parser.add_argument("--hardware", type=filled, help=f"default: {_HARDWARE}")
    parser.add_argument(
        "--topology",
        type=filled,
        metavar="NAME|CHIPS",
        help="for programs of a mesh: v5e:4x4, 4x4 or 16; default: the smallest large enough",
    )
    add_compiler_options(parser)
    add_counts(parser)
    add_profile(parser)
    parser.add_argument("--batch", type=int, help=f"default: {_BATCH}")
    parser.add_argument("--train", action="store_true", help="a training step")
    add_study(parser, f"{COMPILES}, and twice as many where these do not confirm the costs")
    add_output(parser, "-o", "--output", metavar="P")


def add_study(parser: argparse.ArgumentParser, compiles: str = str(COMPILES)) -> None:
    """Options of commands that compile until a program's costs are known.

    `compiles`: how many they make by default, in words.
    """
    parser.add_argument(
        "--compiles",
        type=int,
        help="whole compiles at most, beside the one with everything slow; the default's and that"
        f" with both pass options are always made; default: {compiles}",
    )
    parser.add_argument(
        "--solvers", default=SOLVERS, metavar="A,B", help="whose plans are compiled, in turn"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each plan")
    add_raw(parser)


def run(options: argparse.Namespace) -> int:
    """Capture one model, or all of a kind."""
    from engine.compiler.capture.capture import capture_all
    from engine.compiler.capture.samples import HELD_OUT, LARGE, REAL, SAMPLES
    from engine.compiler.toolchain.libtpu import use_cpu_here
    from engine.compiler.toolchain.target import init_args
    from engine.workflows.catalogue import write_catalogue

    use_cpu_here()
    how = capturing(
        options.solvers,
        options.seconds,
        options.raw,
        options.compiles,
        options.offline,
        note,
        None if options.output is None else lambda program: _keep(options, program),
    )
    kinds = (
        (options.all, SAMPLES, library.SAMPLES_FOLDER),
        (options.held_out, HELD_OUT, library.SAMPLES_FOLDER / library.HELD_OUT),
        (options.large, LARGE, library.SAMPLES_FOLDER / library.LARGE),
        (options.real, REAL, library.SAMPLES_FOLDER / library.REAL),
    )
    one = {name: getattr(options, name) for name in _OF_ONE}
    for is_wanted, samples, folder in kinds:
        if is_wanted:
            if not (options.model is None and options.output is None):
                raise UsageError("capture: all of a kind are captured; name no MODEL and no -o")
            refuse_given("capture", "is for one program, not for all of a kind", **one)
            if init_args():
                raise UsageError("capture: samples are compiled by default; unset LIBTPU_INIT_ARGS")
            names = capture_all(how, samples, folder)
            kept = [s.name for s in samples if (folder / f"{s.name}.json.gz").exists()]
            write_catalogue(folder, kept, note)
            show(options, {"programs": names}, names)
            return 0
    if (options.model is None) == (options.stablehlo is None) or options.output is None:
        raise UsageError(
            "capture: name a MODEL or a --stablehlo FILE, and an output with -o,"
            " or use --all, --held-out, --large or --real"
        )
    profile = profile_of(options)  # refused before anything is compiled
    try:
        program = _captured(options, how, _target(options))
    except OutOfMemoryError as error:
        for line in error.table:
            note(line)
        raise
    save(program, options.output)  # a profile that does not fit loses no capture
    if profile is not None:
        program = with_profile(program, profile)
        save(program, options.output)
    show_program(options, program)
    return 0


def _target(options: argparse.Namespace) -> Target:
    from engine.compiler.toolchain.target import Target, init_args, read_flags

    flags, counts = read_flags(options.compiler_options), counts_of(options)
    hardware = _HARDWARE if options.hardware is None else options.hardware
    topology = options.topology or ""
    return Target(hardware, topology, flags, init_args(), counts)


def _keep(options: argparse.Namespace, program: Program) -> None:
    """Write what is known so far, so that it can be worked with while its costs are refined."""
    save(program, options.output)
    refining = program.provenance["refining"]
    note(
        f"{options.output}: written; its costs rest on {refining['compiles']} of up to"
        f" {refining['of']} compiles, and what is uncertain is marked"
    )


def _captured(options: argparse.Namespace, how: Capturing, target: Target) -> Program:
    """The one program of the command line, a user's own or a model of the zoo."""
    from engine.compiler.capture.capture import Source, capture_sample, capture_stablehlo
    from engine.compiler.capture.samples import Sample
    from engine.compiler.toolchain.compile import MAX_SOURCE_BYTES

    if options.stablehlo is not None:
        sizes = {"batch": options.batch, "train": options.train}
        refuse_given("capture", "is for a MODEL; a program of --stablehlo has its own", **sizes)
        stablehlo = read_bytes(options.stablehlo, MAX_SOURCE_BYTES)
        name = options.stablehlo.name.split(".")[0]
        return capture_stablehlo(Source(name, target, stablehlo), how)
    batch = _BATCH if options.batch is None else options.batch
    sample = Sample(options.model, target.hardware, batch, options.train)
    return capture_sample(sample, how, target)
