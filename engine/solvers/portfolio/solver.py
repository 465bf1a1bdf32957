"""`portfolio`: solvers share one time budget and all cores; each continues from the best plan."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, EngineError, SolverError
from engine.folders import temporary_folder
from engine.plan.check import check
from engine.plan.io import plan_from_json, save_plan
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.processes import num_cores
from engine.program.io import save
from engine.program.model import Program
from engine.program.provenance import has_compiled_plan
from engine.solvers.apart.process import Answers, Worker, drain, worker_environment
from engine.solvers.registry import SOLVERS, Budget, floor_plan


@dataclass(frozen=True)
class Member:
    """A registered solver; `takes_start`: it can begin from the best plan so far."""

    solver: str
    takes_start: bool = False


USUAL = (Member("local", takes_start=True), Member("evolution"), Member("local", takes_start=True))
"""In turn; a search that stands beside the others is played more rarely than the strongest."""


def members_named(names: Sequence[str] | None) -> tuple[Member, ...]:
    """The usual members, or the named solvers.

    Raises ConfigError if a solver does not exist or is the portfolio itself, or none is named.
    """
    if names is None:
        return USUAL
    starting = {member.solver for member in USUAL if member.takes_start}
    for name in names:
        if name not in SOLVERS or name == "portfolio":
            raise ConfigError(f"portfolio: {name!r} cannot be a member; name {', '.join(SOLVERS)}")
    if not names:
        raise ConfigError("portfolio: name at least one member")
    return tuple(Member(name, name in starting) for name in names)


class Turns:
    """Members in a circle; those that have nothing more to find are left out."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = list(members)
        self._next = 0

    @property
    def is_over(self) -> bool:
        """Whether nobody is left."""
        return not self._members

    def take(self) -> Member:
        """The member whose turn it is."""
        member = self._members[self._next % len(self._members)]
        self._next += 1
        return member

    def leave_out(self, member: Member) -> None:
        """All turns of the solver end."""
        self._members = [some for some in self._members if some != member]


PROGRAM = "program.json"
_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


def _environment() -> dict[str, str]:
    """The user's environment, with one thread: more would be in the way of the other workers."""
    flags = os.environ.get("XLA_FLAGS", "")
    return worker_environment(OMP_NUM_THREADS="1", XLA_FLAGS=f"{flags} {_ONE_THREAD}".lstrip())


LEAST_S = 3.0
"""Shorter budgets are over before a process has started."""
ROUNDS, LEAST_SLICE_S = 4, 2.0
"""A budget has so many time slices on each core, but for the last none shorter than that."""
RESERVE, MOST_RESERVE_S = 0.05, 3.0
"""Share of the budget that is left for the last time slices to answer in, and the most of it."""
SEEDS = 1_000_003
"""Between the seeds of two budgets, so that neighbours share no time slice's."""
IDLE_SHARE = 0.2
"""A time slice that ends sooner, and without a better plan, has nothing more to find."""
MOST_LOST = 3


def portfolio(program: Program, budget: Budget) -> Plan:
    """The best plan of all members.

    Raises ConfigError for an unknown member, SolverError for a broken plan to begin from.
    """
    race = _Race(program, budget)
    race.begin()
    if budget.seconds >= LEAST_S and not race.is_over():
        race.run()
    return race.answer()


@dataclass(frozen=True)
class _TimeSlice:
    """A member at work. `until`: seconds since the epoch, which all processes share."""

    member: Member
    seed: int
    begun: float
    until: float


