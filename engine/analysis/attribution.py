"""Where the time of a simulated run went: per instruction, per tensor, and between two plans.

Compute is what an instruction takes at least. What a slow access adds belongs to the tensor that it
touches, and so does what a write into fast memory takes longer. A stall belongs to the tensors that
were awaited: copies with one deadline are awaited in plan order, and each is charged from the
moment the one before it was complete until it is complete itself. (A copy may be late because of
others that were queued before it; the charge says who was waited for, not who was in the way.)
Nothing is left over: the parts add up to the latency, and the differences of two plans to the
difference of their latencies.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.plan.model import Plan
from engine.plan.simulate import Simulation
from engine.program.model import Program

FloatArray = NDArray[np.float64]
Place = tuple[int, int]
"""A slot (`T`: the end of the program) and a group."""


@dataclass(frozen=True, eq=False)
class Breakdown:
    """Seconds by slot, each `[T + 1]`; the last entry is the end of the program.

    `stall_s[k]` is spent waiting before instruction `k`.
    """

    compute_s: FloatArray
    slow_s: FloatArray
    stall_s: FloatArray

    @property
    def total_s(self) -> FloatArray:
        """`[T + 1]`: the sum of the parts."""
        return self.compute_s + self.slow_s + self.stall_s


@dataclass(frozen=True, slots=True)
class Cost:
    """What one group costs more under the second plan than under the first, in seconds.

    `slow_s`: by accesses where they are slower; `stall_s`: by waits for its copies. `time`: the
    slot (`T`: the end) that contributes most.
    """

    group: int
    slow_s: float
    stall_s: float
    time: int

    @property
    def total_s(self) -> float:
        """Negative: the second plan is faster here."""
        return self.slow_s + self.stall_s


def breakdown(program: Program, simulation: Simulation) -> Breakdown:
    """The parts of a run's latency by slot."""
    timeline = simulation.timeline
    compute_s = np.array([*program.least_s, 0.0])
    slow_s = np.append(timeline.duration_s, 0.0) - compute_s
    stall_s = np.append(timeline.stall_before_s, simulation.end_stall_s)
    return Breakdown(compute_s, np.maximum(slow_s, 0.0), stall_s)


def slow_costs(program: Program, plan: Plan) -> dict[Place, float]:
    """Seconds that accesses add where they are served, by slot and group.

    An instruction that is bound by its floor loses less than its accesses could save; they share
    what it loses in proportion.
    """
    by_place: dict[Place, float] = defaultdict(float)
    sums_s = np.zeros(program.num_slots)
    for access, is_fast in zip(program.accesses, plan.is_fast, strict=True):
        added_s = max(0.0, -access.saving_s if is_fast else access.saving_s)
        if added_s:
            by_place[access.time, program.values[access.value].group] += added_s
            sums_s[access.time] += added_s
    shares = [
        _added_share(i.floor_s, fastest_s, added_s)
        for i, fastest_s, added_s in zip(
            program.instructions, program.fastest_s, sums_s, strict=True
        )
    ]
    return {place: added_s * shares[place[0]] for place, added_s in by_place.items()}


def _added_share(floor_s: float, fastest_s: float, added_s: float) -> float:
    """The share of `added_s` that makes the instruction longer than its floor and `fastest_s`."""
    if floor_s <= fastest_s or added_s <= 0:
        return 1.0
    return max(0.0, fastest_s + added_s - floor_s) / added_s


def stall_costs(program: Program, plan: Plan, simulation: Simulation) -> dict[Place, float]:
    """Seconds waited, by slot and group of the awaited copy."""
    timeline = simulation.timeline
    begin_s = np.append(
        timeline.start_s - timeline.stall_before_s, simulation.latency_s - simulation.end_stall_s
    )
    reached_s: dict[int, float] = {}
    waits_s: dict[Place, float] = defaultdict(float)
    for copy, finished in zip(plan.copies, timeline.copy_finished_s, strict=True):
        now_s = reached_s.get(copy.deadline, float(begin_s[copy.deadline]))
        if finished > now_s:
            waits_s[copy.deadline, copy.group] += float(finished) - now_s
            reached_s[copy.deadline] = float(finished)
    return dict(waits_s)


def attribute(
    program: Program, first: tuple[Plan, Simulation], second: tuple[Plan, Simulation]
) -> list[Cost]:
    """The difference of two latencies by group, largest first.

    Groups that cost the same in both are left out; the totals add up to
    `second.latency_s - first.latency_s`.
    """
    slow, stall = cost_changes(program, first, second)
    places: dict[int, set[int]] = defaultdict(set)
    for time, group in [*slow, *stall]:
        places[group].add(time)
    costs = [_cost(group, sorted(times), slow, stall) for group, times in places.items()]
    costs.sort(key=lambda c: (-abs(c.total_s), c.group))
    return [c for c in costs if c.slow_s or c.stall_s]


def cost_changes(
    program: Program, first: tuple[Plan, Simulation], second: tuple[Plan, Simulation]
) -> tuple[dict[Place, float], dict[Place, float]]:
    """What slow accesses and waits cost more under the second plan, by slot and group.

    All of them add up to `second.latency_s - first.latency_s`.
    """
    slow = _differences(slow_costs(program, first[0]), slow_costs(program, second[0]))
    stall = _differences(stall_costs(program, *first), stall_costs(program, *second))
    return slow, stall


def _differences(first: dict[Place, float], second: dict[Place, float]) -> dict[Place, float]:
    changes = {place: second.get(place, 0.0) - first.get(place, 0.0) for place in first | second}
    return {place: change for place, change in changes.items() if change}


def _cost(
    group: int, times: list[int], slow: dict[Place, float], stall: dict[Place, float]
) -> Cost:
    by_time = {t: slow.get((t, group), 0.0) + stall.get((t, group), 0.0) for t in times}
    return Cost(
        group=group,
        slow_s=sum(slow.get((t, group), 0.0) for t in times),
        stall_s=sum(stall.get((t, group), 0.0) for t in times),
        time=max(times, key=lambda t: abs(by_time[t])),
    )
