"""The picture of the program that is being opened, so that no page is blank meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from htpy import Node, b, div, span

from engine.program.library import SampleEntry
from ui.components.html import image_html
from ui.components.units import count_text
from ui.session import caching
from ui.session.state import Session


@contextmanager
def first_picture(session: Session) -> Iterator[None]:
    """Show the picture of the sample that the link asks for, until the block has ended.

    Nothing where the visitor has a program open: its page stands there already.
    """
    place = st.empty()
    entry = None if session.program_name else _asked_for()
    if entry is not None:
        place.html(str(opening_html(entry)))
    try:
        yield
    finally:
        place.empty()


def _asked_for() -> SampleEntry | None:
    """The sample that the link asks for, the first one if it asks for none."""
    entries = caching.sample_index()
    wanted = st.query_params.get("program", "")
    return next((e for e in entries if wanted in ("", e.name)), None)


def opening_html(entry: SampleEntry) -> Node:
    """The compiler's own plan of a sample, or a greedy one, and what is on its way."""
    size = f"{count_text(entry.instructions, 'instruction')}, {count_text(entry.values, 'tensor')}"
    whose = "the compiler's own plan" if entry.xla_latency_s is not None else "a greedy plan"
    about = f"{size}; {whose}, the page itself follows"
    return div(".opening", role="status")[
        b[f"Opening {entry.name} …"],
        span[about],
        image_html(caching.thumbnail_for(entry)),
    ]
