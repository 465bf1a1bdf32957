"""The queue of long work: a few runs at once, a few hundred waiting, results kept for a while.

Who orders the same work again shares the run, or its kept result. Visitors get equal shares of the
workers' time: the queue is start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996), where a flow
is a visitor and a run costs its seconds. A run is tagged with its visitor's account, which never
lags behind the tag served last, and the smallest tag is served first. So nobody waits for the many
runs of another visitor, and nobody waits for ever.
"""

from __future__ import annotations

import atexit
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from engine.plan.model import Plan
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.proof import BOUND_EDITION
from ui.jobs.protocol import BOUND, DONE, FAILED, RELIEF, SOLVE, STOPPED, Order
from ui.jobs.run import Job, Run, finished
from ui.jobs.store import Result, ResultStore

_AT_ONCE = 2
_MOST_WAITING = 200
_MOST_OF_ONE = 8
"""How many runs of one visitor may wait, so that nobody fills the queue alone."""
_LEAST_COST_S = 1.0
"""What a run costs its visitor at least: orders without a budget take time too."""
_RELIEF_EDITION = 3
"""What the peak advisor's facts are; those of another edition are not taken from disk."""
_MOST_KEPT = 128
_NOTHING: Mapping[str, bytes] = MappingProxyType({})


@dataclass(frozen=True)
class _Waiting:
    """A run in the queue. `tag`: its visitor's account when it came; the least is first."""

    tag: float
    run: Run
    program: Program
    basis: Plan | None

    @property
    def end(self) -> float:
        """The visitor's account once the run has been served."""
        return self.tag + max(_LEAST_COST_S, self.run.order.seconds)


