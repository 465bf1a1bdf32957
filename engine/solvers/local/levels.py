"""Levels: where loops and branches let a stay begin and end, and at which level a copy runs.

A stay *lives* at a level, its home. The code of a region right below it, a *child*, counts for the
stay as one step: what the child touches is needed where the child begins and until it ends.
"""

from __future__ import annotations

from engine.program.model import TOP_LEVEL
from engine.solvers.local.compiled import compiled
from engine.solvers.local.facts import Facts

OUTSIDE = -2
"""No region: the slot is not within the level that was asked about."""


@compiled
def child_at(facts: Facts, home: int, time: int) -> int:
    """The child of `home` that holds `time`; TOP_LEVEL where `home` itself does, or OUTSIDE."""
    level, child = facts.level[time], TOP_LEVEL
    while level != home:
        if level == TOP_LEVEL:
            return OUTSIDE
        child = level
        level = facts.region_parent[level]
    return child


@compiled
def enter(facts: Facts, home: int, time: int) -> int:
    """Where what slot `time` needs must be there: `time`, or the start of the child around it."""
    child = child_at(facts, home, time)
    return facts.region_start[child] if child >= 0 else time


@compiled
def leave(facts: Facts, home: int, time: int) -> int:
    """The first slot after `time` and the child around it."""
    child = child_at(facts, home, time)
    return facts.region_end[child] if child >= 0 else time + 1


@compiled
def holds(facts: Facts, home: int, time: int) -> bool:
    """Whether slot `time` lies within the level."""
    return facts.region_start[home] <= time < facts.region_end[home]


@compiled
def is_around(facts: Facts, outer: int, level: int) -> bool:
    """Whether `outer` is `level` or a region around it."""
    while level != outer:
        if level == TOP_LEVEL:
            return False
        level = facts.region_parent[level]
    return True


@compiled
def common_level(facts: Facts, first: int, last: int) -> int:
    """The innermost level that holds both slots."""
    level = facts.level[first]
    while level != TOP_LEVEL and not holds(facts, level, last):
        level = facts.region_parent[level]
    return level


@compiled
def interval_level(facts: Facts, start: int, end: int) -> int:
    """The level of slot `start`, leaving regions that begin there and end before `end`."""
    level = facts.level[start] if start >= 0 else TOP_LEVEL
    while level != TOP_LEVEL:
        if facts.region_start[level] < start or end <= facts.region_end[level]:
            break
        level = facts.region_parent[level]
    return level


@compiled
def write_back_level(facts: Facts, start: int, end: int, stay_start: int) -> int:
    """The level at which a write-back of the stay from `stay_start` runs (`docs/model.md`)."""
    if start < end:
        return interval_level(facts, start, end)
    home = facts.level[stay_start] if stay_start >= 0 else TOP_LEVEL
    if home != TOP_LEVEL and facts.region_end[home] == start:
        return home
    return common_level(facts, start, start - 1) if start > 0 else facts.level[start]


@compiled
def is_border(facts: Facts, home: int, time: int) -> bool:
    """Whether `time` lies between two steps of the level: no child is cut in two."""
    if time == facts.region_end[home]:
        return True
    child = child_at(facts, home, time)
    return child == TOP_LEVEL or (child >= 0 and facts.region_start[child] == time)
