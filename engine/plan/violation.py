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
    """A broken rule (a name of `RULES`), and where: a slot and a group, if it has them."""

    rule: str
    message: str
    time: int | None = None
    group: int | None = None
