"""`portfolio`: `local` on one core, beside it other searches on the others; the best plan counts.

`local` runs in this process for the whole time. On the other cores `local` with other seeds and
`evolution` take turns in processes of their own. Members that are named all run in processes; where
there is no time or place to start these, one after another in this one.
"""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.errors import ConfigError, EndedEarlyError, EngineError, SolverError
from engine.folders import temporary_folder
from engine.plan.check import check
from engine.plan.io import plan_from_json, save_plan
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.processes import num_cores
from engine.program.io import save
from engine.program.model import Program
from engine.program.provenance import has_compiled_plan
from engine.solvers.apart.process import POLL_S, Answers, Worker, drain, worker_environment
from engine.solvers.registry import MAX_SEED, SOLVERS, Budget, first_plan


@dataclass(frozen=True)
class Member:
    """A registered solver.

    `takes_start`: it can begin from the best plan so far. `least_s`: a shorter turn is of no use.
    """

    solver: str
    takes_start: bool = False
    least_s: float = 0.0


LEADER = "local"
USUAL = (Member(LEADER, takes_start=True), Member("evolution", least_s=15.0))
"""In turn, beside the leader."""


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

    def take(self, seconds: float) -> Member | None:
        """The member whose turn it is, of those that so many seconds are of use to, if any."""
        for _ in self._members:
            member = self._members[self._next % len(self._members)]
            self._next += 1
            if seconds >= member.least_s:
                return member
        return None

    def leave_out(self, member: Member) -> None:
        """All turns of the solver end."""
        self._members = [some for some in self._members if some != member]


COMPILED = "xla_compiled"
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
JUDGED_TOUCHES_PER_S, MOST_JUDGED_SHARE = 10_000, 0.1
"""What is left of the time after the leader, to judge its plan and XLA's: a second for so many
touches, at most that share."""
IDLE_SHARE = 0.2
"""A time slice that ends sooner, and without a better plan, has nothing more to find."""
MOST_LOST = 3


def portfolio(program: Program, budget: Budget) -> Plan:
    """The best plan of all members.

    Raises ConfigError for an unknown member, SolverError for a broken plan to begin from.
    """
    race = _Race(program, budget)
    race.begin()
    race.run()
    return race.answer()


@dataclass(frozen=True)
class _TimeSlice:
    """A member at work. `until`: by `time.monotonic`, which all processes of a system share (Linux
    and macOS count from its start), and which goes on when somebody sets the time of day."""

    member: Member
    seed: int
    begun: float
    until: float


