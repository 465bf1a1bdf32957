"""What the placed groups have taken: places, bandwidth of copies, and the count of copies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.plan.model import Copy
from engine.program.model import Program
from engine.solvers.xla_msa.heap import Heap
from engine.solvers.xla_msa.intervals import ElapsedTimes, IntervalPicker
from engine.solvers.xla_msa.levels import Levels
from engine.solvers.xla_msa.options import MsaOptions
from engine.solvers.xla_msa.resource import CopyServer, OutstandingCopies


@dataclass
class Run:
    """A stay being made: one block of the heap, how it is filled and emptied, whom it serves."""

    group: int
    block: int
    prefetch: Copy | None = None
    writebacks: list[Copy] = field(default_factory=list)
    touches: list[int] = field(default_factory=list)

    @property
    def copies(self) -> list[Copy]:
        """The copies into and out of the stay."""
        return [*([self.prefetch] if self.prefetch else []), *self.writebacks]


class CopyLane:
    """One direction of copying: its bandwidth and its limit of outstanding copies."""

    def __init__(self, seconds: list[float], limit: int) -> None:
        self._server = CopyServer(seconds)
        self._outstanding = OutstandingCopies(limit)

    def has_room(self, start: int, end: int, copy_s: float) -> bool:
        """Whether a copy strictly between two slots keeps within bandwidth and limit."""
        return self._outstanding.has_room(start, end) and self._server.has_room(start, end, copy_s)

    def book(self, start: int, end: int, copy_s: float) -> None:
        """Add a copy for which `has_room` holds."""
        self._server.book(start, end, copy_s)
        self._outstanding.add(start, end)

    def snapshot(self) -> tuple[Any, Any]:
        """The state, for `restore`."""
        return self._server.snapshot(), self._outstanding.snapshot()

    def restore(self, state: tuple[Any, Any]) -> None:
        """Go back to a snapshot."""
        self._server.restore(state[0])
        self._outstanding.restore(state[1])


class Bookings:
    """All that the groups share while a plan is made."""

    def __init__(self, program: Program, options: MsaOptions) -> None:
        hardware = program.hardware
        self.program = program
        self.options = options
        self.levels = Levels(program)
        self.times = ElapsedTimes(program, self.levels, options.while_execution_count)
        self.reserved = [i.reserved_bytes for i in program.instructions]
        # What is scratch in every slot is not part of XLA's heap.
        heap_bytes = hardware.fast_bytes - min(self.reserved, default=0)
        self.picker = IntervalPicker(
            self.times, self.levels, options, heap_bytes / hardware.bandwidth
        )
        self.heap = Heap(hardware.fast_bytes, hardware.alignment, self.reserved)
        self.prefetches = CopyLane(self.times.once, options.max_outstanding_prefetches)
        self.evictions = CopyLane(self.times.once, options.max_outstanding_evictions)

    def snapshot(self) -> tuple[Any, ...]:
        """The state, for `restore`."""
        return len(self.heap), self.prefetches.snapshot(), self.evictions.snapshot()

    def restore(self, state: tuple[Any, ...]) -> None:
        """Go back to a snapshot; blocks placed before it must not have been extended since."""
        self.heap.truncate(state[0])
        self.prefetches.restore(state[1])
        self.evictions.restore(state[2])
