"""Make the plan that was read off a compile valid under our stricter rules, and say what it cost.

XLA lets a loop-carried value give up its place in the middle of the body and take it again for the
next iteration; our rules do not (a stay covers a loop whole or lies inside). Such groups are moved
to slow memory, and the share of the plan's saving that is lost stands in the plan's notes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from engine.plan.check import check
from engine.plan.model import BEFORE_START, Plan
from engine.program.io import content_hash
from engine.program.model import Program

LOST = "left_out_saving_share"
"""The note of a plan that says what share of the saving of XLA's own was lost in reading it."""

PACKED_ANEW = "packed anew: more of XLA's plan keeps our rules than at its own offsets"
"""What a plan's notes say of its offsets, where XLA's own are known but others are better."""


def readings(
    program: Program,
    read: Callable[[str | None], Plan],
    buffers: str | None,
    is_fast: Sequence[bool],
) -> tuple[Plan, Plan]:
    """The better valid reading of XLA's plan, and the one that is packed anew.

    `read`: a reading by a buffer assignment, or by none. Of two, the one that lost less of the
    saving is better, and at XLA's own offsets if equal: our scratch is at offset 0; where the
    memory pass gave it another place, its offsets are no plan of ours, but packed anew the same
    stays may be. Likewise where XLA lets an instruction write its result over an operand that is no
    longer needed. `is_fast` as for `repaired`.
    """

    def valid(text: str | None) -> Plan:
        plan = replace(read(text), program_hash=content_hash(program))
        return repaired(program, plan, is_fast)

    packed = valid(None)
    if buffers is None:
        return packed, packed
    own = valid(buffers)
    if own.notes[LOST] <= packed.notes[LOST]:
        return own, packed
    is_known = "offsets" not in own.notes
    notes = {**packed.notes, "offsets": PACKED_ANEW} if is_known else packed.notes
    return replace(packed, notes=notes), packed


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
