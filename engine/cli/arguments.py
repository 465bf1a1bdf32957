"""Arguments that several commands share, and the checks that come before long work."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import Any

from engine.cli.output import note
from engine.errors import PlanError, UsageError
from engine.files import can_only_be_read, is_file, refuse_unwritable, refuse_unwritable_folder
from engine.folders import cache_folder
from engine.plan.check import check
from engine.plan.io import load_plan
from engine.plan.model import Plan
from engine.program import library
from engine.program.counts import DEFAULT_TRIP_COUNT, Counts, read_counts
from engine.program.model import Program
from engine.program.profile import Profile, read_profile
from engine.workflows.capturing import COMPILES_CACHE

Run = Callable[[argparse.Namespace], int]
RESUMES = "resumes"
"""The setting of a command that caches compile results: started again it goes on from there."""

_OUTPUTS = "outputs"
"""The setting of a command that lists what it writes: a name, its check, the option, and the name
of the input whose place it may take."""

_READ = ("program", "programs", "compiler_options")
"""Names of texts that may name a file to be read; what else is read is a `Path`."""


def add_command(commands: Any, name: str, run: Run, about: str) -> argparse.ArgumentParser:
    """A parser for one command, which `run` executes; every command takes `--json`."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=about, description=about)
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    return parser


def add_program(parser: argparse.ArgumentParser) -> None:
    """The program that a command works on."""
    parser.add_argument("program", metavar="P", help="a program file or a sample's name")


def names(text: str) -> list[str]:
    """Names with commas between them, as the `type` of an option. Refuses an empty one."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"a name is empty in {text!r:.80}")
    return found


def filled(text: str) -> str:
    """A text that is not empty, as the `type` of an option."""
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty; name something, or leave it out")
    return text


def add_solvers(parser: argparse.ArgumentParser) -> None:
    """The solvers that are compared."""
    parser.add_argument("--solvers", type=names, help="comma-separated; default: all that apply")


def add_budget(parser: argparse.ArgumentParser) -> None:
    """The seconds and the seed of a solver."""
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)


def add_compiler_options(parser: argparse.ArgumentParser) -> None:
    """The user's own compiler options, which hold for every compile of a command."""
    parser.add_argument(
        "--compiler-options",
        action="append",
        default=[],
        metavar="FILE|NAME=VALUE",
        help="your own, which hold for every compile, as LIBTPU_INIT_ARGS does; repeatable",
    )


def add_counts(parser: argparse.ArgumentParser) -> None:
    """How often loops run and branches are taken that the compiler does not know of."""
    parser.add_argument(
        "--trip-count",
        action="append",
        default=[],
        metavar="WHILE=N",
        help="iterations of a loop of unknown length, by the name of its while instruction;"
        f" default: {DEFAULT_TRIP_COUNT}; repeatable",
    )
    parser.add_argument(
        "--branch",
        action="append",
        default=[],
        metavar="COND=0.9,0.1",
        help="how often each branch of a conditional is taken; default: all alike; repeatable",
    )


def counts_of(options: argparse.Namespace) -> Counts:
    """The counts that a command was given. Raises UsageError, also for one that is given twice."""
    for flag, texts in (("--trip-count", options.trip_count), ("--branch", options.branch)):
        given = [text.partition("=")[0].removeprefix("%") for text in texts]
        twice = [name for name in given if given.count(name) > 1]
        if twice:
            raise UsageError(f"{flag}: {twice[0]} is given twice; leave one of them out")
    return read_counts(options.trip_count, options.branch)


def add_profile(parser: argparse.ArgumentParser, is_required: bool = False) -> None:
    """Measured times for what the compiler states no cycles for."""
    parser.add_argument(
        "--profile",
        type=Path,
        metavar="FILE",
        required=is_required,
        help="measured times of what the compiler does not estimate: a trace of XProf"
        " (*.trace.json.gz), its HLO Op Stats, or a CSV of instruction,time_us",
    )
    parser.add_argument(
        "--profile-program",
        type=filled,
        metavar="NAME",
        help="which program of that file, where several fit",
    )


