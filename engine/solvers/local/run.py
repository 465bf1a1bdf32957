"""Run: one local search on one program, from an empty state or a plan to the best plan found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from engine.plan.model import Plan
from engine.program.model import INPUT_TIME, Access, Hardware, Instruction, Program, Value
from engine.solvers.local import search
from engine.solvers.local.compiled import is_warm, note_warm
from engine.solvers.local.facts import Facts, Ints, encode
from engine.solvers.local.handles import hold_facts, hold_state
from engine.solvers.local.plans import load_plan, present_stays, to_plan
from engine.solvers.local.recreate import objective
from engine.solvers.local.state import IS_BEST, MOVES, empty_state
from engine.solvers.local.timeline import settle
from engine.solvers.registry import Progress

CHUNK_S = 0.05
"""About the seconds between two questions whether to go on."""

GROUPS_AT_ONCE = 16
"""Groups that the greedy serves between two such questions."""

STALE_MOVES, STALE_MOVES_PER_GROUP, STALE_TIMES = 20_000, 60, 3
"""A stale run has made more moves than the first, and than the second for each group, and more than
so many times those up to its last gain."""

Order = Callable[[Facts], Ints]
"""All groups, `[G]`, in the order in which the greedy serves them."""

_SMALLEST = Program(
    name="smallest",
    hardware=Hardware("smallest", fast_bytes=1, alignment=1, bandwidth=1.0, clock_hz=1.0),
    instructions=(Instruction("read", "read", fast_s=0.0),),
    values=(Value("input", "u8[1]", size_bytes=1, defined=INPUT_TIME, group=0),),
    accesses=(Access(time=0, value=0, is_write=False, saving_s=2.0, slow_bytes=1),),
)
"""One byte that is worth a place: with it everything can be called once."""


class Run:
    """A search that can be asked for its plan at any time; `seed` decides all that it does."""

    def __init__(
        self, program: Program, seed: int, schedule: search.Schedule | None = None
    ) -> None:
        self._schedule = schedule or search.Schedule()
        self._program, self._facts = program, encode(program)
        self.state = empty_state(self._facts, seed)
        self.handles = hold_facts(self._facts), hold_state(self.state)
        settle(*self.handles)
        self.best_s = objective(self.handles[1])
        self._last_gain = 0

    @property
    def num_groups(self) -> int:
        """Groups that may be placed."""
        return len(self._facts.size)

    @property
    def is_stale(self) -> bool:
        """Whether most of the moves, the last ones, have brought nothing: a new run is due."""
        least = max(STALE_MOVES, STALE_MOVES_PER_GROUP * self.num_groups)
        return self.moves > max(least, STALE_TIMES * self._last_gain)

    @property
    def moves(self) -> int:
        """Moves made so far."""
        return int(self.state.counts[MOVES])

    def load(self, plan: Plan) -> None:
        """Begin from a valid plan instead of from nothing; before anything else."""
        load_plan(self._program, self._facts, self.handles, plan)
        self._note_best()

    def build(self, goes_on: Callable[[], bool], order: Order = search.by_density) -> None:
        """Serve every group once, in that order, while it goes on."""
        groups = order(self._facts)
        for first in range(0, len(groups), GROUPS_AT_ONCE):
            search.serve_all(*self.handles, groups[first : first + GROUPS_AT_ONCE])
            self._note_best()
            if not goes_on():
                break

    def _note_best(self) -> None:
        """What there is without a single move is the best so far."""
        self.best_s = objective(self.handles[1])
        self.state.counts[IS_BEST] = 1

    def improve(self, goes_on: Callable[[], bool], most: int | None = None) -> None:
        """Make moves while it goes on, at most `most` in all; the best stays are then present."""
        chunk = 16
        while self.num_groups and goes_on() and (most is None or self.moves < most):
            begun = time.perf_counter()
            self.make_moves(self.moves + chunk if most is None else min(self.moves + chunk, most))
            seconds = max(time.perf_counter() - begun, 1e-6)
            chunk = max(1, min(4 * chunk, int(chunk * CHUNK_S / seconds)))
        self.settle_on_best()

    def make_moves(self, most: int) -> None:
        """Make moves until there are `most` of them."""
        if self.num_groups:
            num, before_s = most - self.moves, self.best_s
            self.best_s = search.improve(*self.handles, num, self.best_s, self._schedule)
            if self.best_s < before_s:
                self._last_gain = self.moves

    def settle_on_best(self) -> None:
        """Make the best known stays the present ones."""
        if not self.state.counts[IS_BEST]:
            search.restore_best(*self.handles)

    def plan(self, notes: Mapping[str, Any]) -> Plan:
        """The plan of the present stays."""
        return to_plan(self._program, self._facts, present_stays(self.state), notes)


def compile_all(progress: Progress) -> None:
    """Call everything without work to do, so that no clock counts the compiling."""
    if is_warm():
        return
    progress(0.0, "compiling the search, a minute or two; later runs find it compiled")
    run = Run(_SMALLEST, 0)
    run.build(lambda: True)
    search.improve(*run.handles, 0, run.best_s, search.Schedule())
    search.restore_best(*run.handles)
    again = Run(_SMALLEST, 0)
    again.load(run.plan({}))
    note_warm()
