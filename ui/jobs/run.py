"""One piece of long work in a process of its own, and a visitor's hold on it.

A *run* is the work; visitors who order the same work share it. A *job* is one visitor's hold on a
run: stopping it ends the run once nobody else holds it. Who takes hold and who lets go is settled
under the run's own lock, so that nobody is given a run that another visitor is just ending.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from engine.errors import EngineError
from engine.folders import temporary_folder
from engine.game.units import time_text
from engine.plan.io import load_plan, save_plan
from engine.plan.model import Plan
from engine.processes import child_environment
from engine.program.io import save
from engine.program.model import Program
from ui.jobs.protocol import (
    BASIS,
    DONE,
    FAILED,
    FILES,
    ORDER,
    PLAN,
    PROGRAM,
    RESULT,
    RUNNING,
    SOLVE,
    STOPPED,
    WAITING,
    Order,
    line_of,
)
from ui.jobs.store import Result

_ROOT = Path(__file__).resolve().parents[2]
_COMMAND = (sys.executable, "-m", "ui.jobs.worker")
_PATIENCE_S = 60.0
"""How long a worker that has closed its output may take to end by itself."""
_MICROSECONDS = re.compile(r"(\d+(?:\.\d+)?) us\b")
"""Microseconds in the words of a solver, which are for terminals too."""


def _time_of(found: re.Match[str]) -> str:
    return time_text(1e-6 * float(found[1]))


@dataclass(eq=False)
class Run:
    """One piece of work; its thread writes the state, `share`, `message`, the result.

    `program`: the name of the program that it is about. `share`: how much is done, 0 to 1, as the
    work reports it; None as long as it does not know.
    `ahead`: how many runs of the queue come before it while it waits. `clock`: when the seconds of
    a solver began to count, by the first share that it reports; None while it gets ready, which
    takes loading and compiling.
    """

    order: Order
    owner: str
    state: str = WAITING
    share: float | None = None
    message: str = ""
    error: str = ""
    plan: Plan | None = None
    result: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    given: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    began: float = 0.0
    clock: float | None = None
    took_s: float = 0.0
    ahead: int = 0
    holders: set[str] = field(default_factory=set)
    program: str = ""
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in (DONE, FAILED, STOPPED)

    def take_hold(self, holder: str) -> bool:
        """Let a visitor share the run; False where it failed or was stopped: then begin anew."""
        with self._lock:
            if self.state in (FAILED, STOPPED):
                return False
            self.holders.add(holder)
            return True

    def let_go(self, holder: str) -> None:
        """End a visitor's hold; the last one ends the run."""
        with self._lock:
            self.holders.discard(holder)
            if not self.holders:
                self._end()

    def end(self) -> None:
        """Stop the work, whoever holds it; its result is lost."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        """Under the lock: stop the work unless it is over."""
        if not self.is_over:
            self.state = STOPPED
            if self._process is not None and self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)

    def fail(self, error: str) -> None:
        """Note why there is no result, unless the run is over: one that was stopped is no news."""
        with self._lock:
            if not self.is_over:
                self.error, self.state = " ".join(error.split()), FAILED

    def work(self, program: Program, basis: Plan | None) -> None:
        """Do the work in a child process and wait for it; called on a thread.

        Never raises: whatever goes wrong is the run's `error`, or visitors would wait for ever.
        """
        with self._lock:
            if self.is_over:
                return
            self.began, self.state = time.monotonic(), RUNNING
        try:
            with temporary_folder("explorer") as folder:
                self._work_in(folder, program, basis)
        except (OSError, EngineError) as error:
            self.fail(str(error))
        except BaseException as error:  # noqa: BLE001 - also what nobody has thought of
            self.fail(f"{type(error).__name__}: {error}")
        finally:
            self.took_s = time.monotonic() - self.began
            self.given = {}

    def _work_in(self, folder: Path, program: Program, basis: Plan | None) -> None:
        save(program, folder / PROGRAM)
        (folder / ORDER).write_text(json.dumps(asdict(self.order)))
        if basis is not None:
            save_plan(basis, folder / BASIS)
        for name, content in self.given.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        with (folder / "log").open("w+") as log:
            with self._lock:
                if self.is_over:
                    return
                process = self._process = subprocess.Popen(
                    (*_COMMAND, str(folder)),
                    cwd=_ROOT,
                    # What it leaves there goes with the folder, also if it is killed.
                    env=child_environment(TMPDIR=str(folder)),
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    start_new_session=True,
                )
            try:
                self._listen(process)
                _wait(process)
            finally:
                _kill(process)
            if process.returncode:
                log.seek(0)
                self.fail(_last_line(log) or f"ended with status {process.returncode}")
        if not self.is_over:
            self._take(folder)

    def _take(self, folder: Path) -> None:
        if (folder / PLAN).exists():
            self.plan = load_plan(folder / PLAN)
        if (folder / RESULT).exists():
            self.result = json.loads((folder / RESULT).read_text())
        made = [n for n in FILES if n not in self.given and (folder / n).exists()]
        self.files = {name: (folder / name).read_bytes() for name in made}
        with self._lock:
            self.state = self.state if self.is_over else DONE

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for text in lines:
                self.hear(line_of(text))

    def hear(self, line: Mapping[str, Any]) -> None:
        """Take in a line of the worker (`ui.jobs.protocol`)."""
        share = line.get("share", self.share)
        self.share = None if share is None else float(share)
        self.message = str(line.get("message", self.message))
        if self.share and self.clock is None:
            now = time.monotonic()
            self.clock = max(self.began, now - self.share * self.order.seconds)
        if "error" in line:
            self.fail(str(line["error"]))


def finished(order: Order, result: Result) -> Run:
    """A run whose result was kept."""
    run = Run(order, "", state=DONE, plan=result.plan, result=result.facts)
    run.files = dict(result.files)
    return run


@dataclass(eq=False)
class Job:
    """One visitor's hold on a run; two of the same visitor are one hold."""

    run: Run
    holder: str = ""
    is_kept: bool = False
    """Whether an earlier visit left the result, so that nobody waits for it."""
    _is_stopped: bool = False
    _is_taken: bool = False
    _is_announced: bool = False

    @property
    def order(self) -> Order:
        """What is being done."""
        return self.run.order

    @property
    def solver(self) -> str:
        """The name of the order: a solver, or what the list of jobs shows instead."""
        return self.run.order.name

    @property
    def state(self) -> str:
        """One of `WAITING`, `RUNNING`, `DONE`, `FAILED`, `STOPPED`."""
        return STOPPED if self._is_stopped else self.run.state

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self._is_stopped or self.run.is_over

    @property
    def message(self) -> str:
        """The last message of the work."""
        return self.run.message

    @property
    def error(self) -> str:
        """Why the work failed; empty otherwise."""
        return "" if self._is_stopped else self.run.error

    @property
    def plan(self) -> Plan | None:
        """The plan, once the work is done."""
        return None if self._is_stopped else self.run.plan

    @property
    def result(self) -> dict[str, Any]:
        """The facts besides plan and files, once the work is done."""
        return {} if self._is_stopped else self.run.result

    @property
    def files(self) -> Mapping[str, bytes]:
        """The files that the work wrote (`ui.jobs.protocol.FILES`), once it is done."""
        return {} if self._is_stopped else self.run.files

    @property
    def bound_s(self) -> float | None:
        """The lower bound that a `BOUND` order asked for, once it is known."""
        seconds = self.result.get("bound_s")
        return None if seconds is None else float(seconds)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the work began, of a solver since its seconds count; 0 before that."""
        if self.run.state != RUNNING:
            return 0.0
        began = self.run.clock if self.order.kind == SOLVE and self.run.clock else self.run.began
        return time.monotonic() - began

    @property
    def progress(self) -> float | None:
        """The share done, as the work reports it or of its budget; None where it is not known."""
        if self.is_over or self.run.state != RUNNING:
            return 1.0 if self.is_over else 0.0
        if self._is_getting_ready or self._is_past_its_budget:
            return None
        known = self.run.share
        if self.order.has_budget:
            return max(known or 0.0, self.elapsed_s / self.order.seconds)
        return known

    @property
    def words(self) -> str:
        """What is being done, and since when, in a few words."""
        if self.run.state != RUNNING:
            ahead = self.run.ahead
            return f"waits for a free worker{f' · {ahead} before it' if ahead else ''}"
        elapsed, budget = f"{self.elapsed_s:,.0f}", f"{self.order.seconds:,.0f} s"
        doing = _MICROSECONDS.sub(_time_of, self.message) or "gets ready"
        if self._is_getting_ready:
            return f"{doing} · {elapsed} s, then {budget}"
        if self._is_past_its_budget:
            return f"finishes · {self.elapsed_s - self.order.seconds:,.0f} s past its {budget}"
        return (
            f"{doing} · {elapsed} of {budget}"
            if self.order.has_budget
            else f"{doing} · {elapsed} s"
        )

    @property
    def _is_getting_ready(self) -> bool:
        """Whether a solver's seconds do not count yet."""
        return self.order.kind == SOLVE and self.order.has_budget and self.run.clock is None

    @property
    def _is_past_its_budget(self) -> bool:
        is_counted = self.order.has_budget and not self._is_getting_ready
        return is_counted and self.elapsed_s >= self.order.seconds

    @property
    def has_news(self) -> bool:
        """Whether the job is over, by itself, and nobody has said so yet."""
        return self.state in (DONE, FAILED) and not self._is_announced

    def announce(self) -> None:
        """Note that it has been said that the job is over."""
        self._is_announced = True

    def take(self) -> bool:
        """Whether the job is done and this is the first call that says so."""
        is_news = self.state == DONE and not self._is_taken
        self._is_taken = self._is_taken or is_news
        return is_news

    def stop(self) -> None:
        """Let go of the run, which ends if nobody else holds it."""
        if not self.is_over:
            self._is_stopped = True
            self.run.let_go(self.holder)


def _wait(process: subprocess.Popen[str]) -> None:
    """Give a process that has closed its output the time to end by itself."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_PATIENCE_S)


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process that still runs, and what it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _last_line(log: IO[str]) -> str:
    lines = log.read().strip().splitlines()
    return lines[-1] if lines else ""
