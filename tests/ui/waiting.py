"""Waiting for what another thread or process does, however busy the machine is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ui.jobs.run import Job

SECONDS = 1200
"""Until something that takes moments is given up: a busy machine may be slow."""
WORK_S = 300.0
"""Of processor time that a job's process may use in a test."""


def eventually(holds: Callable[[], object], seconds: float = SECONDS) -> bool:
    """Whether it holds at some time within so many seconds."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def are_over(jobs: Sequence[Job], most_s: float = WORK_S) -> bool:
    """Whether all jobs end before one has worked for so many seconds of processor time.

    A process that the machine keeps waiting is waited for; one that works for ever is not.
    """
    while not all(job.is_over for job in jobs):
        if any(worked_s(job) > most_s for job in jobs):
            return False
        time.sleep(0.02)
    return True


def worked_s(job: Job) -> float:
    """Seconds of processor time that the job's process has used; 0 while there is none."""
    process = job.run._process
    if process is None:
        return 0.0
    try:
        status = Path(f"/proc/{process.pid}/stat").read_text()
    except OSError:  # It has ended.
        return 0.0
    # The fields after the name in brackets: the twelfth and the next are user and system time.
    fields = status.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
