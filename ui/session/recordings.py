"""Recorded games of the shipped weights: what Search and Debug show before anybody has waited."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.errors import CheckpointError, EngineError
from engine.files import State, state_of
from engine.plan.model import Plan
from engine.program import library
from engine.program.library import SAMPLES_FOLDER
from ui.jobs.protocol import Order
from ui.jobs.weights import digest, shipped
from ui.model.search.recording import Recording, recording_of
from ui.model.search.watch import best_game, order_of
from ui.session import films
from ui.session.opening import BEST_KNOWN
from ui.session.state import OpenProgram

RECORDINGS = SAMPLES_FOLDER / "games"


def path_of(name: str, folder: Path = RECORDINGS) -> Path:
    """The file of the recorded game on a program."""
    return folder / f"{name}.npz"


def found(opened: OpenProgram, folder: Path = RECORDINGS) -> Recording | None:
    """The recorded game on a program; None without one of this very program, weights and rules."""
    path, weights = path_of(opened.program.name, folder), next(iter(shipped()), "")
    if not weights or not _is_sample(opened.program.name) or not path.exists():
        return None
    recording = _read(state_of(path), path)
    is_fitting = recording and not recording.refusal(opened.identity, digest(weights))
    return recording if is_fitting else None


def _is_sample(name: str) -> bool:
    try:
        library.find_sample(name)
    except EngineError:
        return False
    return True


@st.cache_resource(max_entries=16, show_spinner=False)
def _read(state: State, _path: Path) -> Recording | None:
    try:
        return recording_of(_path.read_bytes(), _path.name)
    except (CheckpointError, OSError):
        return None


def take_up(opened: OpenProgram) -> bool:
    """Show the recorded game, where there is one and no other game yet; whether it is shown now."""
    state = opened.searches
    if state.thoughts or state.is_watched:
        return False
    recording = found(opened)
    if recording is None:
        return False
    try:
        recording.add_to(state)
    except CheckpointError:
        return False
    state.is_watched = True
    return True


def first_order(opened: OpenProgram) -> tuple[Order, Plan | None]:
    """The work that leads to a first game: the agent's best one, searched again, or a new one."""
    known = opened.plans.get(BEST_KNOWN)
    game = best_game(None if known is None else known.plan)
    if game is not None and known is not None:
        film = films.film_of(opened, game, known.identity)
        game = game if film.is_exact else None
    return order_of(game), game
