"""From the records of a finished game to a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.game.reference.blocks import Block, Booking
from engine.plan.model import Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import Program


@dataclass
class Records:
    """What a game leaves behind: blocks as they ended, copies as booked, touches served fast."""

    stays: list[Block] = field(default_factory=list)
    copies: list[Booking] = field(default_factory=list)
    fast_touches: list[int] = field(default_factory=list)

    def copy(self) -> Records:
        """A copy that changes by itself."""
        return Records(list(self.stays), list(self.copies), list(self.fast_touches))


def plan_from_records(
    program: Program, records: Records, solver: str, notes: Mapping[str, Any]
) -> Plan:
    """The plan: stays sorted by start, copies in booking order, one flag per access."""
    is_fast = [False] * len(program.accesses)
    for index in records.fast_touches:
        for access in program.touches[index].accesses:
            is_fast[access] = True
    granule = program.hardware.alignment
    stays = [Stay(b.group, b.offset * granule, b.start, b.end) for b in records.stays]
    return Plan(
        program_hash=content_hash(program),
        solver=solver,
        is_fast=tuple(is_fast),
        stays=tuple(sorted(stays, key=lambda s: (s.start, s.offset, s.end))),
        copies=tuple(Copy(b.group, b.is_prefetch, b.start, b.deadline) for b in records.copies),
        notes=dict(notes),
    )
