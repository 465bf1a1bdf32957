"""The real compiler's own plan of a program, as far as it was read, and what follows from that.

It travels with the program, in its provenance, where a capture or an HLO pair put it. What breaks
one of our rules is left out of the plan when it is read (`docs/formats.md`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.program.model import Program

WHOLE_SHARE = 0.99
"""A plan of which a smaller share of its saving was read is no measure for other plans."""


def has_compiled_plan(program: Program) -> bool:
    """Whether the real compiler's plan came with the program."""
    return "xla_plan" in program.provenance


def share_read(program: Program) -> float | None:
    """The share of the saving of XLA's plan that was read; None without a plan."""
    if not has_compiled_plan(program):
        return None
    lost = _notes(program).get("left_out_saving_share", 0.0)
    return 1.0 - lost if isinstance(lost, int | float) and 0 <= lost <= 1 else 1.0


def reading_warning(program: Program) -> str | None:
    """One line on a plan that was read in part, which is no measure for others; else None."""
    share = share_read(program)
    if share is None or share >= WHOLE_SHARE:
        return None
    return (
        f"only {share:.1%} of the saving of XLA's plan could be read, so xla_compiled is slower"
        " here than XLA is: to be faster than it is no win"
    )


def offsets_of_compiled_plan(program: Program) -> str:
    """Whose offsets the compiled plan has: XLA's own, or others, as its notes say."""
    return str(_notes(program).get("offsets", "XLA's own"))


def _notes(program: Program) -> Mapping[str, Any]:
    """What was noted when the plan was read; files may say anything here."""
    plan = program.provenance["xla_plan"]
    notes = plan.get("notes") if isinstance(plan, Mapping) else None
    return notes if isinstance(notes, Mapping) else {}
