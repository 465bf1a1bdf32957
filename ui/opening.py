"""Getting a program and a first plan onto the table: samples, uploads, links."""

from __future__ import annotations

import streamlit as st

from engine.errors import EngineError
from engine.plan.io import plan_from_json
from engine.program import library
from engine.program.model import Program
from ui import caching
from ui.jobs import wait_for
from ui.session import Session
from ui.viewmodel.turns import telling_move

COMPILED = "xla_compiled"
_FIRST_SOLVER = "greedy"
_FIRST_SECONDS = 60.0


def program_names(here: Session) -> list[str]:
    """Samples first, in the order of their index, then what the visitor brought."""
    names = [entry.name for entry in caching.sample_index()]
    return names + [name for name in here.programs if name not in names]


def ensure_open(here: Session) -> None:
    """Open what the link asks for, else the first sample; without samples the page ends here."""
    if here.program_name:
        return
    names = program_names(here)
    if not names:
        st.error("No sample program can be read: `sample_programs/` is missing or damaged.")
        st.stop()
    wanted, plan = st.query_params.get("program", ""), st.query_params.get("plan", "")
    move = st.query_params.get("move", "")
    open_named(here, wanted if wanted in names else names[0])
    if wanted in names:
        here.plan_name = plan
        if move.isdecimal():
            here.cursor.jump(max(0, int(move) - 1))


def open_named(here: Session, name: str) -> None:
    """Open a program of the list."""
    if name in here.programs:
        here.open_program(name, here.programs[name].program)
        return
    add_program(here, name, caching.sample(name))
    here.open.bound_s = library.find_sample(name).bound_s


def add_program(here: Session, name: str, program: Program) -> None:
    """Open a new program, with the compiler's own plan if it came with one."""
    here.open_program(name, program)
    here.cursor.jump(telling_move(caching.moves_of(here.open.identity, program)))
    compiled = program.provenance.get("xla_plan")
    if compiled is not None:
        here.open.add_plan(COMPILED, plan_from_json(compiled, f"{name}: provenance.xla_plan"))


def first_plan(here: Session) -> None:
    """Give a program without any plan one to look at; says so on the page if that fails."""
    with st.spinner("Making a first plan …"):
        job = caching.workshop().start(here.open.program, _FIRST_SOLVER, _FIRST_SECONDS)
        here.open.jobs.append(job)
        is_over = wait_for([job], 2 * _FIRST_SECONDS)
        here.open.collect()
    if not here.open.plans:
        st.error(f"No plan could be made: {job.error if is_over else 'the solver took too long'}")


def try_open(here: Session, name: str) -> bool:
    """Open a program of the list, or say on the page why it cannot be."""
    try:
        open_named(here, name)
    except EngineError as error:
        st.error(str(error), icon=":material/error:")
        return False
    return True
