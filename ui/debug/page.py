"""Debug: the decisions of the agent that went wrong, and what would have come of others."""

from __future__ import annotations

import streamlit as st

from engine.debugging.move_notes import MoveNotes, Note, notes_from_link
from engine.errors import UsageError
from ui.compare import gap_view as first_gap
from ui.components.glossary import about
from ui.components.markdown import plain
from ui.components.units import share_text
from ui.debug import duel_view, export_view, force_view, gap_view, inbox_view, notes_view, studies
from ui.model.debug.table import PANELS, counts_text
from ui.model.search.state import Thought
from ui.search import board_view, jobs_view, watch_view
from ui.session import caching, links, recordings
from ui.session.jobs_view import with_jobs
from ui.session.last_view import View
from ui.session.narrow_view import narrow_note
from ui.session.program_picker_view import program_picker
from ui.session.state import Session, current_session

KEY, STORE = "debug_search", "debug_store"
LONGEST_NOTES = 1500
"""Characters of the notes that the address bar carries; a copied link carries any."""
_ABOUT = (
    "finding", "class", "regret", "at stake here", "surprise", "wrong prior", "value jump",
    "punished", "model drift", "illegal imagination", "memory pressure", "phase", "visits",
    "forced action", "A/B",
)  # fmt: skip


@with_jobs
def render() -> None:
    """The page."""
    session = current_session()
    narrow_note()
    recordings.ensure_open(session)
    _take_up_notes(session)
    _take_link(session)
    _keep_notes(session)
    recordings.take_up(session.open)
    board_view.collect(session)
    thought = session.open.searches.thought
    if thought is None:
        _nothing_yet(session)
        return
    studies.begin(session, thought)
    rows = session.open.debug.filter.rows(studies.all_findings(session))
    _header(session, thought)
    watch_view.recorded_note(session, thought)
    jobs_view.failures(session)
    _offer_again(session, thought)
    _choose_first_move(session, [f.move for f in rows if f.game == session.open.searches.current])
    gap_view.show(session, thought)
    inbox_view.show(session, rows)
    thought = session.open.searches.thought or thought
    shown = tuple(f.move for f in rows if f.game == session.open.searches.current)
    session.open.searches.rows = shown
    board_view.store(session, thought, STORE)
    _board()
    _panel(session, thought)
    _remember(session)


def _nothing_yet(session: Session) -> None:
    with st.columns([2.3, 6])[0]:
        program_picker(session)
    st.subheader("Find the decisions that went wrong", anchor=False)
    st.markdown(
        "Every move of a game that the agent played, with what it cost against the best line found,"
        " how sure its network was, what its model imagined, and both searches side by side."
    )
    watch_view.first_game(session)
    jobs_view.failures(session)
    if session.open.plans:
        with st.container(border=True, key="before_the_game"):
            st.markdown("##### Where the gap is, without the agent")
            first_gap.show_first_pair(session)
    with st.expander("Open a trace file", icon=":material/upload_file:"):
        jobs_view.upload(session)
    st.query_params.from_dict(_query(session))


def _take_up_notes(session: Session) -> None:
    """Take in the notes that the visitor wrote on this program at earlier visits."""
    debug = session.open.debug
    if debug.kept is None:
        debug.kept = caching.kept_notes().find(session.identity, session.open.identity)
        debug.notes.take(debug.kept)


def _keep_notes(session: Session) -> None:
    """Keep what has changed of the notes; where that cannot be done, it is said."""
    opened = session.open
    changed = opened.debug.notes.changes(opened.debug.kept or MoveNotes())
    if not changed:
        return
    opened.debug.kept = MoveNotes(opened.debug.notes)
    if not caching.kept_notes().save(session.identity, opened.identity, changed):
        text = "cannot be kept here: save the bundle (Report), or they are lost with this tab."
        session.news.tell("The notes", text, is_error=True)