class _Race:
    """One run of the portfolio: its clock, the best plan, and the time slice of each worker."""

    def __init__(self, program: Program, budget: Budget) -> None:
        options = budget.options
        self._program, self._budget = program, budget
        members = members_named(options.get("members"))
        self._turns = Turns(members)
        self._processes = int(options.get("processes") or num_cores())
        if self._processes < 1:
            raise ConfigError(f"portfolio: {self._processes} processes; name at least one")
        self._begun = time.time()
        self._end = self._begun + budget.seconds
        self._last = self._end - min(RESERVE * budget.seconds, MOST_RESERVE_S)
        self._best: Plan | None = None
        self._best_s = float("inf")
        self._is_wanted = True
        self._at_work: dict[Worker, _TimeSlice | None] = {}
        self._num_slices = self._lost = self._gains = 0

    def begin(self) -> None:
        """Take the plans that are there at once."""
        if (start := self._budget.options.get("start")) is not None:
            if (violation := check(self._program, start)) is not None:
                message = f"{violation.rule}: {violation.message}"
                raise SolverError(f"the plan to begin from breaks the rule {message}")
            self._consider(start, start.solver)
        if has_compiled_plan(self._program):
            compiled = SOLVERS["xla_compiled"].run(self._program, self._budget)
            self._consider(compiled, "xla_compiled")
        if self._best is None or not self.is_over():
            quick = floor_plan(self._program, replace(self._budget, progress=self._listen))
            self._consider(quick, quick.solver)
        self._tell()

    def _listen(self, share: float, message: str) -> bool:
        self._is_wanted = self._is_wanted and self._budget.progress(share, message)
        return self._is_wanted

    def run(self) -> None:
        """Time slices on all cores until the time is over or nobody has anything to find."""
        answers: Answers = queue.SimpleQueue()
        with temporary_folder("portfolio") as folder:
            save(self._program, folder / PROGRAM)
            try:
                while not self.is_over() and self._tell():
                    self._hire(folder, answers)
                    for worker, body in drain(answers):
                        self._hear(worker, body)
            finally:
                self._end_all()

    def is_over(self) -> bool:
        """Whether there is no time left, nothing to gain, or nobody to find it."""
        is_perfect = self._best_s <= self._program.all_fast_s * (1 + 1e-9)
        now = time.time()
        has_work = any(self._at_work.values()) or not (self._turns.is_over or now >= self._last)
        return now >= self._end or is_perfect or not has_work or not self._is_wanted

    def answer(self) -> Plan:
        """The best plan, and how it came about."""
        assert self._best is not None
        facts = {"found_by": self._best.solver, "time_slices": self._num_slices, "lost": self._lost}
        return replace(self._best, notes={**self._best.notes, **facts})

    def _consider(self, plan: Plan, solver: str) -> bool:
        """Take a plan that is valid and faster than the best."""
        if check(self._program, plan) is not None:
            return False
        latency_s = simulate(self._program, plan).latency_s
        if latency_s >= self._best_s:
            return False
        self._best, self._best_s = replace(plan, solver=solver), latency_s
        self._gains += 1
        return True

    def _tell(self) -> bool:
        share = (time.time() - self._begun) / max(self._budget.seconds, 1e-9)
        by = self._best.solver if self._best is not None else "nobody"
        message = f"best {1e6 * self._best_s:.2f} us by {by}"
        return self._listen(min(1.0, share), message)

    def _hire(self, folder: Path, answers: Answers) -> None:
        """As many workers as there may be, and a time slice for each that has none."""
        missing = self._processes - len(self._at_work) if self._lost < MOST_LOST else 0
        for _ in range(missing):
            self._at_work[Worker(folder / PROGRAM, answers, _environment())] = None
        for worker, time_slice in self._at_work.items():
            if time_slice is None and not self._turns.is_over:
                self._send(worker, folder)
        if not self._at_work:
            self._is_wanted = False

    def _send(self, worker: Worker, folder: Path) -> None:
        now = time.time()
        if now >= self._last:
            return
        member = self._turns.take()
        until = min(self._last, now + max(LEAST_SLICE_S, self._budget.seconds / ROUNDS))
        time_slice = _TimeSlice(member, SEEDS * self._budget.seed + self._num_slices, now, until)
        self._num_slices += 1
        self._at_work[worker] = time_slice
        start = str(self._file_of_best(folder)) if member.takes_start else None
        worker.order(
            {
                "solver": member.solver,
                "seed": time_slice.seed,
                "until": time_slice.until,
                "start": start,
            }
        )

    def _file_of_best(self, folder: Path) -> Path:
        """The file of the best plan; each plan has its own, since workers may still read others."""
        assert self._best is not None
        file = folder / f"plan-{self._gains}.json"
        if not file.exists():
            save_plan(self._best, file)
        return file

    def _hear(self, worker: Worker, body: dict[str, Any] | None) -> None:
        """Take a worker's answer: a plan, an error, progress, or None if the process is dead."""
        time_slice = self._at_work.get(worker)
        if body is None and worker in self._at_work:
            self._lost += 1
            del self._at_work[worker]
            worker.end()
        if body is None or time_slice is None or "share" in body:
            return
        self._at_work[worker] = None
        is_better = "plan" in body and self._receive(body["plan"], time_slice.member.solver)
        is_early = time.time() - time_slice.begun < IDLE_SHARE * (
            time_slice.until - time_slice.begun
        )
        if "error" in body or (is_early and not is_better):
            self._turns.leave_out(time_slice.member)

    def _receive(self, body: Any, solver: str) -> bool:
        try:
            return self._consider(plan_from_json(body, f"the plan of {solver}"), solver)
        except EngineError:
            return False

    def _end_all(self) -> None:
        for worker in self._at_work:
            worker.end()
        self._at_work.clear()