def profile_of(options: argparse.Namespace) -> Profile | None:
    """The profile that a command was given. Raises UsageError for a program of none."""
    if options.profile is None:
        if options.profile_program is not None:
            raise UsageError("--profile-program is one of a --profile FILE; give both")
        return None
    profile = read_profile(options.profile)
    return profile if options.profile_program is None else profile.only(options.profile_program)


def add_raw(parser: argparse.ArgumentParser) -> None:
    """The folder in which captures keep what the compiler answered; None where nothing is cached.

    `engine.workflows.capturing.compiles_folder` then says what to do.
    """
    default = cache_folder(COMPILES_CACHE)
    about = "where compile results are kept, so that nothing is compiled twice"
    parser.set_defaults(**{RESUMES: True})
    add_output(parser, "--raw", is_cache=True, default=default, metavar="FOLDER", help=about)


def add_output(
    parser: argparse._ActionsContainer,
    *flags: str,
    is_folder: bool = False,
    is_cache: bool = False,
    replaces: str = "",
    **settings: Any,
) -> None:
    """An option that names a file, a folder, or a cache to be written.

    It is checked before the command runs, so that no work is lost (`refuse_bad_outputs`).
    `replaces`: the name of an input of the same kind, whose place the output may take.
    """
    action = parser.add_argument(*flags, type=Path, **settings)
    refuse = refuse_unwritable_folder if is_folder else refuse_unwritable
    outputs = parser.get_default(_OUTPUTS) or ()
    output = (action.dest, refuse_bad_cache if is_cache else refuse, flags[-1], replaces)
    parser.set_defaults(**{_OUTPUTS: (*outputs, output)})


def refuse_bad_outputs(options: argparse.Namespace) -> None:
    """Raises UsageError if an output of the command could not be written, or takes the place of
    another one, of what is read, or of the JSON on stdout.
    """
    outputs = getattr(options, _OUTPUTS, ())
    written = {name for name, *_ in outputs}
    files: dict[Path, str] = {}
    for name, refuse, flag, replaces in outputs:
        path = getattr(options, name)
        if path is not None:
            if getattr(options, "json", False) and _is_stdout(path):
                raise UsageError(f"{path}: --json prints there; name another, or leave --json out")
            refuse(path)
            is_one_file = refuse is refuse_unwritable
            other = files.setdefault(path.resolve(), flag) if is_one_file else flag
            if other != flag:
                raise UsageError(f"{path}: named by {other} and by {flag}; name another for one")
            if path.resolve() in _files_read(options, written | {replaces}):
                raise UsageError(f"{path}: it is read, and {flag} would replace it; name another")


def _is_stdout(path: Path) -> bool:
    """Whether a path is what file descriptor 1 is; nothing there is lost where all goes nowhere."""
    try:
        return path != Path(os.devnull) and os.path.samestat(path.stat(), os.fstat(1))
    except OSError:
        return False


def _files_read(options: argparse.Namespace, but: Set[str]) -> Iterator[Path]:
    """The files that a command is given to read, `but` by the options of these names."""
    for name in vars(options).keys() - but:
        value = getattr(options, name)
        for entry in value if isinstance(value, list) else [value]:
            is_path = isinstance(entry, Path) or (isinstance(entry, str) and name in _READ)
            if is_path and is_file(Path(entry)):
                yield Path(entry).resolve()


def refuse_bad_cache(folder: Path) -> None:
    """As `refuse_unwritable_folder`; but a folder that can only be read is noted alone."""
    if can_only_be_read(folder):
        note(f"{folder}: can only be read; what is compiled now is not kept")
    else:
        refuse_unwritable_folder(folder)


def refuse_given(command: str, why: str, **given: object) -> None:
    """Raises UsageError if one of these options, which cannot count beside others, was given."""
    for name, value in given.items():
        if not (value is None or value is False or value == []):
            raise UsageError(f"{command}: --{name.replace('_', '-')} {why}")


def load_valid_plan(options: argparse.Namespace) -> tuple[Program, Plan]:
    """The program and the plan of a command. Raises PlanError if the plan breaks a rule."""
    program, plan = library.resolve(options.program), load_plan(options.plan)
    violation = check(program, plan)
    if violation is not None:
        raise PlanError(f"{options.plan}: breaks {violation.rule}: {violation.message}")
    return program, plan
