"""Debug, what can be taken away: a report, a bundle with trace and notes, a link."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import streamlit as st

from engine.analysis.bundle import NOTES_FILE, TRACE_FILE, bundle, file_name, member
from engine.debugging.debug_report import Block, GameReport, blocks, html, markdown
from engine.debugging.game_curves import curves
from engine.debugging.move_notes import notes_from_json
from engine.errors import EngineError, UsageError
from engine.files import json_of
from ui.components.markdown import plain
from ui.components.units import time_text
from ui.debug import force_view, studies
from ui.model.search.state import Thought, brought, search_name
from ui.session import links
from ui.session.state import Session


def show(session: Session, thought: Thought) -> None:
    """Show buttons that export all that the inbox holds, and an upload of a bundle."""
    stem = f"{file_name(session.program_name)}-findings"
    _save(
        "Report (HTML)", lambda: html(stem, _blocks(session, thought)), f"{stem}.html", "text/html"
    )
    _save(
        "Report (Markdown)", lambda: markdown(_blocks(session, thought)), f"{stem}.md",
        "text/markdown",
    )  # fmt: skip
    _save("Bundle (zip)", lambda: _bundle(session, thought), f"{stem}.zip", "application/zip")
    st.caption("The bundle holds program, game, trace, notes and report.")
    st.code(link(session), language=None, wrap_lines=True)
    upload = st.file_uploader("A bundle of this program", type="zip", key="debug_bundle")
    if st.button("Open", key="open_bundle", disabled=upload is None, width="stretch"):
        assert upload is not None
        try:
            _open(session, upload.getvalue(), upload.name)
        except EngineError as error:
            st.error(plain(error), icon=":material/error:")
            return
        st.rerun()


def _open(session: Session, data: bytes, name: str) -> None:
    """Show the game of a bundle, with its notes. Raises EngineError."""
    trace, notes = member(data, TRACE_FILE), member(data, NOTES_FILE)
    if trace is None:
        raise UsageError(f"{name}: holds no {TRACE_FILE}; export it from Debug")
    session.open.searches.add(brought(session.open.program, trace, name))
    if notes is not None:
        try:
            body = json_of(notes)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{name}: its notes cannot be read; export it again") from error
        session.open.debug.notes.take(notes_from_json(body))


def link(session: Session) -> str:
    """The address of this page with this move and all notes."""
    query = {**links.address(session), "move": str(session.open.searches.move + 1)}
    notes = session.open.debug.notes.to_link()
    if notes:
        query["notes"] = notes
    address = str(st.context.url or "").partition("?")[0].rstrip("/")
    return f"{address}?{urlencode(query)}"


def _blocks(session: Session, thought: Thought) -> list[Block]:
    study = studies.study_of(session, thought)
    facts = {
        "search": search_name(thought.facts, thought.trace),
        "saves": time_text(curves(thought.trace).final).replace("\N{NO-BREAK SPACE}", " "),
    }
    notes = session.open.debug.notes.of(studies.key_of(thought))
    game = GameReport(
        session.open.searches.current,
        facts,
        study.findings,
        study.completeness,
        notes,
        force_view.answers(session, thought),
    )
    duels = session.open.searches.duels
    return blocks(
        session.open.program.name, [game], duels[-1].result if duels else None, link(session)
    )


def _bundle(session: Session, thought: Thought) -> bytes:
    report = _blocks(session, thought)
    more = {
        TRACE_FILE: thought.data,
        NOTES_FILE: (json.dumps(session.open.debug.notes.to_json()) + "\n").encode(),
        "report.html": html("findings", report).encode(),
        "report.md": markdown(report).encode(),
    }
    return bundle(session.open.program, {"muzero": thought.plan}, link(session), more)


def _save(label: str, data: object, name: str, mime: str) -> None:
    st.download_button(
        label,
        data=data,  # type: ignore[arg-type]
        file_name=name,
        mime=mime,
        on_click="ignore",
        key=f"save_{name}",
        width="stretch",
    )
