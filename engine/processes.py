"""This process and those that it starts: how many cores they have, and how they end together."""

from __future__ import annotations

import ctypes
import math
import os
import signal
import sys
import threading
import time
from pathlib import Path

PARENT = "MALLOCMUZERO_PARENT"
"""Environment variable of a child: the process that it ends with."""

ABORTS = tuple(
    -number
    for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP)
)
"""Exit codes of a child that fell over its input, as it will every time."""

KILLS = tuple(-number for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
"""Exit codes of a child that somebody ended, such as a system that lacks memory."""

_PR_SET_PDEATHSIG = 1
"""Of `prctl(2)`, which only Linux has."""
_POLL_S = 0.5
_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


def num_cores() -> int:
    """`OMP_NUM_THREADS`, as Ray and the portfolio tell their workers, else the cores given to us.

    >>> num_cores() >= 1
    True
    """
    if (limit := os.environ.get("OMP_NUM_THREADS", "")).isdecimal():
        return max(1, int(limit))
    if hasattr(os, "sched_getaffinity"):
        return max(1, min(len(os.sched_getaffinity(0)), _quota()))
    return os.cpu_count() or 1


def _quota() -> int:
    """The cores' time that a container may use, by Linux' control groups; rounded up."""
    try:
        allowed, period = _CPU_MAX.read_text().split()
        return math.ceil(int(allowed) / int(period))
    except (OSError, ValueError, ZeroDivisionError):
        # No such limit, or `max`.
        return sys.maxsize


def child_environment(**more: str) -> dict[str, str]:
    """The environment for a child that calls `end_with_parent`: ours, the parent, and `more`."""
    return {**os.environ, PARENT: str(os.getpid()), **more}


def is_child() -> bool:
    """Whether this process was started to end with its parent, which may kill it at any time."""
    return os.environ.get(PARENT) == str(os.getppid())


def end_with_parent() -> None:
    """Have this process killed when the one that started it dies, however it does.

    Linux does it itself, as soon as the *thread* that started this process ends; elsewhere a thread
    of ours looks twice a second whether the parent is still there.
    """
    parent = int(os.environ.get(PARENT) or os.getppid())
    libc = ctypes.CDLL(None)
    if hasattr(libc, "prctl"):
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _end_without(parent)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while True:
        _end_without(parent)
        time.sleep(_POLL_S)


def _end_without(parent: int) -> None:
    """Kill this process if its parent is another one by now: then the first one has died."""
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
