"""`xla_like`: XLA's memory space assignment, re-implemented over our programs.

Groups are placed one after another, by memory boundedness; each is tried, undone and tried again
as XLA does. What XLA does by its own model it does here too, even where our simulator disagrees.
Left out: sliced and window prefetches, and the loop optimizer.
"""

from __future__ import annotations

from engine.plan.model import Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import Program
from engine.solvers.registry import Budget, Progress, always
from engine.solvers.xla_msa.memory import Bookings, Run, repack
from engine.solvers.xla_msa.order import placement_order
from engine.solvers.xla_msa.segments import GroupPlacer, Uncommit, place_cross_program
from engine.solvers.xla_msa.slots import MsaOptions, VisitTree

NAME = "xla_like"
ASK_EVERY = 64
"""Groups that are placed between two questions whether to go on."""


def solve(program: Program, options: MsaOptions | None = None, progress: Progress = always) -> Plan:
    """The plan that XLA's heuristic would make; deterministic.

    `progress`: hears what share of the groups is placed; where it answers False, those that are not
    placed yet stay in slow memory.
    """
    placer = _Placer(program, options or MsaOptions())
    placer.place_all(progress)
    return placer.plan()


def xla_like(program: Program, budget: Budget) -> Plan:
    """The plan of `solve` with XLA's defaults; takes what time it needs (seconds at most)."""
    return solve(program, progress=budget.progress)


class _Placer:
    """Places all groups; `_repacks` counts attempts at repacking over the whole program."""

    def __init__(self, program: Program, options: MsaOptions) -> None:
        self._program = program
        self._options = options
        self._book = Bookings(program, options)
        self._visits = VisitTree(program, self._book.levels)
        self._runs: list[Run] = []
        self._repacks = 0

    def place_all(self, progress: Progress) -> None:
        """Cross-program prefetches first, then every group in order."""
        self._runs = place_cross_program(self._book)
        done = {run.group for run in self._runs}
        order = placement_order(self._program, self._book.times, self._options)
        for number, group in enumerate(order):
            if group not in done:
                self._runs.extend(self._place(group))
            if number % ASK_EVERY == ASK_EVERY - 1 and not progress(number / len(order), "places"):
                break

    def _place(self, group: int) -> list[Run]:
        """The stays of one group, booked; none if every retry failed."""
        program, visit = self._program, self._visits.of(group)
        numbers = program.touches_of_group[group]
        slow_touches = {number for number in numbers if program.touches[number].must_be_slow}
        was_repacked = False
        retry = 0
        while retry < self._options.max_retries:
            before = self._book.snapshot()
            attempt = GroupPlacer(self._book, visit, group, slow_touches, retry)
            try:
                attempt.place()
            except Uncommit:
                self._book.restore(before)
                retry += 1
                continue
            can_repack = self._repacks < self._options.max_repacks and not was_repacked
            if attempt.is_out_of_memory and can_repack:
                self._book.restore(before)
                was_repacked = True
                self._repacks += 1
                retry += not repack(self._book.heap, self._book.reserved)
                continue
            wasted = self._inefficient(attempt.runs)
            if not wasted:
                return attempt.runs
            self._book.restore(before)
            slow_touches |= wasted
        return []

    def _inefficient(self, runs: list[Run]) -> set[int]:
        """Touches of stays that copy much more than they serve."""
        program, ratio = self._program, self._options.inefficient_use_to_copy_ratio
        wasted: set[int] = set()
        for run in runs:
            copied = len(run.copies) * program.groups[run.group].size_bytes
            served = 0.0
            for number in run.touches:
                touch = program.touches[number]
                served += touch.slow_bytes / program.multiplicity(program.level_at(touch.time))
            if ratio * copied > served:
                wasted.update(run.touches)
        return wasted

    def plan(self) -> Plan:
        """Stays, copies in order of their starts, and flags."""
        program = self._program
        is_fast = [False] * len(program.accesses)
        stays: list[Stay] = []
        copies: list[Copy] = []
        for run in self._runs:
            block = self._book.heap.block(run.block)
            stays.append(Stay(run.group, block.offset, block.start, block.end))
            copies.extend(run.copies)
            for number in run.touches:
                for access in program.touches[number].accesses:
                    is_fast[access] = True
        stays.sort(key=lambda s: (s.start, s.offset, s.end))
        copies.sort(key=lambda c: (c.start, c.is_prefetch, c.deadline, c.group))
        notes = {"repacks": self._repacks}
        return Plan(content_hash(program), NAME, tuple(is_fast), tuple(stays), tuple(copies), notes)
