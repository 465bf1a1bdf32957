"""The command line: `python -m engine COMMAND …`.

`--json` prints one JSON object on stdout and nothing else; logs and progress go to stderr. Bad
input exits with 2 and one line, `check` of a plan that breaks a rule with 1, an interrupted command
with 130.
Each module below holds one family of commands: `add_parser` says what they take, and every parser
names the function that runs it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from engine.cli import (
    analyse,
    app,
    capture,
    compare,
    import_dumps,
    info,
    learn,
    mine,
    observe,
    plans,
    solve,
    steering,
    timeline,
    train,
)
from engine.cli.output import EXIT_INTERRUPTED, complain, note
from engine.errors import EngineError

FAMILIES = (
    capture,
    observe,
    import_dumps,
    info,
    solve,
    plans,
    timeline,
    steering,
    analyse,
    compare,
    train,
    learn,
    mine,
    app,
)
"""In the order in which `--help` lists them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
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


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    root = argparse.ArgumentParser(prog="python -m engine", description=__doc__)
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    for family in FAMILIES:
        family.add_parser(commands)
    return root
