"""Debug, the inbox: findings filtered and sorted; a row opens its position."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.debugging.findings import AT_ONCE, LATER, PHASES, SIGNS, Finding
from engine.debugging.regret import CLASSES
from engine.game.moves import ACTION_NAMES
from ui.components.glossary import about
from ui.components.table_view import show_table
from ui.debug import studies
from ui.model.debug.table import COLUMNS, SORTS, UNCLASSED, Debugging, Filter, table
from ui.search import jobs_view
from ui.session.state import Session

_KINDS = ("input", "temporary", "output")
_MIB = 2**20
_MEASURE_SECONDS = 300.0
_CONFIG = {
    "here": st.column_config.TextColumn("", width=28),
    "class": st.column_config.TextColumn("Class", width=150, help=about("class")),
    "move": st.column_config.NumberColumn("Move", width=60),
    "played": st.column_config.TextColumn("Played", width=110),
    "better": st.column_config.TextColumn("Better", width=110),
    "regret": st.column_config.NumberColumn("Regret, µs", width=90, help=about("regret")),
    "surprise": st.column_config.NumberColumn("Surprise", width=75, help=about("surprise")),
    "wrong prior": st.column_config.NumberColumn(
        "Wrong prior", format="percent", width=95, help=about("wrong prior")
    ),
    "value jump": st.column_config.NumberColumn(
        "Value jump, µs", width=105, help=about("value jump")
    ),
    "punished": st.column_config.TextColumn("Punished", width=80, help=about("punished")),
    "model drift": st.column_config.NumberColumn(
        "Model drift, µs", width=105, help=about("model drift")
    ),
    "illegal": st.column_config.NumberColumn(
        "Illegal", format="percent", width=65, help=about("illegal imagination")
    ),
    "tensor": st.column_config.TextColumn("Tensor", width="medium"),
    "kind": st.column_config.TextColumn("Kind", width=85),
    "size": st.column_config.NumberColumn("Size, MiB", format="%.3g", width=85),
    "pressure": st.column_config.NumberColumn(
        "Pressure", format="percent", width=80, help=about("memory pressure")
    ),
    "phase": st.column_config.TextColumn("Phase", width=70, help=about("phase")),
    "visits": st.column_config.NumberColumn("Visits", width=60, help=about("visits")),
    "note": st.column_config.TextColumn("Note", width="medium"),
    "game": st.column_config.TextColumn("Game", width="small"),
}


def show(session: Session, rows: Sequence[Finding]) -> None:
    """Show the filter, the table, and the buttons that go through it."""
    debug, state = session.open.debug, session.open.searches
    _controls(session, rows)
    if not rows:
        st.info(
            "No finding passes the filter."
            if debug.filter.is_narrow
            else "Nothing was at stake at any move of this game.",
            icon=":material/inbox:",
        )
        return
    noted = {name: debug.notes.of(studies.key_of(t)) for name, t in state.thoughts.items()}
    at = _place(session, rows)
    # The default counts only for a new table, so other rows or another position make one.
    moves = tuple((finding.game, finding.move) for finding in rows)
    key = f"debug_inbox_{session.open.identity}_{hash((moves, at))}_{debug.edition}"
    shown = [c for c in COLUMNS if c != "game" or debug.is_of_all]
    chosen = show_table(
        table(rows, noted, (state.current, state.move)),
        _CONFIG,
        key=key,
        height=248,
        on_select="rerun",
        selection_mode="single-row",
        selection_default=None if at is None else {"selection": {"rows": [at]}},
        column_order=shown,
    )
    picked = chosen.selection.rows
    row = picked[0] if picked else None
    if row is not None and row != at and row < len(rows):
        _open(session, rows[row])


def _place(session: Session, rows: Sequence[Finding]) -> int | None:
    """The number of the row of the move that is shown; None if it has no row."""
    state = session.open.searches
    here = (state.current, state.move)
    return next((i for i, f in enumerate(rows) if (f.game, f.move) == here), None)


def _open(session: Session, finding: Finding) -> None:
    state = session.open.searches
    state.show(finding.game)
    state.jump(finding.move)
    session.open.debug.edition += 1
    st.rerun()


def _controls(session: Session, rows: Sequence[Finding]) -> None:
    debug, number = session.open.debug, _place(session, rows)
    # A widget keeps its choice by its key, which is that of one program.
    name = session.program_name

    def take() -> None:
        """Before the page is drawn, so that a button pressed at once finds the rows as they are."""
        debug.filter, debug.is_of_all = _asked(debug, name)
        debug.edition += 1

    sort, classes, more, back, on, place, measure = st.columns(
        [1.5, 2.6, 1, 0.95, 0.95, 1.1, 1.2], vertical_alignment="bottom"
    )
    sort.selectbox(
        "Sort by", list(SORTS), list(SORTS).index(debug.filter.sort),
        key=f"sort_{name}", on_change=take,
    )  # fmt: skip
    classes.pills(
        "Class", [*CLASSES, UNCLASSED], selection_mode="multi", default=list(debug.filter.classes),
        key=f"debug_classes_{name}", on_change=take,
    )  # fmt: skip
    label = "Filter ●" if debug.filter.is_narrow else "Filter"
    with more.popover(label, icon=":material/filter_alt:", width="stretch"):
        _more(debug, name, len(session.open.searches.thoughts), take)
    if _asked(debug, name) != (debug.filter, debug.is_of_all):
        take()
        st.rerun()
    _step(session, rows, number, back, on)
    current = "–" if number is None else f"{number + 1:,}"
    place.caption(f"{current} of {len(rows):,}")
    _measure(session, measure)


def _step(
    session: Session,
    rows: Sequence[Finding],
    number: int | None,
    back: DeltaGenerator,
    on: DeltaGenerator,
) -> None:
    """Show buttons to the previous and the next row, with the keys k and j."""
    by = 0
    if back.button("Back", shortcut="k", key="finding_back", width="stretch", disabled=not rows):
        by = -1
    if on.button("Next", shortcut="j", key="finding_next", width="stretch", disabled=not rows):
        by = 1
    if by and rows:
        _open(session, rows[0 if number is None else (number + by) % len(rows)])


def _measure(session: Session, place: DeltaGenerator) -> None:
    """Show a button that measures more regrets, where the first minute was too short."""
    state = session.open.searches
    thought, study = state.thought, state.study
    if thought is None or study is None or study.completeness >= 1:
        return
    if place.button(
        "Measure more",
        key="measure_more",
        width="stretch",
        disabled=state.is_busy,
        help="Plays the other actions of more moves to the end of the game, for five minutes",
    ):
        jobs_view.order_findings(session, thought, _MEASURE_SECONDS)
        st.rerun()


def _more(debug: Debugging, name: str, num_games: int, take: Callable[[], None]) -> None:
    """Show the popover's controls for a program, which call `take` when they change."""
    given = debug.filter

    def choose(label: str, options: Sequence[str], default: tuple[str, ...]) -> None:
        st.pills(
            label, list(options), selection_mode="multi", default=list(default),
            key=f"debug_{label.lower()}_{name}", on_change=take,
        )  # fmt: skip

    choose("Action", ACTION_NAMES, given.actions)
    choose("Kind", _KINDS, given.kinds)
    choose("Phase", PHASES, given.phases)
    choose("Punished", (AT_ONCE, LATER), given.punished)
    choose("Sign", SIGNS, given.signs)
    st.number_input(
        "Size, at least (MiB)", 0.0, 1e6, given.least_bytes / _MIB,
        key=f"debug_size_{name}", on_change=take,
    )  # fmt: skip
    st.slider(
        "Memory pressure, at least", 0.0, 1.0, given.least_pressure,
        key=f"debug_pressure_{name}", on_change=take,
    )  # fmt: skip
    if num_games > 1:
        words = f"All {num_games} games of this program"
        st.toggle(words, debug.is_of_all, key=f"debug_all_{name}", on_change=take)


def _asked(debug: Debugging, name: str) -> tuple[Filter, bool]:
    """The filter that the controls of a program say, and whether it is on all games."""
    said = st.session_state
    sets = ("classes", "action", "kind", "phase", "punished", "sign")
    classes, actions, kinds, phases, punished, signs = (
        tuple(said[f"debug_{what}_{name}"]) for what in sets
    )
    asked = Filter(
        sort=said[f"sort_{name}"],
        classes=classes,
        actions=actions,
        kinds=kinds,
        phases=phases,
        punished=punished,
        signs=signs,
        least_bytes=int(_MIB * said[f"debug_size_{name}"]),
        least_pressure=said[f"debug_pressure_{name}"],
    )
    return asked, said.get(f"debug_all_{name}", debug.is_of_all)
