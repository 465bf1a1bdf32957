"""The kinds of tensors, which keep their colours on every screen."""

from __future__ import annotations

from engine.plan.model import BEFORE_START
from engine.program.model import Group

INPUT, TEMPORARY, OUTPUT, CROSS_PROGRAM = range(4)
KIND_NAMES = ("input", "temporary", "output", "cross-program")


def kind_of_group(group: Group) -> int:
    """Input, temporary or output."""
    return OUTPUT if group.is_live_out else INPUT if group.is_input else TEMPORARY


def kind_of_stay(group: Group, start: int) -> int:
    """As `kind_of_group`, but a stay from the previous run of the program has its own kind."""
    return CROSS_PROGRAM if start == BEFORE_START else kind_of_group(group)
