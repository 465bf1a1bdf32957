"""What failed while sections were run: told at once, each in a line, and counted to the end.

A run of hours goes on with what is left; the command's exit status says that something is missing.
"""

from __future__ import annotations

import sys

from engine.errors import in_one_line

_told: list[str] = []


def tell(what: str, error: BaseException | str) -> None:
    """Print that something failed, and count it."""
    _told.append(f"{what}: {in_one_line(str(error)) or type(error).__name__}")
    print(_told[-1], file=sys.stderr, flush=True)


def take() -> list[str]:
    """What failed since the last call."""
    told = list(_told)
    _told.clear()
    return told
