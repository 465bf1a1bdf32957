"""Solver runs in processes of their own, so that the page stays alive and a run can be stopped."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from engine.errors import EngineError
from engine.plan.io import load_plan
from engine.plan.model import Plan
from engine.program.io import save
from engine.program.model import Program
from ui.worker import BOUND

WAITING, RUNNING, DONE, FAILED, STOPPED = "waiting", "running", "done", "failed", "stopped"
_ROOT = Path(__file__).resolve().parent.parent
_AT_ONCE = 2


@dataclass(eq=False)
class Job:
    """One run. Its thread writes `state`, `share` (0 … 1), `message` and at last the result."""

    solver: str
    seconds: float
    seed: int
    state: str = WAITING
    share: float = 0.0
    message: str = ""
    error: str = ""
    plan: Plan | None = None
    bound_s: float | None = None
    started: float = 0.0
    took_s: float = 0.0
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in (DONE, FAILED, STOPPED)

    @property
    def progress(self) -> float:
        """Share done: what the solver says, else the share of its time that has gone by."""
        if self.state != RUNNING:
            return 1.0 if self.is_over else 0.0
        elapsed = (time.monotonic() - self.started) / max(self.seconds, 1e-3)
        return min(0.99, max(self.share, elapsed))

    def stop(self) -> None:
        """End the run; its result is lost."""
        if not self.is_over:
            self.state = STOPPED
            if self._process is not None:
                self._process.kill()


class Workshop:
    """Runs jobs, two at a time; shared by all sessions of the server."""

    def __init__(self) -> None:
        """Start with idle hands."""
        self._hands = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="solver")

    def start(self, program: Program, solver: str, seconds: float, seed: int = 0) -> Job:
        """Put a run in the queue; the job tells how it goes."""
        job = Job(solver, seconds, seed)
        self._hands.submit(_run, job, program)
        return job


def _run(job: Job, program: Program) -> None:
    if job.is_over:
        return
    job.started, job.state = time.monotonic(), RUNNING
    try:
        with tempfile.TemporaryDirectory(prefix="explorer-") as folder:
            _work(job, program, Path(folder))
    except (OSError, EngineError, ValueError) as error:
        _fail(job, str(error))
    job.took_s = time.monotonic() - job.started


def _work(job: Job, program: Program, folder: Path) -> None:
    source, result = folder / "program.json", folder / "result.json"
    save(program, source)
    command = [sys.executable, "-m", "ui.worker", str(source), job.solver]
    command += [str(job.seconds), str(job.seed), str(result)]
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(
            command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=log, text=True
        )
        job._process = process
        _listen(job, process)
        if process.wait() and not job.is_over:
            log.seek(0)
            _fail(job, _last_line(log) or f"ended with status {process.returncode}")
    if job.is_over:
        return
    if job.solver == BOUND:
        job.bound_s = float(json.loads(result.read_text())["bound_s"])
    else:
        job.plan = load_plan(result)
    job.state = DONE


def _listen(job: Job, process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    with process.stdout as lines:
        for text in lines:
            line = json.loads(text)
            job.share = float(line.get("share", job.share))
            job.message = str(line.get("message", job.message))
            if "error" in line:
                _fail(job, str(line["error"]))


def _fail(job: Job, error: str) -> None:
    # A stopped run fails as well, but that is not news.
    if job.state != STOPPED:
        job.error, job.state = error, FAILED


def _last_line(log: IO[str]) -> str:
    lines = log.read().strip().splitlines()
    return lines[-1] if lines else ""


def wait_for(jobs: list[Job], timeout_s: float) -> bool:
    """Wait until all jobs are over; False if that took too long."""
    until = time.monotonic() + timeout_s
    pause = threading.Event()
    while not all(job.is_over for job in jobs):
        if time.monotonic() > until:
            return False
        pause.wait(0.02)
    return True
