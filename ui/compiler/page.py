"""Compiler: hand a plan to the real compiler as options, and see what it makes of them."""

from __future__ import annotations

import streamlit as st

from engine.compiler.reading.own_compile import require_stablehlo
from engine.compiler.toolchain.libtpu import require_compiler
from engine.errors import EngineError
from ui.compiler import known_view, options_view, tune_view, verdict_view
from ui.components.glossary import about
from ui.components.markdown import plain
from ui.components.units import share_text
from ui.jobs.protocol import FAILED, OF_COMPILER
from ui.session import caching, links, opening
from ui.session.jobs_view import with_jobs
from ui.session.last_view import View
from ui.session.narrow_view import narrow_note
from ui.session.program_picker_view import program_picker
from ui.session.reading_view import warn_of_reading
from ui.session.state import OpenProgram, Session, current_session


@with_jobs
def render() -> None:
    """The page."""
    session = current_session()
    narrow_note()
    opening.ensure_open(session)
    session.collect()
    opened = session.open
    if not opened.plans:
        opening.first_plan(session)
    picker, *figures = st.columns([2.4, 1.2, 1.5, 1.1, 1.2], vertical_alignment="bottom")
    with picker:
        program_picker(session)
    _figures(opened, figures)
    warn_of_reading(opened.program)
    st.caption(
        "The real XLA TPU compiler runs here, without a TPU. Hand it a plan as options, see what it"
        " places and what it refuses, and what its own cycles say."
    )
    _failures(opened)
    hindrance = _hindrance(opened)
    left, right = st.columns([1.25, 1], gap="large")
    with left:
        options_view.show(session, hindrance)
    with right:
        tune_view.show(session, hindrance)
    verdict_view.show(session)
    known_view.show(session)
    _remember(session)


def _hindrance(opened: OpenProgram) -> str:
    """Why nothing can be compiled here; empty if it can."""
    try:
        require_stablehlo(opened.program)
        require_compiler(opened.program.hardware.name)
    except EngineError as error:
        return str(error)
    return ""


def _figures(opened: OpenProgram, places: list[st.delta_generator.DeltaGenerator]) -> None:
    gains = known_view.gains(opened)
    default = gains.default_cycles
    figures = {
        "Default, cycles": f"{default:,.0f}" if default else "–",
        "Best gain, cycles alone": share_text(max(gains.alone)) if gains.alone else "–",
        "Best gain": share_text(max(gains.totals)) if gains.totals else "–",
        "Compiles known": f"{len(gains.alone):,}",
    }
    for place, (label, text) in zip(places, figures.items(), strict=True):
        place.metric(label, text, help=about(label))


def _failures(opened: OpenProgram) -> None:
    for job in opened.jobs:
        if job.state == FAILED and job.order.kind in OF_COMPILER:
            st.error(f"**{plain(job.solver)}**: {plain(job.error)}", icon=":material/error:")


def _remember(session: Session) -> None:
    query = links.address(session)
    st.query_params.from_dict(query)
    caching.last_views().put(session.identity, View("compiler", query))
