"""`python -m engine.solvers.local`: compile the search for this machine, once.

Processes that do so wait for each other. What was compiled when one is killed stays.
"""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import suppress

from engine.processes import PARENT, end_with_parent
from engine.solvers.local.machine import cached_sources
from engine.solvers.local.search import compile_all


def main() -> None:
    """Compile what is not compiled yet; a search that has started this process ends it."""
    if PARENT in os.environ:
        end_with_parent()
    folder = cached_sources()
    if folder is None:
        sys.exit("compiled code cannot be kept: there is no cache folder that can be written")
    descriptor = os.open(folder / "compiling", os.O_CREAT | os.O_RDWR)
    # On a file system without locks each process compiles for itself.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    compile_all(lambda share, word: True)


if __name__ == "__main__":
    main()
