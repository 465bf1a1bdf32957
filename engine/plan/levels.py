"""The level of a stay or a copy: in which region it begins and ends, and so how often it runs.

The rules that checker and simulator share (`docs/model.md`); neither imports the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.plan.model import Copy, Stay
from engine.program.model import TOP_LEVEL, Program


def copy_level(program: Program, copy: Copy, stays: Iterable[Stay]) -> int:
    """The level at which a copy runs; `stays` hold (at least) those of its group.

    It is the level of the copy's first slot; a copy that starts where a region begins and outlasts
    it starts before the region. A write-back without slots (`start == deadline`) happens between
    two slots: inside the region of its stay if that region ends there (it then runs once per
    iteration), else in the innermost region that holds both slots.
    """
    time = copy.start
    if copy.is_prefetch or time < copy.deadline:
        return level_of_interval(program, time, copy.deadline)
    earlier = [s.start for s in stays if s.group == copy.group and s.start < time]
    own = program.level_at(max(earlier, default=TOP_LEVEL))
    if own != TOP_LEVEL and program.level_end(own) == time:
        return own
    around = program.outwards(program.level_at(time - 1))
    return next(x for x in program.outwards(program.level_at(time)) if x in around)


def level_of_interval(program: Program, start: int, end: int) -> int:
    """The innermost level of slot `start`, minus regions that begin there and end before `end`."""
    for level in program.outwards(program.level_at(start)):
        if level == TOP_LEVEL:
            break
        region = program.regions[level]
        if region.start < start or end <= region.end:
            return level
    return TOP_LEVEL
