"""Results that all visitors share: sample programs, moves, packed boards, films, judgements.

What is large or immutable is kept once per server; the keys are content identities, so a stale
entry cannot be met. Arguments with an underscore are not part of the key.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from engine.errors import EngineError
from engine.game.moves import Move, moves
from engine.plan.model import Plan
from engine.plan.simulate import Simulation, simulate
from engine.program import library
from engine.program.library import SampleEntry
from engine.program.model import Program
from ui.jobs import Workshop
from ui.viewmodel.board import board
from ui.viewmodel.film import Film
from ui.viewmodel.ranking import Row, row


@st.cache_resource(show_spinner=False)
def sample_index() -> tuple[SampleEntry, ...]:
    """What the samples' index says; empty if it cannot be read."""
    try:
        return library.index()
    except EngineError:
        return ()


@st.cache_resource(max_entries=32, show_spinner="Reading the program …")
def sample(name: str) -> Program:
    """A sample program by name."""
    return library.load_sample(name)


@st.cache_resource(max_entries=32, show_spinner=False)
def moves_of(identity: str, _program: Program) -> Sequence[Move]:
    """The moves of a program."""
    return moves(_program)


@st.cache_resource(max_entries=64, show_spinner="Simulating the plan …")
def simulation_of(identity: str, _program: Program, _plan: Plan) -> Simulation:
    """The simulated run of a plan."""
    return simulate(_program, _plan)


@st.cache_resource(max_entries=64, show_spinner="Checking the plan …")
def row_of(identity: str, _program: Program, _plan: Plan, name: str) -> Row:
    """A plan's line in the comparison: simulated and checked."""
    return row(_program, name, _plan)


@st.cache_resource(max_entries=16, show_spinner="Drawing the memory map …")
def packed_board(identity: str, _program: Program, _plan: Plan, program_identity: str) -> bytes:
    """The message that draws a plan; `identity` names it in the browser too."""
    return board(
        _program,
        _plan,
        moves_of(program_identity, _program),
        simulation_of(identity, _program, _plan),
        identity,
    )


@st.cache_resource(max_entries=8, show_spinner="Replaying the plan as moves of the game …")
def film_of(identity: str, _program: Program, _plan: Plan) -> Film:
    """The game that follows a plan as closely as the rules allow."""
    return Film(_program, _plan)


@st.cache_resource(max_entries=32, show_spinner=False)
def solver_names(identity: str, _program: Program) -> dict[str, str]:
    """Solvers that can run on a program, each with its description."""
    from engine.analysis.compare import applicable
    from engine.solvers import SOLVERS

    return {name: SOLVERS[name].description for name in applicable(_program)}


@st.cache_resource(show_spinner=False)
def workshop() -> Workshop:
    """The solver runs of this server."""
    return Workshop()
