"""The chain of causes between two plans: whose place a tensor took, whom that kept out, the cost.

Two plans differ in stays. Where a stay that only one plan has overlaps, in addresses and slots, a
stay that only the other one has, the first took the place of the second. From one tensor on, such
steps lead to the others: who was kept out, who moved elsewhere and took a third one's place, who
came in because a place was free. Where no place explains a difference, two copies that use the same
slots may: slow memory serves one after the other. What each tensor costs is attributed as in
`engine.analysis.attribution`, so that the chain and what is left over add up to the difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from engine.analysis.attribution import attribute
from engine.plan.model import Copy, Plan, Stay
from engine.plan.simulate import Simulation
from engine.program.model import Program

NOBODY = -1
"""In place of the index of a cause: the chain begins here."""


class Why(StrEnum):
    """How one tensor's difference comes of another's."""

    FIRST = "the decision"
    KEPT_OUT = "kept out"
    """The other one stands in its place."""
    CAME_IN = "came in"
    """It stands where the other one would have stood."""
    ROAD = "the same road"
    """Its copy, or its missing copy, shares slots with a copy of the other."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One tensor in the chain. `by`: index of the cause before it, or `NOBODY`.

    `cost_s`: what it costs more in seconds; negative: less. `mine`, `theirs`: its own stay and that
    of the cause before it which exclude each other, of `KEPT_OUT` and `CAME_IN`.
    """

    group: int
    cost_s: float
    why: Why
    by: int
    depth: int
    mine: Stay | None = None
    theirs: Stay | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """The causes in the order found, the first decision first.

    `other_s`: what all tensors outside the chain cost more.
    """

    causes: tuple[Cause, ...]
    other_s: float

    @property
    def total_s(self) -> float:
        """The difference of the two latencies."""
        return sum(cause.cost_s for cause in self.causes) + self.other_s

    def telling(self, least_s: float) -> list[int]:
        """Indices of the causes that cost or save at least so much, and of those leading there."""
        kept: set[int] = {0} if self.causes else set()
        for number, cause in enumerate(self.causes):
            at = number if abs(cause.cost_s) >= least_s else NOBODY
            while at != NOBODY and at not in kept:
                kept.add(at)
                at = self.causes[at].by
        return sorted(kept)


def chain_of_causes(
    program: Program,
    other: tuple[Plan, Simulation],
    plan: tuple[Plan, Simulation],
    group: int,
) -> Chain:
    """What follows, under `plan` and not under `other`, from how `group` is served.

    Costs are those of `plan` above `other`.
    """
    cost_s = {cost.group: cost.total_s for cost in attribute(program, other, plan)}
    search = _Search(program, plan[0], other[0], cost_s)
    causes = search.run(group)
    linked = {cause.group for cause in causes}
    return Chain(tuple(causes), sum(s for g, s in cost_s.items() if g not in linked))


class _Boxes:
    """Stays of one plan that the other has not, as columns."""

    def __init__(self, program: Program, stays: Sequence[Stay]) -> None:
        self.stays = stays
        rows = [
            (s.group, s.start, s.end, s.offset, s.offset + program.groups[s.group].size_bytes)
            for s in stays
        ]
        columns: NDArray[np.int64] = np.array(rows, dtype=np.int64).reshape(-1, 5)
        self.group, self.start, self.end, self.low, self.high = columns.T

    def of(self, group: int) -> Iterator[int]:
        yield from np.flatnonzero(self.group == group).tolist()

    def hit(self, other: _Boxes, number: int) -> list[int]:
        """Own boxes that overlap one of the other's, those that hold most of its slots first."""
        begins = np.maximum(self.start, other.start[number])
        shared = np.minimum(self.end, other.end[number]) - begins
        meets = (shared > 0) & (self.low < other.high[number]) & (other.low[number] < self.high)
        found = np.flatnonzero(meets & (self.group != other.group[number]))
        order: list[int] = found[np.argsort(-shared[found], kind="stable")].tolist()
        return order


class _Search:
    """Breadth first over the tensors that differ, along places, else along copies."""

    def __init__(self, program: Program, plan: Plan, other: Plan, cost_s: dict[int, float]) -> None:
        self.cost_s = cost_s
        mine, theirs = set(plan.stays), set(other.stays)
        self.here = _Boxes(program, [s for s in plan.stays if s not in theirs])
        self.there = _Boxes(program, [s for s in other.stays if s not in mine])
        self.copies = _changed(plan, other)
        self.causes: list[Cause] = []
        self.seen: set[int] = set()

    def run(self, group: int) -> list[Cause]:
        """All causes from one group on."""
        self._add(Cause(group, self.cost_s.get(group, 0.0), Why.FIRST, NOBODY, 0))
        at = 0
        while at < len(self.causes):
            self._places(at)
            at += 1
            if at == len(self.causes):
                self._roads()
        return self.causes

    def _add(self, cause: Cause) -> None:
        if cause.group not in self.seen:
            self.seen.add(cause.group)
            self.causes.append(cause)

    def _places(self, at: int) -> None:
        group = self.causes[at].group
        for boxes, others, why in (
            (self.here, self.there, Why.KEPT_OUT),
            (self.there, self.here, Why.CAME_IN),
        ):
            for number in boxes.of(group):
                for hit in others.hit(boxes, number):
                    self._link(at, others.stays[hit], boxes.stays[number], why)

    def _link(self, at: int, mine: Stay, theirs: Stay, why: Why) -> None:
        cost_s = self.cost_s.get(mine.group, 0.0)
        depth = self.causes[at].depth + 1
        self._add(Cause(mine.group, cost_s, why, at, depth, mine, theirs))

    def _roads(self) -> None:
        """Link groups that cost more or less, and that no place leads to, by copies in time."""
        waiting = [g for g, s in self.cost_s.items() if s and g not in self.seen]
        for group in sorted(waiting, key=lambda g: -abs(self.cost_s[g])):
            by = self._shares_road(group)
            if by != NOBODY:
                depth = self.causes[by].depth + 1
                self._add(Cause(group, self.cost_s[group], Why.ROAD, by, depth))

    def _shares_road(self, group: int) -> int:
        own = self.copies.get(group, ())
        for at, cause in enumerate(self.causes):
            for copy in self.copies.get(cause.group, ()):
                if any(c.start < copy.deadline and copy.start < c.deadline for c in own):
                    return at
        return NOBODY


def _changed(plan: Plan, other: Plan) -> dict[int, list[Copy]]:
    """By group, the copies that only one of the plans has."""
    changed: dict[int, list[Copy]] = {}
    for copy in set(plan.copies) ^ set(other.copies):
        changed.setdefault(copy.group, []).append(copy)
    return changed
