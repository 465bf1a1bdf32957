"""What a program rests on in part only: a plan read in part, costs that a capture still refines."""

from __future__ import annotations

import streamlit as st

from engine.hardware.presets import preset_remark
from engine.hardware.unestimated_share import unestimated_remark
from engine.program.counts import counts_remarks
from engine.program.model import Program
from engine.program.provenance import fit_remark, reading_warning, refining_remark
from ui.components.markdown import plain
from ui.session.opening import COMPILED


def unmeasured(program: Program) -> str:
    """The name of XLA's plan where it was read in part, so that nothing beats it; else empty."""
    return COMPILED if reading_warning(program) else ""


def warn_of_reading(program: Program) -> None:
    """Show the warnings in the words of the command line; nothing if all was read and refined."""
    warnings = (
        reading_warning(program),
        preset_remark(program),
        refining_remark(program),
        fit_remark(program),
        unestimated_remark(program),
        *counts_remarks(program),
    )
    for warning in warnings:
        if warning is not None:
            st.warning(plain(f"{warning[0].upper()}{warning[1:]}."), icon=":material/rule:")