class _Race:
    """One run of the portfolio: its clock, the best plan, and the time slice of each worker."""

    def __init__(self, program: Program, budget: Budget) -> None:
        options = budget.options
        self._program, self._budget = program, budget
        self._members = members_named(options.get("members"))
        self._turns = Turns(self._members)
        self._is_led = options.get("members") is None
        processes = int(options.get("processes", num_cores()))
        if processes < 1:
            raise ConfigError(f"portfolio: {processes} processes; name at least one")
        self._workers = processes - self._is_led if budget.seconds >= LEAST_S else 0
        self._begun = time.monotonic()
        self._end = self._begun + budget.seconds
        judged_s = len(program.touches) / JUDGED_TOUCHES_PER_S if self._is_led else 0.0
        self._lead_end = self._end - min(judged_s, MOST_JUDGED_SHARE * budget.seconds)
        # The leader hears the others once more at its end.
        self._last = self._lead_end - min(RESERVE * budget.seconds, MOST_RESERVE_S)
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
        if not self._is_led:
            # The leader has quick plans of its own.
            self._consider_compiled()
            quick = first_plan(self._program, replace(self._budget, progress=self._listen))
            self._consider(quick, quick.solver)
        self._tell()

    def _consider_compiled(self) -> None:
        if has_compiled_plan(self._program):
            # A stored plan that cannot be read costs no plan that was found.
            with suppress(EngineError):
                plan = SOLVERS[COMPILED].run(self._program, self._budget)
                self._consider(plan, COMPILED)

    def _listen(self, share: float, message: str) -> bool:
        self._is_wanted = self._is_wanted and self._budget.progress(share, message)
        return self._is_wanted

    def run(self) -> None:
        """The leader, and time slices on the other cores, until the time is over."""
        answers: Answers = queue.SimpleQueue()
        with ExitStack() as held:
            folder = Path()  # Without workers nothing is put there.
            try:
                if self._workers:
                    folder = held.enter_context(temporary_folder("portfolio"))
                    save(self._program, folder / PROGRAM)
            except (OSError, EngineError):
                self._do_without()
            try:
                if self._is_led:
                    self._lead(folder, answers)
                elif not self._workers:
                    self._follow_each_other()
                else:
                    while not self.is_over() and self._tell():
                        self._look_after(folder, answers, POLL_S)
            finally:
                self._end_all()

    def _lead(self, folder: Path, answers: Answers) -> None:
        """Search in this process, and look after the others whenever that reports."""

        def goes_on(share: float, message: str) -> bool:
            del share
            self._look_after(folder, answers, 0.0)
            return self._tell(message) and not self._is_perfect

        left_s = max(0.0, self._lead_end - time.monotonic())
        start = self._budget.options.get("start")
        budget = Budget(left_s, self._budget.seed, goes_on, {"start": start})
        self._consider(SOLVERS[LEADER].run(self._program, budget), LEADER)
        self._look_after(folder, answers, 0.0)
        # At the end: reading it takes a while, which is the leader's.
        self._consider_compiled()

    def _follow_each_other(self) -> None:
        """The named members in this process, each for an equal share of the time that is left."""
        for number, member in enumerate(self._members):
            now = time.monotonic()
            if now >= self._end or self._is_perfect or not self._is_wanted:
                break
            until = now + (self._end - now) / (len(self._members) - number)

            def goes_on(share: float, message: str, until: float = until) -> bool:
                del share, message
                return self._tell() and time.monotonic() < until

            start = self._beginning() if member.takes_start else None
            budget = Budget(until - now, self._budget.seed, goes_on, {"start": start})
            # One that fails is no use, as in a process.
            with suppress(EngineError):
                self._num_slices += 1
                self._consider(SOLVERS[member.solver].run(self._program, budget), member.solver)

    def _look_after(self, folder: Path, answers: Answers, wait_s: float) -> None:
        """Hear what workers have found, and give them time slices; waits so long for an answer."""
        try:
            self._hire(folder, answers)
            for worker, body in drain(answers, wait_s):
                self._hear(worker, body)
        except (OSError, RuntimeError, EngineError):
            # No process, thread or place on the disk is left: the plan at hand counts for more.
            self._do_without()

    def _do_without(self) -> None:
        """Go on without other processes; the plan's notes say that they were lost."""
        self._end_all()
        self._workers, self._lost = 0, max(self._lost, 1)

    @property
    def _is_perfect(self) -> bool:
        return self._best_s <= self._program.all_fast_s * (1 + 1e-9)

    def is_over(self) -> bool:
        """Whether there is no time left, nothing to gain, or nobody to find it."""
        now = time.monotonic()
        has_hands = self._workers > 0 and (self._at_work or self._lost < MOST_LOST)
        has_turns = has_hands and now < self._last and not self._turns.is_over
        has_work = any(self._at_work.values()) or has_turns
        return now >= self._end or self._is_perfect or not has_work or not self._is_wanted

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

    def _tell(self, first: str = "a first plan") -> bool:
        """Report how far it is; `first`: in place of the best plan, while there is none."""
        share = (time.monotonic() - self._begun) / max(self._budget.seconds, 1e-9)
        if self._best is None:
            return self._listen(min(1.0, share), first)
        message = f"best {1e6 * self._best_s:.2f} us by {self._best.solver}"
        return self._listen(min(1.0, share), message)

    def _hire(self, folder: Path, answers: Answers) -> None:
        """As many workers as there may be, and a time slice for each that has none."""
        missing = self._workers - len(self._at_work) if self._lost < MOST_LOST else 0
        for _ in range(missing):
            self._at_work[Worker(folder / PROGRAM, answers, _environment())] = None
        for worker, time_slice in self._at_work.items():
            if time_slice is None and not self._turns.is_over:
                self._send(worker, folder)

    def _send(self, worker: Worker, folder: Path) -> None:
        now = time.monotonic()
        if now >= self._last:
            return
        until = min(self._last, now + max(LEAST_SLICE_S, self._budget.seconds / ROUNDS))
        member = self._turns.take(until - now)
        if member is None:
            return
        self._num_slices += 1
        # The leader's seed is that of the budget.
        seed = (SEEDS * self._budget.seed + self._num_slices) % (MAX_SEED + 1)
        time_slice = _TimeSlice(member, seed, now, until)
        self._at_work[worker] = time_slice
        start = self._file_of_best(folder) if member.takes_start else None
        worker.order(
            {
                "solver": member.solver,
                "seed": time_slice.seed,
                "until": time_slice.until,
                "start": start if start is None else str(start),
            }
        )

    def _file_of_best(self, folder: Path) -> Path | None:
        """The file of the plan to begin from; each has one, since workers may still read others."""
        start, file = self._beginning(), folder / f"plan-{self._gains}.json"
        if start is None:
            return None
        if not file.exists():
            save_plan(start, file)
        return file

    def _beginning(self) -> Plan | None:
        """The best plan that was searched for; a search does better from its own quick plans than
        from XLA's."""
        return None if self._best is None or self._best.solver == COMPILED else self._best

    def _hear(self, worker: Worker, body: dict[str, Any] | None) -> None:
        """Take a worker's answer: a plan, an error, progress, or None if the process is dead.

        A member that was not ready when its time slice ended has more: what it compiled is kept.
        """
        time_slice = self._at_work.get(worker)
        if body is None and worker in self._at_work:
            self._lost += 1
            del self._at_work[worker]
            worker.end()
        if body is None or time_slice is None or "share" in body:
            return
        self._at_work[worker] = None
        is_better = "plan" in body and self._receive(body["plan"], time_slice.member.solver)
        is_early = time.monotonic() - time_slice.begun < IDLE_SHARE * (
            time_slice.until - time_slice.begun
        )
        is_hopeless = "error" in body and body.get("kind") != EndedEarlyError.__name__
        if is_hopeless or (is_early and not is_better):
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
