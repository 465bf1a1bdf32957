"""The command line: `mallocmuzero COMMAND …`, or `python -m engine COMMAND …` in a checkout.

Each module below holds one family of commands: `add_parser` says what they take, and every parser
names the function that runs it.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from engine.cli import (
    analyse,
    app,
    capture,
    check_solver,
    compare,
    corpus,
    gap,
    import_dumps,
    info,
    learn,
    mine,
    observe,
    plans,
    programs,
    reprice,
    solve,
    steering,
    timeline,
    train,
)
from engine.cli.arguments import RESUMES, refuse_bad_outputs
from engine.cli.output import (
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    ReaderGone,
    complain,
    keep_stdout_for_results,
    note,
    spell_out_on_stdout,
)
from engine.errors import EngineError, UsageError
from engine.files import State, state_of

ABOUT = """\
Which tensors of a compiled ML program live in fast memory, when, and where. --json prints one JSON
object on stdout and nothing else; logs and progress go to stderr. Bad input exits with 2 and one
line, check of a plan that breaks a rule with 1, an interrupted command with 130, one that SIGTERM
ends with 143."""

FAMILIES = (
    capture,
    observe,
    import_dumps,
    programs,
    info,
    reprice,
    solve,
    plans,
    timeline,
    steering,
    analyse,
    gap,
    compare,
    check_solver,
    train,
    corpus,
    learn,
    mine,
    app,
)
"""In the order in which `--help` lists them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    Without `arguments` it is the command of this process, whose stdout is ours alone.
    """
    spell_out_on_stdout()
    options, before = argparse.Namespace(), _output_state(argparse.Namespace())
    try:
        parser().parse_args(arguments, options)
        before = _output_state(options)
        refuse_bad_outputs(options)
        if arguments is None and getattr(options, "json", False):
            keep_stdout_for_results()
        run: Callable[[argparse.Namespace], int] = options.run
        with _terminated_like_interrupted(options):
            return run(options)
    except EngineError as error:
        return complain(str(error))
    except ReaderGone:
        # It has seen enough.
        return 0
    except OSError as error:
        return complain(f"{error.filename or 'file'}: {error.strerror or error}")
    except _Terminated:
        note(f"terminated{_kept(options, before)}")
        return EXIT_TERMINATED
    except KeyboardInterrupt:
        note(f"interrupted{_kept(options, before)}")
        return EXIT_INTERRUPTED


class _Terminated(KeyboardInterrupt):
    """SIGTERM came."""


@contextmanager
def _terminated_like_interrupted(options: argparse.Namespace) -> Iterator[None]:
    """Have SIGTERM end a command that resumes as Ctrl-C does; other commands it kills at once."""
    if not _resumes(options):
        yield
        return
    usual = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _terminate(*_: object) -> None:
    raise _Terminated


def _resumes(options: argparse.Namespace) -> bool:
    return bool(getattr(options, RESUMES, False))


def _output_state(options: argparse.Namespace) -> State:
    """What changes when the command's output is written."""
    path = getattr(options, "output", None)
    return () if path is None else state_of(path)


def _kept(options: argparse.Namespace, before: State) -> str:
    """What is left of a command that was ended, and how to go on with it.

    `before`: the state of its output when it began.
    """
    if not _resumes(options):
        return ""
    is_written = _output_state(options) != before
    written = f"{options.output} has what is known so far, and " if is_written else ""
    return f": {written}compile results are cached; the same command goes on from there"


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, as all errors are."""

    def error(self, message: str) -> NoReturn:
        """Raises UsageError."""
        raise UsageError(f"{message}; see {self.prog} --help")


def parser() -> argparse.ArgumentParser:
    """The parser of all commands, under the name by which it was called."""
    called = Path(sys.argv[0]).name
    prog = called if called.startswith("mallocmuzero") else "python -m engine"
    root = _Parser(prog=prog, description=ABOUT)
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    for family in FAMILIES:
        family.add_parser(commands)
    return root
