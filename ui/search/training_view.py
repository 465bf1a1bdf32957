"""Search, training: learning curves of runs, while they go on."""

from __future__ import annotations

import time
from pathlib import Path

import streamlit as st

from ui.components.units import count_text
from ui.model.search.curves import Run, curve_files, loss_figure, progress_figure, read_curve
from ui.session.late_charts_view import late_chart
from ui.session.state import current_session

_ROOT = Path(__file__).resolve().parents[2]
_FRESH_SECONDS = 300
"""A run that wrote in the last minutes is taken to go on."""
_POLL_SECONDS = 5
_ALL = "all programs"
_OWN = "a file of mine"


def show_apart() -> None:
    """Folded, for a page that is about something else."""
    with st.expander("Learning curves of training runs", icon=":material/trending_up:"):
        show()


def show() -> None:
    """Choose a run, then its curves; they follow a run that goes on."""
    files = {p.parent.relative_to(_ROOT).as_posix(): p for p in curve_files(_ROOT)}
    chosen, program = st.columns([1, 1], vertical_alignment="bottom")
    name = chosen.selectbox("Training run", [*files, _OWN], key="training_run")
    if name == _OWN:
        st.caption("`python -m engine train --run FOLDER …` writes `FOLDER/curve.jsonl`.")
        given = st.file_uploader("A curve.jsonl", type="jsonl", key="training_file")
        if given is not None:
            run = read_curve(given.getvalue().decode(errors="replace"))
            _curves(run, _program(run, program))
        return
    path = files[name]
    run = read_curve(path.read_text())
    shown = _program(run, program)
    age = time.time() - path.stat().st_mtime
    st.fragment(_follow, run_every=_POLL_SECONDS if age < _FRESH_SECONDS else None)(path, shown)


def _program(run: Run, place: st.delta_generator.DeltaGenerator) -> str | None:
    chosen = place.selectbox("Program", [_ALL, *run.programs], key="training_program")
    return None if chosen == _ALL else chosen


def _follow(path: Path, program: str | None) -> None:
    _curves(read_curve(path.read_text()), program)


def _curves(run: Run, program: str | None) -> None:
    if not run.rounds:
        st.info("No round has been finished yet.", icon=":material/hourglass_empty:")
        return
    progress, losses = st.columns(2, gap="medium")
    with progress:
        st.markdown("##### Games")
        late_chart(current_session(), progress_figure(run, program), "training_progress")
    with losses:
        st.markdown("##### Losses")
        late_chart(current_session(), loss_figure(run), "training_losses")
    rounds = count_text(len(run.rounds), "round")
    st.caption(f"{rounds} on {count_text(len(run.programs), 'program')}")
