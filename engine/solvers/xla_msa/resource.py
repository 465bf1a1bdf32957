"""The bandwidth that copies may use, as XLA books it: one first-in-first-out server per direction.

Units are integers scaled by 2^40, so that booking and unbooking never drift. Source: the spec of
XLA's `AsynchronousCopyResource`; times there are exclusive at both ends.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

SCALE = 2**40


@dataclass(frozen=True, slots=True)
class Job:
    """A copy that may use the slots strictly between `start` and `end`; `work` is scaled."""

    start: int
    end: int
    work: int


class CopyServer:
    """Serves jobs in the order of their starts; a new job may delay those that start later.

    `seconds[t]` is what slot `t` can serve. With `ready[t]` the sum over the slots before `t`, a
    job that begins at position `p` of that sum ends at `p + work`, and is in time if that is at
    most `ready[end]`.
    """

    def __init__(self, seconds: Sequence[float]) -> None:
        self._ready = [0, *accumulate(int(s * SCALE) for s in seconds)]
        self._jobs: list[Job] = []
        self._starts: list[int] = []
        self._finish: list[int] = []

    def has_room(self, start: int, end: int, seconds: float) -> bool:
        """Whether a copy fits strictly between `start` and `end` with all others still in time."""
        job = Job(start, end, int(seconds * SCALE))
        return not job.work or self._delayed(job) is not None

    def book(self, start: int, end: int, seconds: float) -> None:
        """Add a copy for which `has_room` holds."""
        job = Job(start, end, int(seconds * SCALE))
        finish = self._delayed(job) if job.work else None
        if finish is None:
            assert not job.work, "booked a copy that has no room"
            return
        position = bisect_right(self._starts, start)
        self._starts.insert(position, start)
        self._jobs.insert(position, job)
        self._finish.insert(position, 0)
        self._finish[position : position + len(finish)] = finish

    def snapshot(self) -> tuple[list[Job], list[int], list[int]]:
        """The state, for `restore`."""
        return list(self._jobs), list(self._starts), list(self._finish)

    def restore(self, state: tuple[list[Job], list[int], list[int]]) -> None:
        """Go back to a snapshot."""
        self._jobs, self._starts, self._finish = list(state[0]), list(state[1]), list(state[2])

    def _delayed(self, new: Job) -> list[int] | None:
        """Finishing positions of `new` and of the jobs that it delays; None if one is late."""
        position = bisect_right(self._starts, new.start)
        served = self._finish[position - 1] if position else 0
        finish: list[int] = []
        for index in range(position - 1, len(self._jobs)):
            job = new if index < position else self._jobs[index]
            served = max(served, self._ready[job.start + 1]) + job.work
            if index >= position and served == self._finish[index]:
                break
            if served > self._ready[max(job.end, job.start + 1)]:
                return None
            finish.append(served)
        return finish


@dataclass
class OutstandingCopies:
    """Counts copies whose windows overlap a given one."""

    limit: int
    _starts: list[int] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)

    def has_room(self, start: int, end: int) -> bool:
        """Whether one more copy with the window `[start, end]` stays within the limit."""
        begun = bisect_right(self._starts, end)
        over = bisect_right(self._ends, start - 1)
        return self.limit < 0 or begun - over < self.limit

    def add(self, start: int, end: int) -> None:
        """Add a copy with the window `[start, end]`."""
        insort(self._starts, start)
        insort(self._ends, end)

    def snapshot(self) -> tuple[list[int], list[int]]:
        """The state, for `restore`."""
        return list(self._starts), list(self._ends)

    def restore(self, state: tuple[list[int], list[int]]) -> None:
        """Go back to a snapshot."""
        self._starts, self._ends = list(state[0]), list(state[1])
