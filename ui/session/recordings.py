"""Recorded games of the shipped weights: what Search and Debug show before anybody has waited."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.errors import CheckpointError
from engine.files import State, state_of
from engine.plan.model import Plan
from engine.program import library
from engine.program.library import SAMPLES_FOLDER
from engine.program.model import Program
from ui.jobs.protocol import Order
from ui.jobs.weights import digest, shipped
from ui.model.search.recording import Recording, recording_of
from ui.model.search.watch import best_game, order_of
from ui.session import caching, films, opening
from ui.session.opening import BEST_KNOWN
from ui.session.state import OpenProgram, Session

RECORDINGS = SAMPLES_FOLDER / "games"


def path_of(name: str, folder: Path = RECORDINGS) -> Path:
    """The file of the recorded game on a program."""
    return folder / f"{name}.npz"


def found(opened: OpenProgram, folder: Path = RECORDINGS) -> Recording | None:
    """The recorded game on a program; None without one of this very program, weights and rules."""
    path, weights = path_of(opened.program.name, folder), next(iter(shipped()), "")
    if not weights or not library.is_sample(opened.program.name) or not path.exists():
        return None
    return _read(state_of(path), opened.identity, digest(weights), path, opened.program)


def names(most: int, folder: Path = RECORDINGS) -> list[str]:
    """The first samples, at most so many, with a recorded game of their content."""
    weights = next(iter(shipped()), "")
    listed = [e for e in caching.sample_index() if path_of(e.name, folder).exists()]
    if not weights:
        return []
    chosen: list[str] = []
    for entry in listed:
        if len(chosen) == most:
            break
        path = path_of(entry.name, folder)
        program = caching.sample(entry.name)
        if _read(state_of(path), entry.content_hash, digest(weights), path, program) is not None:
            chosen.append(entry.name)
    return chosen


@st.cache_resource(max_entries=32, show_spinner=False)
def _read(
    state: State, identity: str, weights: str, _path: Path, _program: Program
) -> Recording | None:
    del state
    try:
        recording = recording_of(_path.read_bytes(), _path.name)
        if recording.refusal(identity, weights):
            return None
        recording.require_game_of(_program)
    except (CheckpointError, OSError):
        return None
    return recording


def take_up(opened: OpenProgram) -> None:
    """Show the recorded game, where there is one and no other game yet but of earlier visits."""
    state = opened.searches
    if state.has_new or state.is_watched:
        return
    recording = found(opened)
    if recording is not None:
        recording.add_to(state)


def ensure_open(session: Session) -> None:
    """Open what the link asks for, else a sample with a recorded game (`opening.ensure_open`)."""
    opening.ensure_open(session, () if session.program_name else names(1))


def first_order(opened: OpenProgram) -> tuple[Order, Plan | None]:
    """The work that leads to a first game: the agent's best one, searched again, or a new one."""
    known = opened.plans.get(BEST_KNOWN)
    game = best_game(None if known is None else known.plan)
    if game is not None and known is not None:
        film = films.film_of(opened, game, known.identity)
        game = game if film.is_exact else None
    return order_of(game), game
