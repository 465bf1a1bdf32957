"""The warning that XLA's plan of the program in use was read in part only."""

from __future__ import annotations

import streamlit as st

from engine.program.model import Program
from engine.program.reading import reading_warning


def warn_of_reading(program: Program) -> None:
    """Show the warning in the words of the command line; nothing if the plan was read whole."""
    warning = reading_warning(program)
    if warning is not None:
        st.warning(f"{warning[0].upper()}{warning[1:]}.", icon=":material/rule:")
