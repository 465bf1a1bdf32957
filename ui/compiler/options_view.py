"""Compiler: a plan as compiler options to copy, and the button that has them compiled."""

from __future__ import annotations

import json
from collections.abc import Mapping

import streamlit as st

from engine.compiler.export import Steering, aims, exports
from engine.compiler.flags import Flags
from engine.errors import PlanError
from engine.program.io import content_hash
from ui.components.copyable_view import copyable
from ui.components.units import count_text
from ui.jobs.protocol import VERIFY, Order
from ui.session import caching
from ui.session.state import OpenPlan, Session

PREFIX = "compiled "
"""Of the name of a plan that came of compiling another one."""
_SECONDS = 300.0
"""Of a verification, as far as the list of jobs is concerned; it takes as long as it takes."""


def show(session: Session, hindrance: str) -> None:
    """The page's part; `hindrance`: why nothing can be compiled here, or empty."""
    opened = session.open
    st.subheader("A plan as compiler options", anchor=False)
    names = list(opened.plans)
    shown = session.plan.name if session.plan else names[0]
    first, second = st.columns(2)
    name = first.selectbox("Plan", names, names.index(shown), key=f"steer_{opened.identity}")
    plan = opened.plans[name]
    try:
        made = exports(opened.program, plan.plan)
    except PlanError as error:
        st.info(str(error), icon=":material/info:")
        return
    number = second.selectbox(
        "Order",
        range(len(made)),
        format_func=lambda n: made[n].title,
        key=f"variant_{plan.identity}",
        help="XLA places values one after another, so their order decides what finds room. None is"
        " best on all programs; *Compile* tries them all by an early stop.",
    )
    flags = _flags(session, plan, made[number])
    options_code(flags, plan.identity)
    st.caption(
        f"Aims at {count_text(len(flags.aims), 'tensor')}. Addresses, an early end of a stay and"
        " single slow uses of a tensor cannot be steered."
    )
    _compile(session, plan, hindrance)


def options_of(session: Session, options: Mapping[str, str]) -> Flags:
    """Options of a compile, to be shown."""
    program = session.open.program
    return Flags(program.name, content_hash(program), program.hardware.name, options)


def options_code(flags: Flags, key: str) -> None:
    """The options in the three ways in which they can be handed over, each with a copy button."""
    ways = {
        "JAX": flags.jax_lines,
        "Environment": f"export LIBTPU_INIT_ARGS='{flags.environment}'",
        "JSON": json.dumps(dict(flags.compiler_options), indent=1),
    }
    for tab, (name, text) in zip(st.tabs(list(ways)), ways.items(), strict=True):
        with tab:
            copyable(text, f"Options, {name}", f"options_{name}_{key}")


def _flags(session: Session, plan: OpenPlan, steering: Steering) -> Flags:
    program = session.open.program
    return Flags(
        program=program.name,
        program_hash=content_hash(program),
        hardware=program.hardware.name,
        compiler_options=steering.options,
        aims=aims(program, plan.plan),
    )


def _compile(session: Session, plan: OpenPlan, hindrance: str) -> None:
    is_known = f"{PREFIX}{plan.name}" in session.open.compiler.compiled
    if st.button(
        "Compile again" if is_known else "Compile",
        type="primary",
        icon=":material/developer_board:",
        key="compile",
        disabled=bool(hindrance),
        help="The real XLA TPU compiler on this machine: twelve early stops, then two whole"
        " compiles; minutes.",
    ):
        order = Order(VERIFY, f"{PREFIX}{plan.name}", _SECONDS, basis=plan.identity)
        start(session, order, plan)
        st.rerun()
    if hindrance:
        st.info(f"Nothing can be compiled here: {hindrance}", icon=":material/info:")


def start(session: Session, order: Order, plan: OpenPlan | None = None) -> None:
    """Give the compiler work; what it did before under the same name leaves the list of jobs."""
    opened = session.open
    opened.jobs = [job for job in opened.jobs if job.solver != order.name]
    basis = plan.plan if plan else None
    opened.jobs.append(caching.workshop().order(opened.program, order, session.identity, basis))
