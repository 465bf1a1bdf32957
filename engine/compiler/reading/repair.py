"""Make the plan that was read off a compile valid under our stricter rules, and say what it cost.

XLA lets a loop-carried value give up its place in the middle of the body and take it again for the
next iteration; our rules do not (a stay covers a loop whole or lies inside). Such groups are moved
to slow memory, and the share of the plan's saving that is lost stands in the plan's notes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.plan.check import check
from engine.plan.model import BEFORE_START, Plan
from engine.program.io import content_hash
from engine.program.model import Program

LOST = "left_out_saving_share"
"""The note of a plan that says what share of the saving of XLA's own was lost in reading it."""

TOLERATED_LOSS = 0.005
"""What may be lost of each of many compiles before it is packed anew, which takes long."""

PACKED_ANEW = "packed anew: more of XLA's plan keeps our rules than at its own offsets"
"""What a plan's notes say of its offsets, where XLA's own are known but others are better."""


@dataclass(frozen=True)
class Reading:
    """XLA's plan as it was read off a compile, and that plan made valid (`repaired`)."""

    as_read: Plan
    valid: Plan

    @property
    def lost(self) -> float:
        """Share of the saving of XLA's plan that the valid one has not."""
        return float(self.valid.notes[LOST])


def reading(
    program: Program,
    read: Callable[[str | None], Plan],
    buffers: str | None,
    is_fast: Sequence[bool],
) -> Reading:
    """The plan by a buffer assignment, or packed anew without; `is_fast` as for `repaired`."""
    plan = replace(read(buffers), program_hash=content_hash(program))
    return Reading(plan, repaired(program, plan, is_fast))


def best_reading(
    program: Program,
    read: Callable[[str | None], Plan],
    buffers: str | None,
    is_fast: Sequence[bool],
    tolerated: float = 0.0,
) -> Reading:
    """The reading that loses the least of the saving; at XLA's own offsets if equal.

    `read`: a plan by a buffer assignment, or by none. Our scratch is at offset 0; where the memory
    pass gave it another place, its offsets are no plan of ours, but packed anew the same stays may
    be. Likewise where XLA lets an instruction write its result over an operand that is no longer
    needed. Packing thousands of stays takes minutes: so it is done only where XLA's own offsets
    lose more than the share `tolerated`. `is_fast` as for `repaired`.
    """
    own = reading(program, read, buffers, is_fast)
    if buffers is None or own.lost <= tolerated:
        return own
    packed = reading(program, read, None, is_fast)
    if own.lost <= packed.lost:
        return own
    is_known = "offsets" not in own.valid.notes
    notes = {**packed.valid.notes, **({"offsets": PACKED_ANEW} if is_known else {})}
    return replace(packed, valid=replace(packed.valid, notes=notes))


def repaired(program: Program, plan: Plan, is_fast: Sequence[bool]) -> Plan:
    """The plan without the groups that break a rule; its notes say what share that lost (`LOST`).

    `is_fast`: the accesses that the compile serves from fast memory, whether or not `plan` has
    them; the share is that of their savings.
    """
    full = max(_saving(program, plan), _saving(program, replace(plan, is_fast=tuple(is_fast))))
    left_out: list[str] = []
    removed: set[int] = set()
    while (group := _culprit(program, plan)) is not None and group not in removed:
        left_out.append(program.values[program.groups[group].values[0]].name)
        plan = _without(program, plan, group)
        removed.add(group)
    share = 1.0 - _saving(program, plan) / full if full > 0 else 0.0
    notes = {
        **plan.notes,
        "left_out_groups": left_out,
        LOST: float(f"{share:.6g}"),
    }
    return replace(plan, notes=notes)


def _culprit(program: Program, plan: Plan) -> int | None:
    """The group that breaks a rule; of too many cross-program prefetches the least useful one."""
    violation = check(program, plan)
    if violation is None or violation.group is not None:
        return None if violation is None else violation.group
    early = {stay.group for stay in plan.stays if stay.start == BEFORE_START}
    savings = {g: _saving(program, _only(program, plan, g)) for g in sorted(early)}
    return min(savings, key=lambda g: savings[g], default=None)


def _saving(program: Program, plan: Plan) -> float:
    """Seconds that the plan's fast accesses save; what writes cost is no part of it."""
    fast = (a for a, is_fast in zip(program.accesses, plan.is_fast, strict=True) if is_fast)
    return sum(max(0.0, access.saving_s) for access in fast)


def _only(program: Program, plan: Plan, group: int) -> Plan:
    """The flags of one group."""
    return replace(plan, is_fast=_flags(program, plan, lambda g: g == group))


def _without(program: Program, plan: Plan, group: int) -> Plan:
    return replace(
        plan,
        is_fast=_flags(program, plan, lambda g: g != group),
        stays=tuple(s for s in plan.stays if s.group != group),
        copies=tuple(c for c in plan.copies if c.group != group),
    )


def _flags(program: Program, plan: Plan, keeps: Callable[[int], bool]) -> tuple[bool, ...]:
    return tuple(
        fast and keeps(program.values[access.value].group)
        for access, fast in zip(program.accesses, plan.is_fast, strict=True)
    )
