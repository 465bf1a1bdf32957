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
    "in-flight",
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


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What the checker says of a plan. As a condition it is true for a valid plan.

    `violation`: the first rule that is broken, None for a valid plan.

    >>> print(CheckResult(None), bool(CheckResult(None)))
    valid True
    >>> broken = CheckResult(Violation("overlap", "bytes of two groups", 3))
    >>> print(broken, broken.is_valid)
    breaks overlap: bytes of two groups False
    """

    violation: Violation | None

    @property
    def is_valid(self) -> bool:
        """Whether no rule is broken."""
        return self.violation is None

    def __bool__(self) -> bool:
        return self.is_valid

    def __str__(self) -> str:
        broken = self.violation
        return "valid" if broken is None else f"breaks {broken.rule}: {broken.message}"
