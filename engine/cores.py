"""How much of the machine this process may use."""

from __future__ import annotations

import os


def num_cores() -> int:
    """`OMP_NUM_THREADS`, as Ray and the portfolio tell their workers, else the cores given to us.

    >>> num_cores() >= 1
    True
    """
    if (limit := os.environ.get("OMP_NUM_THREADS", "")).isdecimal():
        return max(1, int(limit))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
