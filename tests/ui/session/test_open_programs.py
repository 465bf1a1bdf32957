"""A visitor's programs: how many are open at once, and which one goes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.program.model import Program
from ui.jobs.protocol import RETRACE, SOLVE, Order
from ui.jobs.run import Job, Run
from ui.session import state
from ui.session.state import Session


@pytest.fixture
def session(program: Program, monkeypatch: pytest.MonkeyPatch) -> Session:
    """One with room for three programs, of which a, b and c are open and c is in use."""
    monkeypatch.setattr(state, "_MOST_PROGRAMS", 3)
    made = Session()
    for name in "abc":
        made.open_program(name, replace(program, name=name))
    return made


def job(kind: str) -> Job:
    return Job(Run(Order(kind, "work", 1.0), ""))


def test_the_one_opened_first_goes(session: Session, program: Program) -> None:
    session.open_program("d", program)
    assert list(session.programs) == ["b", "c", "d"]
    session.open_program("b", program)
    session.open_program("e", program)
    assert list(session.programs) == ["b", "d", "e"], "what is in use stays"


def test_work_of_any_page_keeps_its_program(session: Session, program: Program) -> None:
    session.programs["a"].jobs.append(job(SOLVE))
    session.programs["b"].searches.jobs.append(job(RETRACE))
    assert [opened.name for opened, _ in session.jobs()] == ["a", "b"]
    session.open_program("d", program)
    assert list(session.programs) == ["a", "b", "c", "d"], "nothing was idle but what is in use"
