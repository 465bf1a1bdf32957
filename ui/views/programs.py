"""Programs: choose a sample, or bring a file of your own."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from engine.errors import EngineError
from engine.program.library import SampleEntry
from ui import caching, opening, uploads
from ui.session import Session, session
from ui.viewmodel.catalogue import facts, made_up, real, short_title, table
from ui.viewmodel.charts import pressure
from ui.views.parts import facts_html

_HINT = (
    "A program file (`.json`, `.json.gz`), an HLO dump (`.txt`, `.hlo`, `.gz`; with a second dump"
    " of the default compile the savings are fitted to it), or a minimalloc table (`.csv`)."
)


def render() -> None:
    """The page."""
    here = session()
    opening.ensure_open(here)
    entries = caching.sample_index()
    left, right = st.columns([2.4, 1], gap="large")
    with left:
        st.subheader("Real programs", anchor=False)
        st.caption("Models as the XLA TPU compiler schedules them, compiled ahead of time.")
        _samples(here, real(entries), "real", ["hardware", "instructions", "values", "xla", "over"])
        st.subheader("Teaching programs", anchor=False)
        _samples(here, made_up(entries), "made_up", ["instructions", "values"])
    with right:
        _current(here, entries)
        _upload(here)


def _samples(here: Session, entries: list[SampleEntry], key: str, columns: list[str]) -> None:
    if not entries:
        st.caption("None are installed.")
        return
    rows = table(entries)
    top = max(1.0, rows[["over", "best"]].max().max())
    st.dataframe(
        rows,
        key=key,
        hide_index=True,
        on_select=partial(_choose, here, entries, key),
        selection_mode="single-cell",
        height="content",
        column_order=["title", *columns, "best"],
        column_config={
            "title": st.column_config.TextColumn("Program", width="medium"),
            "hardware": st.column_config.TextColumn("Hardware"),
            "instructions": st.column_config.NumberColumn("Instructions", format="localized"),
            "values": st.column_config.NumberColumn("Tensors", format="localized"),
            "xla": st.column_config.NumberColumn("XLA, µs", format="localized", step=1),
            "over": _gap_column("XLA over bound", top, "XLA's own plan, over the lower bound"),
            "best": _gap_column("Best over bound", top, "The best plan known, over the bound"),
        },
    )


def _gap_column(label: str, top: float, explanation: str) -> ColumnConfig:
    return st.column_config.ProgressColumn(
        label, format="%.1f %%", min_value=0, max_value=top, help=explanation
    )


def _choose(here: Session, entries: list[SampleEntry], key: str) -> None:
    picked = st.session_state[key].selection.cells
    if picked:
        opening.try_open(here, entries[picked[0][0]].name)


def _current(here: Session, entries: tuple[SampleEntry, ...]) -> None:
    opened = here.open
    entry = next((e for e in entries if e.name == opened.name), None)
    st.subheader(short_title(entry) if entry else opened.name, anchor=False)
    if entry is not None:
        st.caption(f"`{entry.name}` · {entry.title}")
    st.html(facts_html(facts(opened.program)))
    st.plotly_chart(pressure(opened.program), key="pressure", config={"displayModeBar": False})
    play, compare = st.columns(2)
    if play.button(
        "Play", type="primary", icon=":material/memory:", key="go_play", width="stretch"
    ):
        st.switch_page(here.pages["play"])
    if compare.button("Compare", icon=":material/bar_chart:", key="go_compare", width="stretch"):
        st.switch_page(here.pages["compare"])


def _upload(here: Session) -> None:
    with st.expander("Open a file of your own", icon=":material/upload_file:"):
        st.caption(_HINT)
        files = st.file_uploader(
            "Files", accept_multiple_files=True, key="files", label_visibility="collapsed"
        )
        names = uploads.hardware_names()
        hardware = st.selectbox("Hardware (for HLO and CSV)", names, key="hardware")
        if st.button("Open", key="open_files", disabled=not files, width="stretch"):
            try:
                with st.spinner("Reading …"):
                    program = uploads.read([(f.name, f.getvalue()) for f in files], hardware)
            except EngineError as error:
                st.error(str(error), icon=":material/error:")
                return
            opening.add_program(here, program.name, program)
            st.switch_page(here.pages["play"])
