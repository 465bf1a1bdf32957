"""The form that takes a program as files: on Programs, and where a link leads to such a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import streamlit as st

from engine.errors import EngineError
from engine.program.model import Program
from ui.components.markdown import plain
from ui.model.programs import uploads
from ui.session.own_programs import Summary

HINT = (
    "- An HLO dump (`.hlo`, `.txt`, `.gz`) of the scheduled module. Better two of one program: one"
    " compiled with everything in slow memory (`name.off.hlo`, or `slow` in its name), one with the"
    " compiler's own placements (`name.on.hlo`, or `fast`); savings are then fitted to both, and"
    " XLA's plan is read. With the second one's buffer-assignment dump it has its true addresses.\n"
    "- A program file (`.json`, `.json.gz`), or a minimalloc table (`.csv`)."
)

_WITH_HARDWARE = (".json", ".json.gz")
"""Endings of files that say for which chip the program is."""


@dataclass(frozen=True)
class Brought:
    """A program that was brought, and what became of its files."""

    program: Program
    summary: Summary


def file_form() -> Brought | None:
    """Show the form; what was brought, once the visitor has asked to open it.

    What is wrong with the files stands below it.
    """
    files = st.file_uploader(
        "Files",
        accept_multiple_files=True,
        key="files",
        label_visibility="collapsed",
        max_upload_size=uploads.MOST_MIB,
    )
    chips, guess = uploads.hardware_names(), uploads.chip_of([f.name for f in files])
    hardware = None
    if not files or any(not f.name.endswith(_WITH_HARDWARE) for f in files):
        hardware = st.selectbox(
            "Hardware (of HLO dumps and tables)",
            chips,
            index=chips.index(guess) if guess else None,
            placeholder="which chip was it compiled for?",
            key=f"hardware_{guess or ''}",
            help="Filled in where the names of the files say it",
        )
    kind: Literal["primary", "secondary"] = "primary" if files else "secondary"
    if not st.button("Open", key="open_files", disabled=not files, width="stretch", type=kind):
        return None
    try:
        with st.spinner("Reading …"):
            read = uploads.read([(f.name, f.getvalue()) for f in files], hardware)
            program, lost = uploads.sound(read)
    except EngineError as error:
        st.error(plain(error), icon=":material/error:")
        return None
    return Brought(program, uploads.summary(program, [f.name for f in files], lost))
