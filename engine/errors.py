"""The one exception tree. Every message says what is wrong, where, and what to do, in one line."""

from __future__ import annotations


def in_one_line(message: str, most: int = 300) -> str:
    """A message of another tool as one line: its lines in a row, each and all of them cut.

    Lines that only point at a place in the line above say nothing then.

    >>> in_one_line("Syntax error:\\n  was parsing 5:3: expects name\\n  ^\\n")
    'Syntax error: was parsing 5:3: expects name'
    """
    lines = (" ".join(line.split()) for line in message.splitlines())
    return " ".join(line[:_LINE] for line in lines if line.strip("^~ "))[:most].rstrip()


_LINE = 160


class EngineError(Exception):
    """Base of all errors that a user can cause; the command line turns it into exit 2.

    >>> from engine.program.library import load_sample
    >>> try:
    ...     load_sample("teach-prefetsch")
    ... except EngineError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    no sample program is called 'teach-prefetsch'; near it: teach-prefetch...
    """


class UsageError(EngineError):
    """A command or function was asked for something that its arguments do not allow."""


class ConfigError(EngineError):
    """A setting of a solver, of the agent or of its training has a value that makes no sense."""


class ProgramFormatError(EngineError):
    """A program, plan or HLO file is malformed, truncated, too large, or of another version."""


class ParseInterruptedError(ProgramFormatError):
    """XLA's parser took too long or was killed; another time it may read the same text."""


class UnknownNameError(EngineError):
    """No sample program, solver, model or hardware of that name exists."""


class PlanError(EngineError):
    """A plan cannot be read, belongs to another program, or breaks a rule."""


class MissingDependencyError(EngineError):
    """An optional package is needed for this; the message holds the install line."""


def install_line(extra: str) -> str:
    """How to install one of the extras of `pyproject.toml`, for the end of an error's message.

    >>> install_line("app")
    "pip install '.[app]' in the project's folder"
    """
    return f"pip install '.[{extra}]' in the project's folder"


class CompilerError(EngineError):
    """The compiler refused a program or its options, aborted, or took too long."""


class NotCompilableError(CompilerError):
    """What is to be compiled is no program for a TPU; the compiler itself was not asked."""


class OutOfMemoryError(CompilerError):
    """The compiler found a memory too small.

    `table`: lines that say what takes how much of it, to be shown beside the message.
    """

    def __init__(self, message: str, table: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.table = table


class CompileInterruptedError(CompilerError):
    """A compile took too long, was killed or found no answer; another time there may be one."""


FAILURES = (CompilerError, ProgramFormatError)
"""What one compile may come to, where others go on: it fails, or its HLO cannot be read."""

INTERRUPTED = (CompileInterruptedError, ParseInterruptedError)
"""Those of them that say nothing of the program: another time it may come to something."""


class CheckpointError(EngineError):
    """A checkpoint of the agent cannot be read, or is of another version or shape."""


class LessonError(EngineError):
    """A lesson, a file of positions or of progress is malformed, or says what cannot be."""


class StalePositionsError(LessonError):
    """A file of positions is of other rules, or of another version: they can be mined anew."""


class SolverError(EngineError):
    """A solver cannot run on this program, or found nothing within its limits."""


class BrokenSolverError(SolverError):
    """A solver is at fault: its plan breaks a rule, or what is not ours failed or is no plan."""


class EndedEarlyError(SolverError):
    """A solver was ended, or died, before it had a plan of its own."""
