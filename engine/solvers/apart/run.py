"""A solver in a process of its own: it can be ended at any time, whatever it is doing.

For solvers whose libraries compile for minutes, which nothing in the same process can interrupt.
The budget runs from the solver's first report on; what it announces as not counted is not counted
(`engine.solvers.clock`). One that does not end in time is killed.
"""

from __future__ import annotations

import math
import os
import queue
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine import errors
from engine.errors import EndedEarlyError, EngineError, ProgramFormatError, SolverError
from engine.folders import temporary_folder
from engine.plan.io import plan_from_json, save_plan
from engine.plan.model import Plan
from engine.program.io import save
from engine.program.model import Program
from engine.solvers.apart.process import Answers, Worker, worker_environment
from engine.solvers.clock import SLACK, SLACK_S
from engine.solvers.registry import NOT_COUNTED, Budget

KILL, KILL_S = 2 * SLACK, 2 * SLACK_S
"""A solver that has overrun its budget by more than that share and so many seconds is killed."""
POLL_S = 0.2
"""How often somebody who waits is asked whether it is still wanted, while nothing is reported."""
END_S = 1.8
"""Seconds in which a solver that is not wanted any more may still hand over its plan."""


def run_apart(place: str, program: Program, budget: Budget, *, is_patient: bool = False) -> Plan:
    """The plan of the solver at `place` (`module:function`), which runs in another process.

    `is_patient`: its plan is waited for, also where it takes longer than it may, and no other will
    do. Else, where the process had to be ended, or died, the last plan that it offered is taken.
    Options are plain values, paths, or plans. Raises EndedEarlyError where there is none, or no
    process could be started; else the solver's errors.
    """
    order = {"place": place, "seconds": budget.seconds, "seed": budget.seed}
    answers: Answers = queue.SimpleQueue()
    with ExitStack() as held:
        try:
            folder = held.enter_context(temporary_folder("solve"))
            save(program, folder / "program.json")
            options, plans = _in_files(budget.options, folder)
            worker = Worker(folder / "program.json", answers, worker_environment())
        except (OSError, RuntimeError, ProgramFormatError) as error:
            raise EndedEarlyError(
                f"its process could not be started ({error!s:.200}); free memory and disk, or set"
                " TMPDIR to another folder"
            ) from error
        held.callback(worker.end)
        worker.order({**order, "options": options, "plans": plans})
        return _Run(worker, answers, budget, is_patient).plan()


def _in_files(options: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Options as JSON has them, and the names of those that are plans, which lie in `folder`."""
    plans, plain = [], {}
    for name, value in options.items():
        if isinstance(value, Plan):
            plans.append(name)
            save_plan(value, folder / f"{name}.json")
            value = folder / f"{name}.json"
        plain[name] = os.fspath(value) if isinstance(value, os.PathLike) else value
    return plain, plans


class _Run:
    """One run: its reports go to the budget's `progress`, whose answers go back."""

    def __init__(self, worker: Worker, answers: Answers, budget: Budget, is_patient: bool) -> None:
        self._worker, self._answers, self._budget = worker, answers, budget
        seconds, self._is_patient = budget.seconds, is_patient
        self._most_s = math.inf if is_patient else (1 + KILL) * seconds + KILL_S
        self._offered: Plan | None = None
        self._has_begun = False
        self._share, self._message = 0.0, f"starting a process … {NOT_COUNTED}"
        self._is_wanted = True
        self._spent_s = self._waited_s = 0.0

    @property
    def _is_counted(self) -> bool:
        return not self._message.endswith(NOT_COUNTED)

    def plan(self) -> Plan:
        """The plan, or the last one offered. Raises as `run_apart` does."""
        try:
            return self._awaited()
        except EndedEarlyError as error:
            if self._offered is None or self._is_patient:
                raise
            notes = {**self._offered.notes, "ended_early": str(error)}
            return replace(self._offered, notes=notes)

    def _awaited(self) -> Plan:
        then = time.monotonic()
        while True:
            body = self._next()
            now = time.monotonic()
            if self._is_counted:
                self._spent_s += now - then
            if not self._is_wanted:
                self._waited_s += now - then
            then = now
            if body is None:
                self._look_around()
            elif "share" in body:
                self._share, self._message = float(body["share"]), str(body["message"])
                self._has_begun |= self._is_counted
                self._ask()
                self._worker.order({"goes_on": self._is_wanted})
                self._end_if_late()
            elif "offer" in body:
                self._offered = plan_from_json(body["offer"], "the plan that was offered")
            elif "plan" in body:
                return plan_from_json(body["plan"], "the plan of the process")
            else:
                raise _error_of(body)

    def _next(self) -> dict[str, Any] | None:
        """The next message; None if there is none for a while. Raises EndedEarlyError."""
        try:
            _, body = self._answers.get(timeout=POLL_S)
        except queue.Empty:
            return None
        if body is None:
            raise EndedEarlyError("its process died, as for want of memory")
        return body

    def _look_around(self) -> None:
        """End a start-up that is not wanted any more, and what takes longer than it may."""
        if not self._ask() and not self._has_begun:
            raise EndedEarlyError("it was ended before its work began")
        self._end_if_late()

    def _end_if_late(self) -> None:
        if self._waited_s > END_S:
            raise EndedEarlyError("it was ended before it had a plan")
        if self._spent_s > self._most_s:
            raise EndedEarlyError("its time was over before it had a plan")

    def _ask(self) -> bool:
        """Report to the budget; whether the work is still wanted."""
        self._is_wanted = self._is_wanted and self._budget.progress(self._share, self._message)
        return self._is_wanted


def _error_of(body: dict[str, Any]) -> EngineError:
    """The solver's error, of its own kind if that is one of ours."""
    kind = getattr(errors, str(body.get("kind")), SolverError)
    is_ours = isinstance(kind, type) and issubclass(kind, EngineError)
    made: EngineError = (kind if is_ours else SolverError)(str(body["error"]))
    return made
