"""Violation: a broken rule of a plan, by the names of the table in `docs/model.md`."""

from __future__ import annotations

from dataclasses import dataclass

RULES = (
    "wrong-program",
    "unknown-access",
    "capacity",
    "alignment",
    "reserved",
    "overlap",
    "alias",
    "must-be-slow",
    "liveness",
    "region",
    "copy-before-data",
    "copy-late",
    "live-out-lost",
)


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule (a name of `RULES`), and where: a slot and a group, if it has them.

    >>> from engine.plan.check import check
    >>> from engine.plan.model import Plan
    >>> from engine.program.library import load_sample
    >>> violation = check(load_sample("teach-prefetch"), Plan("", "mine", (), (), ()))
    >>> violation.rule, violation.rule in RULES
    ('wrong-program', True)
    """

    rule: str
    message: str
    time: int | None = None
    group: int | None = None
