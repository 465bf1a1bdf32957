"""What accesses are worth where an instruction has a floor: their savings do not all add up there.

An instruction takes `max(floor_s, fast_s + the savings of its accesses that are served slow)`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from engine.program.model import Program, Touch


def slow_s(program: Program, time: int) -> float:
    """Seconds of instruction `time` when slow memory serves all its accesses."""
    return program.instructions[time].fast_s + sum(
        program.accesses[index].saving_s for index in _accesses_at(program, time)
    )


def worth_s(program: Program, touch: Touch) -> float:
    """Seconds that the touch saves at most: if all others of its instruction are slow."""
    return _saved_of(program, touch, slow_s(program, touch.time))


def loss_s(program: Program, is_fast: Sequence[bool], touch: Touch) -> float:
    """Seconds that the touch, which is fast by these flags, adds alone if it is served slow."""
    others_s = program.instructions[touch.time].fast_s + sum(
        program.accesses[index].saving_s
        for index in _accesses_at(program, touch.time)
        if not is_fast[index]
    )
    return _saved_of(program, touch, others_s + touch.saving_s)


def has_floor(program: Program, time: int) -> bool:
    """Whether instruction `time` has a floor above what its savings would leave of it."""
    return program.instructions[time].floor_s > program.fastest_s[time]


def above_floor(saving: float, spare: float) -> float:
    """What a saving makes an instruction shorter that is `spare` above its floor, or below it.

    In seconds, or in whole ticks. The first case of two is the second one without its rounding.
    """
    if saving >= 0:
        return max(min(saving, spare), 0)
    return saving - max(saving - spare, 0) + max(-spare, 0)


def _accesses_at(program: Program, time: int) -> range:
    """Indices of an instruction's accesses, which are in time order."""
    first = bisect_left(program.accesses, time, key=lambda a: a.time)
    return range(first, bisect_right(program.accesses, time, lo=first, key=lambda a: a.time))


def _saved_of(program: Program, touch: Touch, before_s: float) -> float:
    """What the touch saves of `before_s`, its instruction's seconds with it slow and no floor."""
    if not has_floor(program, touch.time):
        return touch.saving_s
    return above_floor(touch.saving_s, before_s - program.instructions[touch.time].floor_s)
