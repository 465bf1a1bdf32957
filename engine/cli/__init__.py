"""The command line: `mallocmuzero COMMAND …`, or `python -m engine COMMAND …` in a checkout.

Each module below holds one family of commands: `add_parser` says what they take, and every parser
names the function that runs it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
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
from engine.cli.arguments import refuse_bad_outputs
from engine.cli.output import EXIT_INTERRUPTED, complain, note
from engine.errors import EngineError, UsageError

ABOUT = """\
Which tensors of a compiled ML program live in fast memory, when, and where. --json prints one JSON
object on stdout and nothing else; logs and progress go to stderr. Bad input exits with 2 and one
line, check of a plan that breaks a rule with 1, an interrupted command with 130."""

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
    """Run one command; returns the exit code."""
    try:
        options = parser().parse_args(arguments)
        refuse_bad_outputs(options)
        run: Callable[[argparse.Namespace], int] = options.run
        return run(options)
    except EngineError as error:
        return complain(str(error))
    except BrokenPipeError:
        # The reader has seen enough; what is buffered must not complain again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return complain(f"{error.filename or 'file'}: {error.strerror or error}")
    except KeyboardInterrupt:
        note("interrupted")
        return EXIT_INTERRUPTED


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
