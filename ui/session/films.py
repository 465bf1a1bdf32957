"""Films of plans, made once for all visitors: at once where that is quick, else in a job.

To follow a plan of thousands of moves takes the game some seconds. So it is recorded: for the plans
that ship in a file beside them (`ui.session.record_films`), for others as the result of a job,
which is kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import streamlit as st

from engine.errors import EngineError
from engine.files import State, read_json, require_header, state_of
from engine.game.moves import RULES_VERSION
from engine.game.notes import notes_its_game
from engine.plan.model import Plan
from engine.program.library import SAMPLES_FOLDER
from engine.program.model import Program
from ui.jobs.protocol import FAILED, FOLLOW, STOPPED, Order
from ui.jobs.run import Job
from ui.model.play.film import Film
from ui.model.play.line import Line, Variations
from ui.session import caching
from ui.session.state import OpenPlan, OpenProgram, Session

QUICK_TOUCHES = 1000
"""A plan for so many touches is followed in less than a second, without a job."""
RECORDS = SAMPLES_FOLDER / "films"
KIND, VERSION = "mallocmuzero-films", 1
TITLE = "The plan as moves"
_MOST_KEPT = 8
Tell = Callable[[float], object]
"""What hears the share of a film that is made."""


def _silent(share: float) -> None:
    """For who does not show how far it is."""


class Films:
    """The films made last, by the identity of their plan; safe among threads."""

    def __init__(self, most_kept: int = _MOST_KEPT) -> None:
        """Keep so many."""
        self._most_kept = most_kept
        self._kept: OrderedDict[str, Film] = OrderedDict()
        self._lock = Lock()

    def find(self, identity: str) -> Film | None:
        """The film of a plan, if it is kept."""
        with self._lock:
            if identity in self._kept:
                self._kept.move_to_end(identity)
            return self._kept.get(identity)

    def make(
        self,
        identity: str,
        program: Program,
        plan: Plan,
        record: Mapping[str, Any] | None,
        tell: Tell = _silent,
    ) -> Film:
        """The film of a plan, made if it is not kept; `tell` hears how much of it is."""
        film = self.find(identity)
        if film is None:
            film = Film(program, plan, record, tell)
            with self._lock:
                self._kept[identity] = film
                while len(self._kept) > self._most_kept:
                    self._kept.popitem(last=False)
        return film


@st.cache_resource(show_spinner=False)
def _films() -> Films:
    return Films()


def shipped(program: str, identity: str, folder: Path = RECORDS) -> Mapping[str, Mapping[str, Any]]:
    """The records that ship with the program of that name and content, by the plan's identity.

    Empty where there is no file, or one of another program or of other rules.
    """
    path = folder / f"{program}.json.gz"
    if program not in {entry.name for entry in caching.sample_index()} or not path.exists():
        return {}
    return _shipped(state_of(path), identity, path)


@st.cache_resource(max_entries=64, show_spinner=False)
def _shipped(state: State, identity: str, _path: Path) -> Mapping[str, Mapping[str, Any]]:
    try:
        body = read_json(_path)
        require_header(body, KIND, VERSION, str(_path))
        if (body["program"], body["rules"]) != (identity, RULES_VERSION):
            return {}
        return {str(plan): dict(record) for plan, record in body["films"].items()}
    except (EngineError, KeyError, TypeError, ValueError, AttributeError):
        return {}


def film_of(opened: OpenProgram, plan: Plan, identity: str, tell: Tell = _silent) -> Film:
    """The film of a plan, however long that takes; `identity` names the plan."""
    return _films().make(identity, opened.program, plan, _record(opened, identity), tell)


def line_of(session: Session, plan: OpenPlan, tell: Tell = _silent) -> Line:
    """The visitor's play on a plan; begun at the first call, however long that takes."""
    opened = session.open
    if plan.identity not in opened.lines:
        line = opened.lines[plan.identity] = Line(film_of(opened, plan.plan, plan.identity, tell))
        game, lines = opened.trees.pop(plan.identity, ("", ()))
        if game == line.film.game:
            line.tree = Variations(lines)
    return opened.lines[plan.identity]


def line_at_hand(session: Session, plan: OpenPlan) -> Line | None:
    """The visitor's play on a plan, if there is a film of it, or one takes no time to make."""
    opened = session.open
    is_quick = len(opened.program.touches) <= QUICK_TOUCHES
    is_there = plan.identity in opened.lines or _films().find(plan.identity) is not None
    return line_of(session, plan) if is_quick or is_there else None


def is_soon(opened: OpenProgram, plan: OpenPlan) -> bool:
    """Whether a film takes a second, not a minute."""
    is_small = len(opened.program.touches) <= QUICK_TOUCHES
    is_known = _record(opened, plan.identity) or _films().find(plan.identity)
    return is_small or notes_its_game(plan.plan) or is_known is not None


def follow(session: Session, plan: OpenPlan, *, again: bool = False) -> Job:
    """The job that finds how the game follows a plan; ordered if there is none yet.

    `again`: also where the last one was stopped or failed.
    """
    opened = session.open
    job = known_job(opened, plan)
    if job is None or (again and job.state in (FAILED, STOPPED)):
        details = (("rules", RULES_VERSION),)
        order = Order(FOLLOW, TITLE, 0.0, basis=plan.identity, details=details)
        job = caching.workshop().order(opened.program, order, session.identity, plan.plan)
        opened.jobs.append(job)
    return job


def known_job(opened: OpenProgram, plan: OpenPlan) -> Job | None:
    """The last job that was ordered for a plan."""
    jobs = [j for j in opened.jobs if j.order.kind == FOLLOW and j.order.basis == plan.identity]
    return jobs[-1] if jobs else None


def _record(opened: OpenProgram, identity: str) -> Mapping[str, Any] | None:
    """The record of a plan's film; None where the plan notes its own moves, or nobody made one."""
    known = opened.records.get(identity)
    return known or shipped(opened.program.name, opened.identity).get(identity)
