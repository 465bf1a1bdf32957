"""The linear program of a program's lower bound, put together from its groups and their traffic."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.plan.bounds.group_rows import GroupRows
from engine.plan.bounds.linear import LinearProgram
from engine.plan.bounds.residency import Expression, Residency, Scale, scaled
from engine.plan.bounds.traffic import Traffic
from engine.program.floors import has_floor
from engine.program.model import Program

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Formulation:
    """A linear program for a program's latency, and what its parts stand for.

    `linear`: in `scale`'s units; its objective is the latency less the all-slow latency.
    """

    program: Program
    scale: Scale
    linear: LinearProgram
    rows: Residency
    traffic: Traffic

    def seconds(self, objective: float) -> float:
        """The latency for which an objective stands."""
        return self.program.all_slow_s + objective * self.scale.second_s

    def objective(self, latency_s: float) -> float:
        """The objective that stands for a latency."""
        return (latency_s - self.program.all_slow_s) / self.scale.second_s

    def served(self, values: FloatArray) -> FloatArray:
        """Share to which each touch is served from fast memory, `[touches]`."""
        shares = np.zeros(len(self.program.touches))
        for index, terms in self.rows.served.items():
            shares[index] = sum(values[variable] * part for variable, part in terms)
        return np.clip(shares, 0.0, 1.0)

    def memory_price(self, prices: FloatArray) -> FloatArray:
        """Seconds that one more byte is worth, per slot, from the rows' multipliers."""
        price = prices[self.traffic.capacity]
        for row, slot, size in self.traffic.packing:
            price[slot] += prices[row] / size
        return price * self.scale.second_s / self.scale.byte


def formulate(program: Program, is_whole: bool = False) -> Formulation | None:
    """The linear program, or None if nothing could be gained from fast memory.

    `is_whole`: prefetches hold the whole of their places (`engine.plan.bounds.whole_copies`).
    """
    worth = [n for n in range(len(program.groups)) if _is_worth_serving(program, n)]
    if not worth or program.all_slow_s <= 0:
        return None
    scale = Scale(program.all_slow_s / program.num_slots, float(program.hardware.fast_bytes))
    linear = LinearProgram()
    rows = Residency(program, linear, scale)
    for number in worth:
        GroupRows(rows, number).build()
    traffic = Traffic(rows, _add_floors(rows), is_whole)
    traffic.add()
    for index, terms in rows.served.items():
        for variable, value in terms:
            linear.costs[variable] -= program.touches[index].saving_s / scale.second_s * value
    return Formulation(program, scale, linear, rows, traffic)


def _add_floors(rows: Residency) -> dict[int, int]:
    """Variables, by slot with a floor: the time by which its savings add up to too much."""
    program, second_s = rows.program, rows.scale.second_s
    slow_s = np.array([i.fast_s for i in program.instructions])
    terms: dict[int, Expression] = defaultdict(list)
    for index, touch in enumerate(program.touches):
        slow_s[touch.time] += touch.saving_s
        served = rows.served.get(index, [])
        terms[touch.time] += scaled(served, -touch.saving_s / second_s)
    floors: dict[int, int] = {}
    for slot, instruction in enumerate(program.instructions):
        spare = (slow_s[slot] - instruction.floor_s) / second_s
        if has_floor(program, slot) and terms[slot]:
            floors[slot] = rows.linear.add_variable(slow_s[slot] / second_s, cost=1.0)
            # The seconds with some served fast, and this, are at least the floor.
            rows.linear.add_row([(floors[slot], 1.0), *terms[slot]], low=-spare)
    return floors


def _is_worth_serving(program: Program, group: int) -> bool:
    """Whether serving the group from fast memory can change any latency."""
    if not program.groups[group].may_be_fast:
        return False
    touches = (program.touches[i] for i in program.touches_of_group[group])
    return any(t.saving_s > 0 or t.slow_bytes > 0 for t in touches)