class Workshop:
    """Runs jobs, a few at a time; shared by all sessions of the server."""

    def __init__(
        self,
        at_once: int = _AT_ONCE,
        most_waiting: int = _MOST_WAITING,
        most_of_one: int = _MOST_OF_ONE,
        store: ResultStore | None = None,
    ) -> None:
        """Begin without runs; `store` keeps finished results beyond this process."""
        self._store = store or ResultStore(None)
        self._at_once, self._most_waiting = at_once, most_waiting
        self._most_of_one = most_of_one
        self._lock = threading.Lock()
        self._runs: OrderedDict[tuple[str, Order], Run] = OrderedDict()
        self._waiting: list[_Waiting] = []
        self._under_way: list[Run] = []
        self._accounts: dict[str, float] = {}
        self._served = 0.0
        atexit.register(self.close)

    def start(
        self, program: Program, solver: str, seconds: float, seed: int = 0, owner: str = ""
    ) -> Job:
        """Order a solver's run, or the lower bound under the name `BOUND`."""
        if solver == BOUND:
            details = (("edition", BOUND_EDITION),)
            return self.order(program, Order(BOUND, BOUND, seconds, seed, details=details), owner)
        return self.order(program, Order(SOLVE, solver, seconds, seed), owner)

    def relieve(
        self, program: Program, plan: Plan, identity: str, slot: int, wanted: int, owner: str = ""
    ) -> Job:
        """Order the peak advisor: free `wanted` bytes at `slot` of the plan called `identity`."""
        details = (("slot", slot), ("wanted", wanted), ("edition", _RELIEF_EDITION))
        order = Order(RELIEF, "peak advisor", 10.0, basis=identity, details=details)
        return self.order(program, order, owner, plan)

    def order(
        self,
        program: Program,
        order: Order,
        owner: str = "",
        basis: Plan | None = None,
        given: Mapping[str, bytes] = _NOTHING,
    ) -> Job:
        """A hold on the run of an order: one under way, a finished one, or a new one in the queue.

        `given`: files that the work reads; `order.basis` has to tell them apart.
        """
        key = (content_hash(program), order)
        with self._lock:
            self._waiting = [entry for entry in self._waiting if not entry.run.is_over]
            run = self._known(*key)
            if run is None or not run.take_hold(owner):
                run = Run(order, owner, given=given, holders={owner}, program=program.name)
                if refusal := self._refusal(owner):
                    run.fail(refusal)
                    return Job(run)
                self._runs[key] = run
                self._line_up(run, program, basis)
            self._runs.move_to_end(key)
            self._forget()
        self._next()
        return Job(run, owner)

    def _line_up(self, run: Run, program: Program, basis: Plan | None) -> None:
        """Put a run into the queue, after its visitor's others. Under the lock."""
        own = [entry.end for entry in self._waiting if entry.run.owner == run.owner]
        tag = max([self._served, self._accounts.get(run.owner, 0.0), *own])
        self._waiting.append(_Waiting(tag, run, program, basis))
        self._waiting.sort(key=lambda entry: entry.tag)

    def _refusal(self, owner: str) -> str:
        """Why nothing more of this visitor's can wait; empty if it can. Under the lock."""
        waiting = len(self._waiting)
        if waiting >= self._most_waiting:
            return f"{waiting} runs are waiting; try again in a minute"
        own = sum(entry.run.owner == owner for entry in self._waiting)
        if own >= self._most_of_one:
            return f"{own} of your runs are waiting; stop one of them, or try again in a minute"
        return ""

    def unfinished(self, owner: str) -> list[Job]:
        """Jobs on a visitor's runs that are waiting or under way, whichever their program."""
        with self._lock:
            runs = [r for r in self._runs.values() if not r.is_over and owner in r.holders]
        return [Job(run, owner) for run in runs]

    def kept(self, program: Program, owner: str = "") -> list[Job]:
        """Jobs that earlier visits to a program left, oldest first: results, the owner's runs."""
        identity = content_hash(program)
        with self._lock:
            mine = [
                order
                for (of, order), run in self._runs.items()
                if of == identity and not run.is_over and owner in run.holders
            ]
            orders = dict.fromkeys([*self._store.orders(identity), *mine])
            runs = [run for order in orders if (run := self._known(identity, order)) is not None]
        return [Job(run, owner) for run in runs if run.state not in (FAILED, STOPPED)]

    def _known(self, identity: str, order: Order) -> Run | None:
        """The run of this order, or one with the result that is kept on disk; under the lock."""
        key = (identity, order)
        if key not in self._runs:
            result = self._store.find(identity, order)
            if result is None:
                return None
            self._runs[key] = finished(order, result)
        return self._runs[key]

    def close(self) -> None:
        """End all runs, at the end of the server."""
        for run in list(self._runs.values()):
            run.end()

    def _forget(self) -> None:
        finished = [key for key, run in self._runs.items() if run.is_over]
        for key in finished[: max(0, len(finished) - _MOST_KEPT)]:
            del self._runs[key]

    def _next(self) -> None:
        """Start waiting runs, as long as fewer than `at_once` are under way."""
        with self._lock:
            self._waiting = [entry for entry in self._waiting if not entry.run.is_over]
            while self._waiting and len(self._under_way) < self._at_once:
                self._begin(self._waiting.pop(0))
            for place, entry in enumerate(self._waiting):
                entry.run.ahead = place

    def _begin(self, entry: _Waiting) -> None:
        """Start the thread of a run; where the system has none left, the run fails."""
        self._served = entry.tag
        later = {owner: end for owner, end in self._accounts.items() if end > self._served}
        self._accounts = {**later, entry.run.owner: entry.end}
        self._under_way.append(entry.run)
        entry.run.ahead = 0
        try:
            threading.Thread(target=self._work, args=(entry,), daemon=True).start()
        except RuntimeError as error:
            self._under_way.remove(entry.run)
            entry.run.fail(f"{error}; try again in a minute")

    def _work(self, entry: _Waiting) -> None:
        run = entry.run
        try:
            run.work(entry.program, entry.basis)
            if run.state == DONE:
                result = Result(run.plan, run.result, run.files)
                self._store.save(content_hash(entry.program), run.order, result)
        finally:
            with self._lock:
                self._under_way.remove(run)
            self._next()
