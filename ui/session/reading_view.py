"""The plan of a program that is no measure for others, since it was read in part only."""

from __future__ import annotations

import streamlit as st

from engine.program.model import Program
from engine.program.provenance import reading_warning
from ui.session.opening import COMPILED


def unmeasured(program: Program) -> str:
    """The name of XLA's plan where it was read in part, so that nothing beats it; else empty."""
    return COMPILED if reading_warning(program) else ""


def warn_of_reading(program: Program) -> None:
    """Show the warning in the words of the command line; nothing if the plan was read whole."""
    warning = reading_warning(program)
    if warning is not None:
        st.warning(f"{warning[0].upper()}{warning[1:]}.", icon=":material/rule:")
