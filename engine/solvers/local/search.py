"""The search from program to best plan: start plans, then ruin and recreate under annealing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine.plan.model import Plan
from engine.program.model import INPUT_TIME, Access, Hardware, Instruction, Program, Value
from engine.solvers.local.arrays import Facts, Floats, Ints, encode
from engine.solvers.local.compiled import compiled, is_warm, note_warm
from engine.solvers.local.plans import load_plan, present_stays, to_plan
from engine.solvers.local.recreate import objective, serve_group
from engine.solvers.local.ruin import ruin
from engine.solvers.local.state import (
    COMPUTE_S,
    IS_BEST,
    KEPT_MOVES,
    MOVES,
    NONE,
    NUM_BEST,
    NUM_COLUMNS,
    NUM_PICKED,
    NUM_STAYS,
    STALL_S,
    State,
    empty_state,
    gumbel,
    hold_facts,
    hold_state,
    set_mark,
    uniform,
)
from engine.solvers.local.stays import add_draft, remove, undo
from engine.solvers.local.timeline import settle
from engine.solvers.registry import Progress
from engine.solvers.xla_msa.solver import solve as solve_like_xla


class Schedule(NamedTuple):
    """The temperature over the moves.

    `hot`, `cold`: at the two ends of a cycle, as shares of the latency. `moves_per_group`: moves in
    the first cycle, per group; each later cycle has twice as many.
    """

    hot: float = 1e-4
    cold: float = 1e-6
    moves_per_group: int = 8


@compiled
def serve_all(facts: Facts, state: State, groups: Ints) -> None:
    """Serve these groups one after another, each run of touches kept if it pays."""
    for group in groups:
        set_mark(state, 0)
        serve_group(facts, state, group)


def by_density(facts: Facts) -> Ints:
    """All groups, `[G]`, those first that save most per granule and slot of their span."""
    first, last = facts.touch_first[:-1], facts.touch_first[1:] - 1
    span = 1 + facts.time[last] - facts.time[first]
    return np.argsort(-_savings_s(facts) / (facts.size * span), kind="stable")


def by_saving(facts: Facts) -> Ints:
    """All groups, `[G]`, those first that save most."""
    return np.argsort(-_savings_s(facts), kind="stable")


def _savings_s(facts: Facts) -> Floats:
    """Seconds that the touches of each group save together, `[G]`."""
    first = facts.touch_first[:-1]
    return np.add.reduceat(facts.saving_s, first) if len(first) else np.zeros(0)


@compiled
def _density(facts: Facts, state: State, group: int) -> float:
    """Seconds that the slow touches would save, per granule and slot of their span."""
    saving_s, first, last = 0.0, NONE, NONE
    for touch in range(facts.touch_first[group], facts.touch_first[group + 1]):
        if state.served_by[touch] == NONE:
            saving_s += facts.saving_s[touch]
            first = touch if first == NONE else first
            last = touch
    if first == NONE:
        return 0.0
    return saving_s / (facts.size[group] * (1 + facts.time[last] - facts.time[first]))


@compiled
def improve(facts: Facts, state: State, num_moves: int, best_s: float, schedule: Schedule) -> float:
    """Make that many moves; the best objective known, at first `best_s`."""
    for _ in range(num_moves):
        set_mark(state, 0)
        before_s = objective(state)
        ruin(facts, state)
        is_sound = settle(facts, state)
        if is_sound:
            _recreate(facts, state)
        after_s = objective(state)
        state.counts[MOVES] += 1
        limit_s = before_s - temperature(facts, state, schedule) * math.log(uniform(state))
        if not is_sound or after_s > limit_s:
            undo(facts, state, 0)
        elif after_s > before_s and state.counts[IS_BEST]:
            # The best is copied out only when the search is about to leave it.
            undo(facts, state, 0)
            keep_best(state)
        else:
            state.counts[KEPT_MOVES] += 1
            if after_s < best_s * (1 - 1e-12):
                best_s = after_s
                state.counts[IS_BEST] = 1
    return best_s


@compiled
def temperature(facts: Facts, state: State, schedule: Schedule) -> float:
    """Seconds; falls from hot to cold in each cycle."""
    length = schedule.moves_per_group * len(facts.size)
    rest = state.counts[MOVES]
    while rest >= length:
        rest -= length
        length *= 2
    scale_s = state.sums[COMPUTE_S] + state.sums[STALL_S]
    return scale_s * schedule.hot * (schedule.cold / schedule.hot) ** (rest / length)


@compiled
def _recreate(facts: Facts, state: State) -> None:
    """Serve the picked groups anew, by density, by saving or in any order, with noise."""
    num, rule = state.counts[NUM_PICKED], uniform(state)
    for index in range(num):
        group = state.picked[index]
        worth = max(0.0, _density(facts, state, group)) + 1e-300
        if rule < 0.3:
            worth *= facts.size[group]
        weight = 0.0 if rule > 0.9 else 1.0
        state.order[index] = weight * math.log(worth) + (0.2 if rule < 0.6 else 1.0) * gumbel(state)
    for index in range(num):
        best = index
        for other in range(index + 1, num):
            if state.order[other] > state.order[best]:
                best = other
        group = state.picked[best]
        state.picked[best], state.order[best] = state.picked[index], state.order[index]
        serve_group(facts, state, group)


@compiled
def keep_best(state: State) -> None:
    """Copy the stays out as the best known."""
    num = state.counts[NUM_STAYS]
    for index in range(num):
        for column in range(NUM_COLUMNS):
            state.best[index, column] = state.stay[state.listed[index], column]
    state.counts[NUM_BEST] = num
    state.counts[IS_BEST] = 0


@compiled
def restore_best(facts: Facts, state: State) -> None:
    """Make the best known stays the present ones."""
    set_mark(state, 0)
    while state.counts[NUM_STAYS] > 0:
        remove(facts, state, state.listed[0])
    for index in range(state.counts[NUM_BEST]):
        state.draft[:] = state.best[index]
        add_draft(facts, state)
    set_mark(state, 0)
    settle(facts, state)


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

    def __init__(self, program: Program, seed: int, schedule: Schedule | None = None) -> None:
        self._schedule = schedule or Schedule()
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

    def build(self, goes_on: Callable[[], bool], order: Order = by_density) -> None:
        """Serve every group once, in that order, while it goes on."""
        groups = order(self._facts)
        for first in range(0, len(groups), GROUPS_AT_ONCE):
            serve_all(*self.handles, groups[first : first + GROUPS_AT_ONCE])
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
            self.best_s = improve(*self.handles, num, self.best_s, self._schedule)
            if self.best_s < before_s:
                self._last_gain = self.moves

    def settle_on_best(self) -> None:
        """Make the best known stays the present ones."""
        if not self.state.counts[IS_BEST]:
            restore_best(*self.handles)

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
    improve(*run.handles, 0, run.best_s, Schedule())
    restore_best(*run.handles)
    again = Run(_SMALLEST, 0)
    again.load(run.plan({}))
    note_warm()


TRIAL_MOVES = 20_000
"""Moves that every beginning gets at most."""
TRIAL_SHARE = 0.06
"""Share of the time that every beginning gets at most."""
TOUCHES_PER_S = 1000
"""XLA's heuristic is a beginning if there is a second for so many touches of the program."""

