"""The simulator: how long a program takes under a plan, event by event (`docs/model.md`).

It judges time only; whether a plan is valid is for `engine.plan.check` to say.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from engine.plan.levels import copy_level
from engine.plan.model import Copy, Plan, Stay
from engine.program.model import Program

ROUNDING = 1e-12
"""A copy whose remaining share is below this is complete: sums of floats, not real work."""

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Timeline:
    """When everything happens, in seconds since the program's start.

    Per instruction, `[T]`: `start_s`, `duration_s`, `stall_before_s`. Per copy in plan order,
    `[C]`: `copy_started_s` (its first slot begins, or, if it has no slot, it is awaited) and
    `copy_finished_s`. Per service segment, `[S]`: `segment_copy` is served from `segment_start_s`
    to `segment_end_s`, and gets `segment_work_s` seconds of the full bandwidth in that time.
    """

    start_s: FloatArray
    duration_s: FloatArray
    stall_before_s: FloatArray
    copy_started_s: FloatArray
    copy_finished_s: FloatArray
    segment_copy: IntArray
    segment_start_s: FloatArray
    segment_end_s: FloatArray
    segment_work_s: FloatArray


@dataclass(frozen=True, eq=False)
class Simulation:
    """Seconds of one run: `latency_s = compute_s + stall_s`.

    `end_stall_s` is the part of `stall_s` after the last instruction; the rest is in
    `timeline.stall_before_s`.

    >>> from engine.program.library import load_sample
    >>> from engine.solvers import solve
    >>> program = load_sample("teach-keep-or-drop")
    >>> run = simulate(program, solve("greedy", program))
    >>> run.latency_s == run.compute_s + run.stall_s
    True
    >>> run.timeline.start_s.shape == (program.num_slots,)
    True
    """

    latency_s: float
    compute_s: float
    stall_s: float
    all_slow_s: float
    all_fast_s: float
    end_stall_s: float
    timeline: Timeline


def simulate(program: Program, plan: Plan) -> Simulation:
    """Run `program` under `plan`, whose flags, times and groups must exist in the program."""
    duration_s, idle_s = _instruction_times(program, plan)
    run = _Run(program, plan)
    starting = _indices_by(plan.copies, "start", program.num_slots)
    due = _indices_by(plan.copies, "deadline", program.num_slots)
    start_s = np.zeros(program.num_slots)
    stall_before_s = np.zeros(program.num_slots)
    for time in range(program.num_slots):
        stall_before_s[time] = run.await_copies(due[time])
        start_s[time] = run.now_s
        run.start_copies(starting[time])
        run.execute(float(duration_s[time]), float(idle_s[time]))
    end_stall_s = run.await_copies(due[program.num_slots])
    compute_s = float(duration_s.sum())
    stall_s = float(stall_before_s.sum()) + end_stall_s
    return Simulation(
        latency_s=compute_s + stall_s,
        compute_s=compute_s,
        stall_s=stall_s,
        all_slow_s=program.all_slow_s,
        all_fast_s=program.all_fast_s,
        end_stall_s=end_stall_s,
        timeline=run.timeline(start_s, duration_s, stall_before_s),
    )


def _instruction_times(program: Program, plan: Plan) -> tuple[FloatArray, FloatArray]:
    """`d_k` and `c_k` of `docs/model.md`, both `[T]`."""
    slow = [a for a, is_fast in zip(program.accesses, plan.is_fast, strict=True) if not is_fast]
    times = np.array([a.time for a in slow], dtype=np.int64)
    savings = np.array([a.saving_s for a in slow], dtype=np.float64)
    drawn = np.array([a.slow_bytes for a in slow], dtype=np.float64)
    duration = np.array([i.fast_s for i in program.instructions], dtype=np.float64)
    duration += np.bincount(times, savings, program.num_slots)
    duration = np.maximum(duration, [i.floor_s for i in program.instructions])
    draw = np.bincount(times, drawn, program.num_slots) / program.hardware.bandwidth
    return duration, np.maximum(0.0, duration - draw)


def _indices_by(copies: tuple[Copy, ...], key: str, last: int) -> list[list[int]]:
    """Indices of the copies per slot of their `key`, in plan order; slots `0 … last`."""
    slot_of = attrgetter(key)
    lists: list[list[int]] = [[] for _ in range(last + 1)]
    for index, copy in enumerate(copies):
        lists[slot_of(copy)].append(index)
    return lists


class _Run:
    """The state of a run: the clock, and the copies that have started and are not complete."""

    def __init__(self, program: Program, plan: Plan) -> None:
        self.now_s = 0.0
        self._copies = plan.copies
        self._work_s = _copy_works_s(program, plan)
        self._left_s = list(self._work_s)
        self._pending: list[int] = []
        self._started_s = np.full(len(plan.copies), np.nan)
        self._finished_s = np.full(len(plan.copies), np.nan)
        self._segments: list[tuple[int, float, float, float]] = []

    def start_copies(self, indices: Iterable[int]) -> None:
        """Queue these copies from now on.

        A copy whose deadline is its start was queued when it was awaited, and is left alone.
        """
        for index in indices:
            if np.isnan(self._started_s[index]):
                self._started_s[index] = self.now_s
                insort(self._pending, index)

    def execute(self, duration_s: float, idle_s: float) -> None:
        """Run one instruction; its idle seconds, spread evenly over it, serve in plan order."""
        pace = duration_s / idle_s if idle_s > 0 else 0.0
        used_s = 0.0
        while self._pending and used_s < idle_s:
            head = self._pending[0]
            share_s = min(self._left_s[head], idle_s - used_s)
            begin_s = self.now_s + used_s * pace
            used_s += share_s
            self._serve(head, share_s, begin_s, self.now_s + used_s * pace)
        self.now_s += duration_s

    def await_copies(self, due: list[int]) -> float:
        """Stall until all of `due` are complete; returns the seconds that takes."""
        begin_s = self.now_s
        self.start_copies(due)
        for awaited in due:
            while np.isnan(self._finished_s[awaited]):
                self._drain_step()
        return self.now_s - begin_s

    def timeline(
        self, start_s: FloatArray, duration_s: FloatArray, stall_before_s: FloatArray
    ) -> Timeline:
        """The timeline of what has been recorded, with these columns of the instructions."""
        return Timeline(
            start_s=start_s,
            duration_s=duration_s,
            stall_before_s=stall_before_s,
            copy_started_s=self._started_s,
            copy_finished_s=self._finished_s,
            segment_copy=np.array([s[0] for s in self._segments], dtype=np.int64),
            segment_start_s=np.array([s[1] for s in self._segments], dtype=np.float64),
            segment_end_s=np.array([s[2] for s in self._segments], dtype=np.float64),
            segment_work_s=np.array([s[3] for s in self._segments], dtype=np.float64),
        )

    def _drain_step(self) -> None:
        """Serve the heads of both queues until the first of them is complete."""
        heads = [
            next((i for i in self._pending if self._copies[i].is_prefetch == direction), None)
            for direction in (True, False)
        ]
        served = [head for head in heads if head is not None]
        share_s = min(self._left_s[head] for head in served)
        begin_s = self.now_s
        self.now_s += share_s * len(served)
        for head in served:
            self._serve(head, share_s, begin_s, self.now_s)

    def _serve(self, index: int, share_s: float, begin_s: float, end_s: float) -> None:
        self._segments.append((index, begin_s, end_s, share_s))
        self._left_s[index] -= share_s
        if self._left_s[index] <= ROUNDING * self._work_s[index]:
            self._finished_s[index] = end_s
            self._pending.remove(index)


def _copy_works_s(program: Program, plan: Plan) -> list[float]:
    """Seconds of the full bandwidth that each copy needs in one run of the program."""
    stays: dict[int, list[Stay]] = {}
    for stay in plan.stays:
        stays.setdefault(stay.group, []).append(stay)
    works = []
    for copy in plan.copies:
        level = copy_level(program, copy, stays.get(copy.group, ()))
        moved = program.multiplicity(level) * program.groups[copy.group].size_bytes
        works.append(moved / program.hardware.bandwidth)
    return works
