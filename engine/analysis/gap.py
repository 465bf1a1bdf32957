"""Where the gap between two plans opens, slot by slot; and which seconds of it are the bound's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.analysis.attribution import cost_changes
from engine.plan.model import Plan
from engine.plan.simulate import Simulation
from engine.program.model import Program

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Share:
    """What one tensor (its group) costs more in one slot, in seconds."""

    group: int
    slow_s: float
    stall_s: float

    @property
    def cost_s(self) -> float:
        """By slow accesses and by waits; negative: it costs less."""
        return self.slow_s + self.stall_s


@dataclass(frozen=True, slots=True)
class Opening:
    """A slot (`T`: the end of the program) in which one plan takes longer than another.

    `shares`: by tensor, the largest first. `cost_s` negative: the gap closes there.
    """

    time: int
    shares: tuple[Share, ...]

    @property
    def cost_s(self) -> float:
        """Seconds more in this slot."""
        return sum(share.cost_s for share in self.shares)

    @property
    def group(self) -> int:
        """The tensor to which most of it belongs."""
        return self.shares[0].group


def openings(
    program: Program, best: tuple[Plan, Simulation], plan: tuple[Plan, Simulation]
) -> list[Opening]:
    """The slots in which `plan` takes other time than `best`, where most is lost first.

    They add up to `plan.latency_s - best.latency_s`.
    """
    slow, stall = cost_changes(program, best, plan)
    by_time: dict[int, list[Share]] = defaultdict(list)
    for place in slow | stall:
        time, group = place
        by_time[time].append(Share(group, slow.get(place, 0.0), stall.get(place, 0.0)))
    found = [
        Opening(time, tuple(sorted(shares, key=lambda s: (-abs(s.cost_s), s.group))))
        for time, shares in by_time.items()
    ]
    return sorted(found, key=lambda opening: (-opening.cost_s, opening.time))


def bound_by_slot(program: Program, served: Sequence[float]) -> FloatArray:
    """`[T + 1]` seconds that each slot takes in the bound's fractional optimum.

    `served`: by touch, of `engine.plan.bounds.Bound`. They add up to the bound of the linear
    program, less what that charges for copies, which belong to no slot.
    """
    seconds = np.array([i.fast_s for i in program.instructions], dtype=np.float64)
    for touch, share in zip(program.touches, served, strict=True):
        seconds[touch.time] += touch.saving_s * (1.0 - share)
    seconds = np.maximum(seconds, [i.floor_s for i in program.instructions])
    return np.append(seconds, 0.0)