Clock = Callable[[], float]
"""The share of the time that is over."""


def best_beginning(
    program: Program, seed: int, seconds: float, share: Clock, goes_on: Callable[[Run], bool]
) -> Run:
    """The run that is ahead after the trial moves of all beginnings that there is time for."""
    begun: list[Run] = []
    for run in _beginnings(program, seed, seconds, goes_on):
        limit = share() + TRIAL_SHARE
        _try(run, share, limit, goes_on)
        begun.append(run)
        if not goes_on(run):
            break
    return min(begun, key=lambda run: run.best_s)


def _beginnings(
    program: Program, seed: int, seconds: float, goes_on: Callable[[Run], bool]
) -> Iterator[Run]:
    for order in (by_density, by_saving):
        run = Run(program, seed)
        run.build(_asking(goes_on, run), order)
        yield run
    if len(program.touches) <= TOUCHES_PER_S * seconds:
        run = Run(program, seed)
        run.load(solve_like_xla(program))
        run.build(_asking(goes_on, run))
        yield run


def _try(run: Run, share: Clock, limit: float, goes_on: Callable[[Run], bool]) -> None:
    run.improve(lambda: share() < limit and goes_on(run), TRIAL_MOVES)


def _asking(goes_on: Callable[[Run], bool], run: Run) -> Callable[[], bool]:
    return lambda: goes_on(run)
