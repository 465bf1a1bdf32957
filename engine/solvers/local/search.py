"""The search from program to best plan: start plans, then ruin and recreate under annealing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from engine.plan.model import Plan
from engine.program.model import INPUT_TIME, Access, Hardware, Instruction, Program, Value
from engine.solvers.local.arrays import Facts, Floats, Ints, encode
from engine.solvers.local.compiled import Code, compiled, interpreted
from engine.solvers.local.machine import is_warm, machine_code, note_warm
from engine.solvers.local.packing import Life, pack
from engine.solvers.local.plans import (
    key_of,
    load_plan,
    place_stays,
    present_stays,
    spans_of,
    to_plan,
)
from engine.solvers.local.recreate import objective, serve_group, serve_run
from engine.solvers.local.ruin import ruin
from engine.solvers.local.state import (
    COMPUTE_S,
    GROUP,
    IS_BEST,
    IS_CALM,
    IS_PRICED,
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
    set_mark,
    uniform,
)
from engine.solvers.local.stays import add_draft, remove, undo
from engine.solvers.local.timeline import settle
from engine.solvers.registry import NOT_COUNTED, Progress


class Schedule(NamedTuple):
    """The temperature over the moves.

    `hot`, `cold`: at the two ends of a cycle, as shares of the latency. `moves_per_group`: moves in
    the first cycle, per group; each later cycle has twice as many.
    """

    hot: float = 1e-4
    cold: float = 1e-6
    moves_per_group: int = 8

    def heated(self, times: float) -> Schedule:
        """The same, so many times hotter at both ends."""
        return self._replace(hot=times * self.hot, cold=times * self.cold)


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
    saving_s = np.add.reduceat(facts.saving_s, first) if len(first) else np.zeros(0)
    return np.argsort(-saving_s / (facts.size * span), kind="stable")


@compiled
def serve_runs(facts: Facts, state: State, runs: Ints) -> None:
    """Serve these runs of touches one after another, each kept if it pays."""
    for index in range(len(runs)):
        set_mark(state, 0)
        serve_run(facts, state, runs[index, 0], runs[index, 1])


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


CONFIRM_EVERY = 16_384
"""Moves after which the best stays are given places."""

TIGHTEN = 256
"""Where a stay finds no place, 1 / TIGHTEN of the memory stays unused in its slots from then on."""

CHUNK_S = 0.05
"""About the seconds between two questions whether to go on."""

GROUPS_AT_ONCE = 16
"""Groups that the greedy serves between two such questions."""

STALE_MOVES_PER_GROUP, STALE_TIMES = 60, 3
"""A stale run has made more moves than so many for each group, and more than so many times those up
to its last gain."""

_SMALLEST = Program(
    name="smallest",
    hardware=Hardware("smallest", fast_bytes=1, alignment=1, bandwidth=1.0, clock_hz=1.0),
    instructions=(Instruction("read", "read", fast_s=0.0),),
    values=(Value("input", "u8[1]", size_bytes=1, defined=INPUT_TIME, group=0),),
    accesses=(Access(time=0, value=0, is_write=False, saving_s=2.0, slow_bytes=1),),
)
"""One byte that is worth a place: with it everything can be called once."""


class Run:
    """A search that can be asked for its best plan at any time; `seed` decides all that it does.

    It moves stays about without addresses: what the slots have room for is given places now and
    then (`confirm`), and what finds none is taken out. `code`: what runs the inner loop.
    """

    def __init__(
        self,
        program: Program,
        seed: int,
        schedule: Schedule | None = None,
        code: Code = interpreted,
        facts: Facts | None = None,
    ) -> None:
        self._schedule = schedule or Schedule()
        self._program, self._facts = program, facts or encode(program)
        self.state = empty_state(self._facts, seed)
        self._code, self.handles = code, handles_of(code, self._facts, self.state)
        code(settle)(*self.handles)
        self._last_gain = 0
        self._confirmed = _Confirmed([], {}, self._objective())
        self._note_best()

    def use(self, code: Code) -> None:
        """From now on run the inner loop by this code; it goes on where it is."""
        if code is not self._code:
            self._code, self.handles = code, handles_of(code, self._facts, self.state)

    @property
    def num_groups(self) -> int:
        """Groups that may be placed."""
        return len(self._facts.size)

    @property
    def facts(self) -> Facts:
        """What the search knows of the program."""
        return self._facts

    @property
    def is_stale(self) -> bool:
        """Whether most of the moves, the last ones, have brought nothing: a new run is due."""
        least = STALE_MOVES_PER_GROUP * self.num_groups
        return self.moves > max(least, STALE_TIMES * self._last_gain)

    @property
    def moves(self) -> int:
        """Moves made so far."""
        return int(self.state.counts[MOVES])

    def load(self, plan: Plan) -> None:
        """Begin from a valid plan instead of from nothing; before anything else."""
        places = load_plan(self._program, self._facts, self._code, self.handles, plan)
        self._confirmed = replace(self._confirmed, places=places)
        self._note_best()
        self.confirm()

    def build(self, goes_on: Callable[[], bool]) -> None:
        """Serve every group once, the densest first, while it goes on."""
        groups = by_density(self._facts)
        self.state.counts[IS_CALM] = 1
        for first in range(0, len(groups), GROUPS_AT_ONCE):
            self._code(serve_all)(*self.handles, groups[first : first + GROUPS_AT_ONCE])
            if not goes_on():
                break
        self.state.counts[IS_CALM] = 0
        self._note_best()

    def begin_from(self, other: Run) -> None:
        """Begin from the best of another run on the program; before anything else."""
        other.confirm()
        self._confirmed = replace(self._confirmed, places=other._confirmed.places)
        self._go_to(other._confirmed.stays)
        self.confirm()

    def serve(self, runs: Ints, price_s: Floats | None = None) -> None:
        """Serve runs of touches `[N, 2]` (first, last) in this order, as far as it pays.

        `price_s` `[T]`: what a granule of memory costs in each slot; it decides between stays.
        """
        self.state.counts[IS_CALM] = 1
        if price_s is not None:
            self.state.counts[IS_PRICED] = 1
            self.state.price_s[1:] = np.cumsum(price_s)
        self._code(serve_runs)(*self.handles, runs)
        self.state.counts[IS_CALM] = self.state.counts[IS_PRICED] = 0
        self._note_best()

    def _objective(self) -> float:
        return float(objective(self.state))

    def _note_best(self) -> None:
        """What there is without a single move is the best so far."""
        self.best_s = self._objective()
        self.state.counts[IS_BEST] = 1

    def improve(self, goes_on: Callable[[], bool], most: int | None = None) -> None:
        """Make moves while it goes on, at most `most` in all; the best stays are then present."""
        # What it begins with has places, whatever becomes of what is found.
        self.confirm()
        chunk = 16
        while self.num_groups and goes_on() and (most is None or self.moves < most):
            begun = time.perf_counter()
            self.make_moves(self.moves + chunk if most is None else min(self.moves + chunk, most))
            seconds = max(time.perf_counter() - begun, 1e-6)
            chunk = max(1, min(4 * chunk, int(chunk * CHUNK_S / seconds)))
        self.settle_on_best()

    def make_moves(self, most: int) -> None:
        """Make moves until there are `most` of them."""
        while self.num_groups and self.moves < most:
            # By moves, not by the clock: equal seeds and numbers of moves give equal plans.
            due = self.moves + CONFIRM_EVERY - self.moves % CONFIRM_EVERY
            num, before_s = min(most, due) - self.moves, self.best_s
            self.best_s = float(
                self._code(improve)(*self.handles, num, self.best_s, self._schedule)
            )
            if self.best_s < before_s:
                self._last_gain = self.moves
            if self.moves == due:
                self.confirm()

    def confirm(self) -> None:
        """Give the best known stays places; if some find none, go on from the best without them."""
        if self.best_s == self._confirmed.objective_s:
            return
        stays = self._best_stays()
        places = place_stays(self._facts, stays, self._confirmed.places, self._code)
        placed = [stay for stay in stays if key_of(stay) in places]
        if len(placed) < len(stays):
            self._tighten([stay for stay in stays if key_of(stay) not in places])
            self._go_to(placed)
            if self.best_s >= self._confirmed.objective_s:
                self._go_to(self._confirmed.stays)
                return
        self._confirmed = _Confirmed(placed, places, self.best_s)

    def _best_stays(self) -> list[Ints]:
        if self.state.counts[IS_BEST]:
            return present_stays(self.state)
        return [row.copy() for row in self.state.best[: self.state.counts[NUM_BEST]]]

    def _tighten(self, stays: Sequence[Ints]) -> None:
        """Leave a little of the memory unused from now on where these stays found no place."""
        for stay in stays:
            size = min(int(self._facts.size[stay[GROUP]]), self._facts.capacity // TIGHTEN)
            for start, end in spans_of(self._facts, stay):
                self.state.free[max(start, 0) : end] -= size

    def _go_to(self, stays: Sequence[Ints]) -> None:
        """Make these the present stays, and the best."""
        for row, stay in enumerate(stays):
            self.state.best[row] = stay
        self.state.counts[NUM_BEST] = len(stays)
        self._code(restore_best)(*self.handles)
        self._note_best()

    def settle_on_best(self) -> None:
        """Make the best known stays that have places the present ones."""
        self.confirm()
        if not self.state.counts[IS_BEST]:
            self._code(restore_best)(*self.handles)
            self._note_best()

    def plan(self, notes: Mapping[str, Any]) -> Plan:
        """The best plan."""
        self.confirm()
        stays, places = self._confirmed.stays, self._confirmed.places
        return to_plan(self._program, self._facts, stays, places, notes)

    def present_plan(self) -> Plan | None:
        """The plan of the present stays, whatever it is worth; None if they find no places."""
        stays = present_stays(self.state)
        places = place_stays(self._facts, stays, self._confirmed.places, self._code)
        if len(places) < len(stays):
            return None
        return to_plan(self._program, self._facts, stays, places, {})


@dataclass(frozen=True)
class _Confirmed:
    """The best stays that have places, and what they are worth to the search."""

    stays: list[Ints]
    places: Mapping[tuple[int, int], int]
    objective_s: float


def handles_of(code: Code, facts: Facts, state: State) -> tuple[Facts, State]:
    """What functions of this code take for the facts and the state."""
    if code is interpreted:
        return facts, state
    from engine.solvers.local.handles import hold_facts, hold_state

    return code(hold_facts)(*facts), code(hold_state)(*state)


def compile_all(progress: Progress) -> Code:
    """The compiled code; first all that is not compiled yet is called without work to do.

    Where `progress` answers False before that is done, the interpreted code.
    """
    code = machine_code()
    if is_warm():
        return code
    words = f"compiling the search, a minute or two, once on this machine … {NOT_COUNTED}"
    for _ in _compiled_in_pieces(code):
        if not progress(0.0, words):
            return interpreted
    note_warm()
    return code


def _compiled_in_pieces(code: Code) -> Iterator[None]:
    """Calls all that is compiled; a turn before each call that may take long."""
    yield
    run = Run(_SMALLEST, 0, code=code)
    yield
    run.build(lambda: True)
    yield
    run.make_moves(1)
    yield
    again = Run(_SMALLEST, 0, code=code)
    again.load(run.plan({}))
    yield
    again.serve(np.zeros((1, 2), dtype=np.int64))
    yield
    code(restore_best)(*again.handles)
    pack([Life(((0, 1),), 1, 0, 1.0)], 1, code)
