"""The ledger of slow memory: its idle ticks, who waits for it, and when a copy would run.

While compute waits for copies of one direction, a copy of the other one that has started is served
too, and compute waits as much longer (`docs/model.md`, *Stalls*). Times are slots, work is in
ticks; `is_prefetch` tells the directions apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

NUM_WAITS = 2
"""Waits per direction that copies of the other one may share; no copy starts before older ones."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Compute stalls before `slot` for copies of one direction.

    `ticks`: how much of that stall copies of the other direction may still use.
    """

    slot: int
    ticks: int


@dataclass(frozen=True, slots=True)
class Run:
    """How a copy would run from `start` on: `idle` ticks that it takes, and what compute waits.

    `shares`: ticks that it is served, and compute waits longer, before earlier slots; `shortfall`:
    what is missing at the deadline. `done`: the first slot by which the rest of it is there.
    """

    start: int
    idle: int
    shares: tuple[Wait, ...]
    shortfall: int
    done: int

    @property
    def stall(self) -> int:
        """Ticks that compute waits because of it."""
        return self.shortfall + sum(share.ticks for share in self.shares)


class Ledger:
    """`left`: idle ticks per slot that no copy uses; `settled`: the latest deadline of all copies.

    `levels`: the level of each slot. The waits of a direction are in time order.
    """

    def __init__(self, left: list[int], levels: Sequence[int]) -> None:
        self.left = left
        self.levels = levels
        self.settled = 0
        self._waits: dict[bool, tuple[Wait, ...]] = {True: (), False: ()}
        self._forgotten = {True: 0, False: 0}

    def copy(self) -> Ledger:
        """A ledger that changes by itself."""
        twin = Ledger(list(self.left), self.levels)
        twin.settled = self.settled
        twin._waits, twin._forgotten = dict(self._waits), dict(self._forgotten)
        return twin

    def earliest_start(self, *, is_prefetch: bool) -> int:
        """The slot before which no copy of that direction may start: older waits are forgotten."""
        return self._forgotten[not is_prefetch]

    def run(self, start: int, deadline: int, work: int, *, is_prefetch: bool) -> Run:
        """How a copy runs that may use the slots `[start, deadline)`."""
        shares, missing, done = [], work, start
        waits = {w.slot: w.ticks for w in self._waits[not is_prefetch]}
        for slot in range(start, deadline):
            if not missing:
                break
            shared = min(missing, waits.get(slot, 0)) if slot > start else 0
            if shared:
                shares.append(Wait(slot, shared))
                missing, done = missing - shared, slot
            taken = min(missing, self.left[slot])
            if taken:
                missing, done = missing - taken, slot + 1
        idle = work - missing - sum(share.ticks for share in shares)
        return Run(start, idle, tuple(shares), missing, deadline if missing else done)

    def latest(
        self, begin: int, deadline: int, level: int, work: int, cover: int, *, is_prefetch: bool
    ) -> Run | None:
        """A copy that starts as late as it can without need to wait; None if it cannot start.

        Starts are slots of `level` in `[begin, deadline]`. `cover`: ticks of the work that idle
        time must do: all, half, or none. Waits cut the slots into parts; each part offers the
        latest start from which its idle ticks, up to its end, reach `cover`, else its earliest. Of
        these the copy takes the one for which compute waits least, the last of them.
        """
        best: Run | None = None
        end, is_whole = deadline, cover == work
        for low in self._parts(begin, deadline, is_prefetch):
            start = self._latest_in(low, end, level, cover, is_last=end == deadline)
            if start is not None:
                run = self.run(start, deadline, work, is_prefetch=is_prefetch)
                if best is None or run.stall < best.stall:
                    best = run
            if best is not None and (best.stall == 0 or not is_whole):
                break
            end = low
        return best

    def earliest(
        self, begin: int, deadline: int, level: int, work: int, *, is_prefetch: bool
    ) -> Run | None:
        """A copy that starts early: where compute waits least, the first of such starts.

        It starts at the first slot of `level` from `begin`, or from one of the waits, on; if there
        is none before the deadline, then at that. None if `begin` is past the deadline.
        """
        runs = []
        for low in self._parts(begin, deadline, is_prefetch):
            start = next((k for k in range(low, deadline) if self.levels[k] == level), deadline)
            runs.append(self.run(start, deadline, work, is_prefetch=is_prefetch))
        return min(reversed(runs), key=lambda run: run.stall, default=None)

    def book(self, run: Run, deadline: int, *, is_prefetch: bool) -> None:
        """Let a copy take its idle ticks and its shares, and compute wait for it."""
        wanted = run.idle
        for slot in range(run.start, deadline):
            used = min(wanted, self.left[slot])
            self.left[slot] -= used
            wanted -= used
        for share in run.shares:
            self._share(share.slot, share.ticks, not is_prefetch)
        self.settled = max(self.settled, deadline)
        if run.shortfall:
            shared = self._share(deadline, run.shortfall, not is_prefetch)
            self._wait(deadline, run.shortfall - shared, is_prefetch)

    def _parts(self, begin: int, deadline: int, is_prefetch: bool) -> list[int]:
        """Where the parts of `[begin, deadline]` between waits begin, the last part first."""
        if begin > deadline:
            return []
        inside = [w.slot for w in self._waits[not is_prefetch] if begin < w.slot < deadline]
        return [*reversed(inside), begin]

    def _latest_in(
        self, low: int, end: int, level: int, cover: int, *, is_last: bool
    ) -> int | None:
        """The latest slot of `level` in `[low, end)` with enough idle ticks up to `end`.

        The earliest one if none has enough. The deadline itself (`is_last`) is a start too.
        """
        best = end if is_last else None
        missing, is_enough = cover, is_last and cover <= 0
        for slot in range(end - 1, low - 1, -1):
            if is_enough:
                break
            missing -= self.left[slot]
            if self.levels[slot] == level:
                best, is_enough = slot, missing <= 0
        return best

    def _share(self, slot: int, ticks: int, is_prefetch: bool) -> int:
        """Take ticks off what may be shared while that direction is awaited; returns how many."""
        left, taken = [], 0
        for wait in self._waits[is_prefetch]:
            here = min(ticks, wait.ticks) if wait.slot == slot else 0
            taken += here
            if wait.ticks > here:
                left.append(replace(wait, ticks=wait.ticks - here))
        self._waits[is_prefetch] = tuple(left)
        return taken

    def _wait(self, slot: int, ticks: int, is_prefetch: bool) -> None:
        """Note that compute waits for that direction; the oldest of too many is forgotten."""
        if not ticks or slot == 0:
            return
        waits = {w.slot: w.ticks for w in self._waits[is_prefetch]}
        waits[slot] = waits.get(slot, 0) + ticks
        every = [Wait(*wait) for wait in sorted(waits.items())]
        if len(every) > NUM_WAITS:
            forgotten = every.pop(0).slot
            self._forgotten[is_prefetch] = max(self._forgotten[is_prefetch], forgotten)
        self._waits[is_prefetch] = tuple(every)
