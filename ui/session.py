"""The one typed session: which program and plan are open, where the cursor is, what is running."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from engine.plan.model import Plan
from engine.program.io import content_hash
from engine.program.model import Program
from ui.jobs import Job
from ui.viewmodel.line import Line

_KEY = "explorer"


@dataclass(frozen=True)
class OpenPlan:
    """A plan with the name it is listed under; `identity` is the same for the same content."""

    name: str
    plan: Plan
    identity: str


@dataclass
class OpenProgram:
    """A program in use: its plans by name, the runs under way, the bound once it is known."""

    name: str
    program: Program
    identity: str
    plans: dict[str, OpenPlan] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    bound_s: float | None = None

    def add_plan(self, name: str, plan: Plan) -> None:
        """List a plan; one of the same name is replaced."""
        digest = hashlib.sha256(repr((plan.is_fast, plan.stays, plan.copies)).encode())
        identity = f"{self.identity}-{digest.hexdigest()[:12]}"
        self.plans[name] = OpenPlan(name, plan, identity)

    def free_name(self, stem: str) -> str:
        """`stem`, or the first of `stem 2`, `stem 3` … that no plan has."""
        number = 1
        while (name := stem if number == 1 else f"{stem} {number}") in self.plans:
            number += 1
        return name

    def collect(self) -> bool:
        """Take in the results of finished runs; whether there were any."""
        finished = [job for job in self.jobs if job.plan or job.bound_s is not None]
        for job in finished:
            if job.plan is not None:
                self.add_plan(job.solver, job.plan)
                job.plan = None
            self.bound_s, job.bound_s = job.bound_s or self.bound_s, None
        return bool(finished)

    @property
    def is_busy(self) -> bool:
        """Whether a run is waiting or under way."""
        return any(not job.is_over for job in self.jobs)


@dataclass
class Cursor:
    """The move shown and the group selected. A new `nonce` makes the browser take them over."""

    move: int = 0
    selected: int = -1
    nonce: int = 0

    def jump(self, move: int, selected: int = -1) -> None:
        """Send the browser to a move."""
        self.move, self.selected, self.nonce = move, selected, self.nonce + 1


@dataclass
class Session:
    """Everything that one visitor has open."""

    pages: dict[str, StreamlitPage] = field(default_factory=dict)
    """The views by name, to switch to."""
    programs: dict[str, OpenProgram] = field(default_factory=dict)
    program_name: str = ""
    plan_name: str = ""
    cursor: Cursor = field(default_factory=Cursor)
    line: Line | None = None
    is_as_moves: bool = False
    """Whether a plan is shown as the game would play it instead of as it is."""
    stored: str = ""
    """Identity of the plan that the browser was sent last."""
    question: int | None = None
    """The refused action whose blockers are shown, if any."""

    @property
    def open(self) -> OpenProgram:
        """The program in use."""
        return self.programs[self.program_name]

    @property
    def plan(self) -> OpenPlan | None:
        """The plan in use, or None while the program has none."""
        return self.open.plans.get(self.plan_name) or next(iter(self.open.plans.values()), None)

    def open_program(self, name: str, program: Program) -> None:
        """Switch to a program; its plans and runs are kept if it was open before."""
        if name not in self.programs:
            self.programs[name] = OpenProgram(name, program, content_hash(program))
        if name != self.program_name:
            self.program_name, self.plan_name, self.line = name, "", None
            self.cursor.jump(0)

    def show_plan(self, name: str) -> None:
        """Switch to another plan of the same program; the cursor stays on its move."""
        self.plan_name, self.line, self.question, self.is_as_moves = name, None, None, False


def session() -> Session:
    """The visitor's session, made at the first call."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Session()
    found: Session = st.session_state[_KEY]
    return found
