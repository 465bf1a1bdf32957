"""Make the plan that was read off a compile valid under our stricter rules, and say what it cost.

XLA lets a loop-carried value give up its place in the middle of the body and take it again for the
next iteration; our rules do not (a stay covers a loop whole or lies inside). Such groups are moved
to slow memory, and the share of the plan's saving that is lost stands in the plan's notes.
"""

from __future__ import annotations

from dataclasses import replace

from engine.plan.check import check
from engine.plan.model import Plan
from engine.program.model import Program


def repaired(program: Program, plan: Plan) -> Plan:
    """The plan without the groups that break a rule; notes get `left_out_saving_share`."""
    full = _saving(program, plan)
    left_out: list[str] = []
    while (violation := check(program, plan)) is not None and violation.group is not None:
        left_out.append(program.values[program.groups[violation.group].values[0]].name)
        plan = _without(program, plan, violation.group)
    share = 1.0 - _saving(program, plan) / full if full > 0 else 0.0
    notes = {
        **plan.notes,
        "left_out_groups": left_out,
        "left_out_saving_share": float(f"{share:.6g}"),
    }
    return replace(plan, notes=notes)


def _saving(program: Program, plan: Plan) -> float:
    return sum(a.saving_s for a, fast in zip(program.accesses, plan.is_fast, strict=True) if fast)


def _without(program: Program, plan: Plan, group: int) -> Plan:
    flags = tuple(
        fast and program.values[access.value].group != group
        for access, fast in zip(program.accesses, plan.is_fast, strict=True)
    )
    return replace(
        plan,
        is_fast=flags,
        stays=tuple(s for s in plan.stays if s.group != group),
        copies=tuple(c for c in plan.copies if c.group != group),
    )