def _take_link(session: Session) -> None:
    """Take in the notes of the link with which the visitor came; the visitor's own are kept."""
    debug, text = session.open.debug, st.query_params.get("notes", "")
    if debug.is_linked or not text:
        return
    debug.is_linked = True
    try:
        linked = notes_from_link(text)
        own = [n for n in linked if debug.notes.at(n.game, n.move) not in (n, Note(n.game, n.move))]
        debug.notes.take(note for note in linked if note not in own)
    except UsageError as error:
        _warn(session, str(error))
        return
    if own:
        moves = ", ".join(f"{note.move + 1:,}" for note in own)
        _warn(session, f"The link has other notes than yours on move {moves}; yours are kept.")


def _warn(session: Session, text: str) -> None:
    """Say what of a link cannot be shown, now and on the pages to come."""
    session.notices.append(text)
    st.warning(plain(text), icon=":material/link_off:")


def _header(session: Session, thought: Thought) -> None:
    state = session.open.searches
    first, second, third, fourth, export, file = st.columns(
        [2.2, 2, 1.5, 1, 0.9, 0.8], vertical_alignment="bottom"
    )
    with first:
        program_picker(session)
    names = list(state.thoughts)
    chosen = second.selectbox(
        "Game", names, names.index(state.current), key=f"debug_game_{len(names)}_{state.current}"
    )
    if chosen != state.current:
        state.show(chosen)
        st.rerun()
    study = studies.study_of(session, thought)
    third.metric("Classes", counts_text(study.findings), help=about("Classes"))
    fourth.metric("Measured", share_text(study.completeness), help=about("Measured"))
    with export.popover("Report", icon=":material/download:", width="stretch"):
        export_view.show(session, thought)
    with file.popover("File", icon=":material/save:", width="stretch"):
        jobs_view.files(session, thought)


def _offer_again(session: Session, thought: Thought) -> None:
    """Show a button for each piece of work on the game that failed or was stopped."""
    ended = studies.ended(session, thought)
    if not ended:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Ended without a result:", width="content")
        for kind, (words, start) in ended.items():
            if st.button(words, key=f"again_{kind}", icon=":material/refresh:"):
                start()
                st.rerun()


def _choose_first_move(session: Session, rows: list[int]) -> None:
    """Jump to the link's move, else to that of the first row, with another search beside."""
    state = session.open.searches
    thought = state.thought
    if thought is None or state.move >= 0:
        return
    asked, last = st.query_params.get("move", ""), thought.trace.num_moves - 1
    is_number = asked.isdecimal() and asked.isascii() and len(asked) < 10
    move = int(asked) - 1 if is_number else rows[0] if rows else 0
    state.jump(max(0, min(last, move)), 1 if state.of_game() else -1)


@st.fragment
def _board() -> None:
    """Show both searches of the current move; another move reruns the whole page."""
    session = current_session()
    state, before = session.open.searches, session.open.searches.move
    if state.thought is None:
        return
    board_view.show(session, state.thought, KEY)
    if state.move != before:
        session.open.debug.edition += 1
        st.rerun()


def _panel(session: Session, thought: Thought) -> None:
    debug = session.open.debug
    chosen = st.segmented_control(
        "More",
        list(PANELS),
        format_func=PANELS.__getitem__,
        default=debug.panel,
        required=True,
        key=f"debug_panel_{session.program_name}",
        label_visibility="collapsed",
    )
    debug.panel = chosen or debug.panel
    if debug.panel == "force":
        force_view.show(session, thought)
    elif debug.panel == "notes":
        notes_view.show(session, thought)
    elif debug.panel == "ab":
        duel_view.show(session, thought)
    else:
        st.markdown("\n".join(f"- **{name}**: {about(name)}" for name in _ABOUT))


def _query(session: Session) -> dict[str, str]:
    """The parameters of the address bar: program, move, and notes unless they are too long."""
    query = links.address(session)
    move = session.open.searches.move
    if move >= 0:
        query["move"] = str(move + 1)
    elif "move" in st.query_params:
        query["move"] = st.query_params["move"]
    notes = session.open.debug.notes.to_link()
    if notes and len(notes) <= LONGEST_NOTES:
        query["notes"] = notes
    return query


def _remember(session: Session) -> None:
    query = _query(session)
    st.query_params.from_dict(query)
    caching.last_views().put(session.identity, View("debug", query))
