"""The referee: which rule of `docs/model.md` a plan breaks first, if any.

Written apart from everything that makes plans, for clarity before speed. This module judges where
stays lie; `engine.plan.content` judges what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from engine.plan.content import content_violations
from engine.plan.model import BEFORE_START, Plan, Stay
from engine.plan.violation import RULES, Violation
from engine.program.io import content_hash
from engine.program.model import Program

__all__ = ["RULES", "Violation", "check"]


def check(program: Program, plan: Plan) -> Violation | None:
    """The first rule in the order of `RULES` that the plan breaks, or None for a valid plan.

    Accepts any integers in `plan`: an impossible value is a violation, never an exception.

    >>> from engine.program.library import load_sample
    >>> from engine.solvers import solve
    >>> program = load_sample("teach-prefetch")
    >>> plan = solve("greedy", program)
    >>> check(program, plan) is None
    True
    >>> check(load_sample("teach-keep-or-drop"), plan).rule
    'wrong-program'
    """
    for rule in _RULES_BEFORE_CONTENT:
        for violation in rule(program, plan):
            return violation
    violations = [*_cross_program(program, plan), *content_violations(program, plan)]
    return min(violations, key=lambda v: (RULES.index(v.rule), v.time or 0), default=None)


def _wrong_program(program: Program, plan: Plan) -> Iterator[Violation]:
    expected = content_hash(program)
    if plan.program_hash != expected:
        yield Violation(
            "wrong-program", f"the plan is for program {plan.program_hash}, this is {expected}"
        )


def _unknown(program: Program, plan: Plan) -> Iterator[Violation]:
    rule, slots, groups = "unknown-access", program.num_slots, range(len(program.groups))
    if len(plan.is_fast) != len(program.accesses):
        message = f"{len(plan.is_fast)} flags for {len(program.accesses)} accesses"
        yield Violation(rule, message)
    for stay in plan.stays:
        if stay.group not in groups or not BEFORE_START <= stay.start < stay.end <= slots:
            yield Violation(rule, f"{stay} names an unknown group or an impossible interval")
    for copy in plan.copies:
        if copy.group not in groups or not 0 <= copy.start <= copy.deadline <= slots:
            yield Violation(rule, f"{copy} names an unknown group or an impossible interval")


def _capacity(program: Program, plan: Plan) -> Iterator[Violation]:
    for stay in plan.stays:
        group = program.groups[stay.group]
        top = stay.offset + group.size_bytes
        if not group.may_be_fast:
            message = f"group {stay.group} may not live in fast memory"
            yield Violation("capacity", message, stay.start, stay.group)
        elif stay.offset < 0 or top > program.hardware.fast_bytes:
            message = f"bytes [{stay.offset}, {top}) are not all in the fast memory"
            yield Violation("capacity", message, stay.start, stay.group)


def _alignment(program: Program, plan: Plan) -> Iterator[Violation]:
    for stay in plan.stays:
        if stay.offset % program.hardware.alignment:
            message = f"offset {stay.offset} is no multiple of {program.hardware.alignment}"
            yield Violation("alignment", message, stay.start, stay.group)


def _reserved(program: Program, plan: Plan) -> Iterator[Violation]:
    reserved = np.array([i.reserved_bytes for i in program.instructions], dtype=np.int64)
    for stay in plan.stays:
        first = max(0, stay.start)
        hit = reserved[first : stay.end] > stay.offset
        if program.groups[stay.group].size_bytes > 0 and hit.any():
            time = first + int(hit.argmax())
            message = f"offset {stay.offset} lies in the {reserved[time]} bytes of scratch"
            yield Violation("reserved", f"{message} of instruction {time}", time, stay.group)


def _overlap(program: Program, plan: Plan) -> Iterator[Violation]:
    """Every stay against all that begin no earlier and before its end.

    Two stays of one group at one slot count too: the group has one place, and a copy or a touch
    could not say which it means.
    """
    stays = sorted(plan.stays, key=lambda s: s.start)
    group = np.array([s.group for s in stays], dtype=np.int64)
    start = np.array([s.start for s in stays], dtype=np.int64)
    low = np.array([s.offset for s in stays], dtype=np.int64)
    size = np.array([program.groups[s.group].size_bytes for s in stays], dtype=np.int64)
    high = low + size
    for index, stay in enumerate(stays):
        later = slice(index + 1, int(np.searchsorted(start, stay.end)))
        shares = (low[later] < high[index]) & (low[index] < high[later])
        clash = shares & (size[later] > 0) & bool(size[index] > 0)
        clash |= group[later] == stay.group
        if clash.any():
            other = stays[index + 1 + int(clash.argmax())]
            message = f"group {stay.group} at {stay.offset} meets group {other.group}"
            message = f"{message} at {other.offset} in slot {other.start}"
            yield Violation("overlap", message, other.start, stay.group)


def _alias(program: Program, plan: Plan) -> Iterator[Violation]:
    for touch in program.touches:
        if len({bool(plan.is_fast[index]) for index in touch.accesses}) > 1:
            message = f"instruction {touch.time} touches group {touch.group} in both memories"
            yield Violation("alias", message, touch.time, touch.group)


def _must_be_slow(program: Program, plan: Plan) -> Iterator[Violation]:
    for access, is_fast in zip(program.accesses, plan.is_fast, strict=True):
        if access.must_be_slow and is_fast:
            group = program.values[access.value].group
            message = f"instruction {access.time} cannot serve group {group} from fast memory"
            yield Violation("must-be-slow", message, access.time, group)


_RULES_BEFORE_CONTENT = (
    _wrong_program,
    _unknown,
    _capacity,
    _alignment,
    _reserved,
    _overlap,
    _alias,
    _must_be_slow,
)
"""The rules before `liveness`, each of which presumes that those before it hold."""


def _cross_program(program: Program, plan: Plan) -> Iterator[Violation]:
    """Stays from before the start: few, of unwritten inputs, and there again at the end."""
    early = [stay for stay in plan.stays if stay.start == BEFORE_START]
    limit = program.hardware.max_cross_program_prefetches
    if len(early) > limit:
        message = f"{len(early)} cross-program prefetches, allowed are {limit}"
        yield Violation("liveness", message, BEFORE_START)
    for stay in early:
        group = program.groups[stay.group]
        if not group.is_input or group.is_written:
            message = f"group {stay.group} is no unwritten input, but is there from the start"
            yield Violation("liveness", message, BEFORE_START, stay.group)
        elif stay.end < program.num_slots and not _is_brought_back(program, plan, stay):
            message = f"nothing brings group {stay.group} back to {stay.offset} by the end"
            yield Violation("liveness", message, stay.end, stay.group)


def _is_brought_back(program: Program, plan: Plan, early: Stay) -> bool:
    end = program.num_slots
    back = [s.start for s in plan.stays if s == replace(early, start=s.start, end=end)]
    return any(
        copy.group == early.group
        and copy.is_prefetch
        and copy.deadline == end
        and copy.start >= start
        for copy in plan.copies
        for start in back
    )
