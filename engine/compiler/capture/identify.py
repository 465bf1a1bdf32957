"""Placements worth a whole compile: those that resolve most of what is uncertain.

What is *at stake* at an access is its uncertainty over one run (`engine.compiler.costs.calibrate`).
A proposal moves groups with much at stake to the front of the compiler's order, and part of those
that were always fast to its end, so that what was only observed together comes apart. An early stop
says in seconds what the compiler makes of it, and `worth` how much of the stake the whole compile
would resolve.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.compiler.costs.calibrate import Fit, accesses_by_slot
from engine.compiler.costs.pools import is_resolved, slots_by_pool
from engine.compiler.reading.observation import Observation
from engine.compiler.steering.export import SORT_ORDER, both_rules, matcher_of, matchers, xla_names
from engine.program.model import Program

SEEN_SHARE = 0.5
"""An access that is observed fast for the first time, with others, resolves about this share of its
stake."""

LAST_SHARE = 0.3
"""How many of the groups that were fast in every compile a proposal moves to the end."""

LEAVE_SHARE, AWAY_SHARE = 0.2, 0.1
"""Shares of a placement's rules that one close to it omits, and of its groups that it puts last."""

MOST_FIRST, MOST_LAST = 120, 60
"""Groups with a rule at most: with 900 rules an early stop of ViT-L takes six minutes."""


def stakes(program: Program, fit: Fit) -> NDArray[np.float64]:
    """`[A]` uncertain cycles of each access over one run of the program."""
    levels = [program.instructions[a.time].level for a in program.accesses]
    times = np.array([program.multiplicity(level) for level in levels])
    cycles: NDArray[np.float64] = fit.uncertainty * times
    return cycles


def proposal(
    program: Program,
    stake: NDArray[np.float64],
    seen: Sequence[NDArray[np.bool_]],
    seed: int,
) -> Mapping[str, str]:
    """Options that put groups with much at stake first, and some of the always fast last.

    `seen`: which accesses `[A]` were fast in each compile so far. `seed` varies the order.
    """
    chance = random.Random(seed)
    first = packed(program, _by_stake(program, stake, chance))[:MOST_FIRST]
    always = np.logical_and.reduce(list(seen)) if len(seen) > 0 else np.zeros(0, dtype=bool)
    groups = {program.values[program.accesses[i].value].group for i in np.flatnonzero(always)}
    last = [g for g in sorted(groups - set(first)) if chance.random() < LAST_SHARE]
    last = sorted(chance.sample(last, min(len(last), MOST_LAST)))
    named = (
        [matcher_of(n) for g in groups for n in _names(program, g)] for groups in (first, last)
    )
    return {SORT_ORDER: both_rules(*named)}


def close_to(
    program: Program, options: Mapping[str, str], is_fast: NDArray[np.bool_], seed: int
) -> Mapping[str, str]:
    """`options` without some of their rules, and with some of what they made fast put last.

    `is_fast` `[A]`: their placement. `seed` decides which rules and groups.
    """
    chance = random.Random(seed)

    def rest(named: Sequence[str]) -> list[str]:
        return [m for m in named if chance.random() >= LEAVE_SHARE]

    first, last = map(rest, matchers(options.get(SORT_ORDER, "")))
    groups = sorted(
        {program.values[program.accesses[i].value].group for i in np.flatnonzero(is_fast)}
    )
    away = [g for g in groups if chance.random() < AWAY_SHARE][:MOST_LAST]
    last += [matcher_of(name) for group in away for name in _names(program, group)]
    others = {name: text for name, text in options.items() if name != SORT_ORDER}
    text = both_rules([m for m in first if m not in last], last)
    return {**others, SORT_ORDER: text} if text else others


def is_placed_alike(program: Program, one: Observation, other: Observation) -> NDArray[np.bool_]:
    """`[T]` whether all accesses of a slot are where they are in the other placement."""
    differs = np.flatnonzero(one.is_fast != other.is_fast)
    alike = np.ones(program.num_slots, dtype=bool)
    alike[[program.accesses[i].time for i in differs]] = False
    return alike


def packed(program: Program, groups: Sequence[int]) -> list[int]:
    """The groups of `groups`, in that order, that fit into the fast memory beside one another."""
    free = np.array(
        [program.hardware.fast_bytes - i.reserved_bytes for i in program.instructions], dtype=float
    )
    chosen = []
    for group in groups:
        touches = program.touches_of_group[group]
        begin, end = program.touches[touches[0]].time, program.touches[touches[-1]].end
        size = program.groups[group].size_bytes
        if free[begin:end].min() >= size:
            free[begin:end] -= size
            chosen.append(group)
    return chosen


def worth(
    program: Program,
    pool_of: Sequence[int],
    seen: Sequence[NDArray[np.bool_]],
    stake: NDArray[np.float64],
    is_fast: NDArray[np.bool_],
) -> float:
    """Cycles over one run of the stake that a compile with this placement would resolve."""
    accesses = accesses_by_slot(program)
    total = 0.0
    for slots in slots_by_pool(pool_of).values():
        own = [accesses[slot] for slot in slots]
        at_stake = np.sum([stake[a] for a in own], axis=0) if own[0] else np.zeros(0)
        if not at_stake.any():
            continue
        before = _patterns(own, seen)
        after = _patterns(own, [*seen, is_fast])
        if len(after) > len(before):
            total += _resolved(before, after, at_stake)
    return total


def _resolved(
    before: NDArray[np.float64], after: NDArray[np.float64], at_stake: NDArray[np.float64]
) -> float:
    """Cycles of the stake `[J]` of one pool that `after` `[R, J]` resolves, but not `before`."""
    total = 0.0
    for index in np.flatnonzero(at_stake):
        was_seen, is_seen = before[:, index].any(), after[:, index].any()
        if is_resolved(after, int(index)) and not is_resolved(before, int(index)):
            total += float(at_stake[index])
        elif is_seen and not was_seen:
            total += SEEN_SHARE * float(at_stake[index])
    return total


def _patterns(
    own: Sequence[Sequence[int]], seen: Sequence[NDArray[np.bool_]]
) -> NDArray[np.float64]:
    """`[R, J]` the different placements of one pool's accesses."""
    patterns = {tuple(one[list(a)].tolist()) for one in seen for a in own}
    rows = [pattern for pattern in sorted(patterns) if any(pattern)]
    return np.array(rows, dtype=float).reshape(len(rows), len(own[0]))


def _by_stake(program: Program, stake: NDArray[np.float64], chance: random.Random) -> list[int]:
    """Groups that may be fast, by what is at stake per byte, each times a random factor."""
    totals: dict[int, float] = {}
    for access, cycles in zip(program.accesses, stake, strict=True):
        group = program.values[access.value].group
        if cycles > 0 and program.groups[group].may_be_fast:
            totals[group] = totals.get(group, 0.0) + float(cycles)
    keys = {
        group: cycles / program.groups[group].size_bytes ** 0.5 * chance.lognormvariate(0.0, 0.7)
        for group, cycles in totals.items()
    }
    least = 1e-3 * sum(totals.values())
    return sorted((g for g in keys if totals[g] > least), key=lambda g: -keys[g])


def _names(program: Program, group: int) -> list[str]:
    return xla_names(program.values[number].name for number in program.groups[group].values)
