"""The search: ruin, recreate, keep or undo, by simulated annealing in cycles that double.

The temperature follows the number of moves, never the clock, so equal seeds and numbers of moves
give equal plans.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from engine.solvers.local.chance import gumbel, uniform
from engine.solvers.local.compiled import compiled
from engine.solvers.local.facts import Facts, Floats, Ints
from engine.solvers.local.journal import set_mark
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
)
from engine.solvers.local.stays import add_draft, remove, undo
from engine.solvers.local.timeline import settle


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
