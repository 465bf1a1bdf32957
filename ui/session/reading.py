"""The plan of a program that is no measure for others, since it was read in part only."""

from __future__ import annotations

from engine.program.model import Program
from engine.program.reading import reading_warning
from ui.session.opening import COMPILED


def unmeasured(program: Program) -> str:
    """The name of XLA's plan where it was read in part, so that nothing beats it; else empty."""
    return COMPILED if reading_warning(program) else ""
