"""Compiler: a plan as compiler options to copy, and the button that has them compiled."""

from __future__ import annotations

import json

import streamlit as st

from engine.compiler.steering.export import aims, exports
from engine.compiler.steering.flags_file import Flags
from engine.compiler.toolchain.libtpu import versions
from engine.compiler.toolchain.target import init_args
from engine.errors import PlanError
from ui.components.copyable_view import copyable
from ui.components.markdown import plain
from ui.components.units import count_text
from ui.jobs.protocol import VERIFY, Order
from ui.session import caching
from ui.session.state import OpenPlan, Session

PREFIX = "compiled "
"""The beginning of the name of a plan that came of compiling another one."""


def show(session: Session, hindrance: str) -> None:
    """Show a plan as options, and the button that has them compiled.

    `hindrance`: why nothing can be compiled here, or empty.
    """
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
        st.info(plain(error), icon=":material/info:")
        return
    number = second.selectbox(
        "Order",
        range(len(made)),
        format_func=lambda n: made[n].title,
        key=f"variant_{plan.identity}",
        help="XLA places values one after another, so their order decides what finds room. None is"
        " best on all programs; *Compile* tries them all by an early stop.",
    )
    flags = Flags.of(opened.program, made[number].options, aims(opened.program, plan.plan))
    options_code(flags, plan.identity)
    st.caption(
        f"Aims at {count_text(len(flags.aims), 'tensor')}. Addresses, an early end of a stay and"
        " single slow uses of a tensor cannot be steered."
    )
    _compile(session, plan, hindrance)


def options_code(flags: Flags, key: str) -> None:
    """Show the options for JAX, for the environment and as JSON, each with a copy button."""
    ways = {
        "JAX": flags.jax_lines,
        "Environment": flags.shell_line,
        "JSON": json.dumps(dict(flags.compiler_options), indent=1),
    }
    for tab, (name, text) in zip(st.tabs(list(ways)), ways.items(), strict=True):
        with tab:
            copyable(text, f"Options, {name}", f"options_{name}_{key}")


def _compile(session: Session, plan: OpenPlan, hindrance: str) -> None:
    if st.button(
        "Compile",
        type="primary",
        icon=":material/developer_board:",
        key="compile",
        disabled=bool(hindrance),
        help="The real XLA TPU compiler on this machine: a dozen early stops, then two"
        " whole compiles; minutes. What it has answered before is not asked again.",
    ):
        name = f"{PREFIX}{plan.name}"
        order = Order(VERIFY, name, 0.0, basis=plan.identity, details=compiler())
        start(session, order, plan)
        st.rerun()
    if hindrance:
        st.info(f"Nothing can be compiled here: {plain(hindrance)}", icon=":material/info:")


def compiler() -> tuple[tuple[str, int | str], ...]:
    """What an answer of the compiler hangs on besides the order: its versions, the user's flags."""
    return (("versions", " ".join(versions().values())), ("flags", init_args()))


def start(session: Session, order: Order, plan: OpenPlan | None = None) -> None:
    """Order a compile or a search; it replaces the job of the same name in the list."""
    opened = session.open
    replaced = [job for job in opened.jobs if job.solver == order.name]
    opened.jobs = [job for job in opened.jobs if job.solver != order.name]
    basis = plan.plan if plan else None
    opened.jobs.append(caching.workshop().order(opened.program, order, session.identity, basis))
    for job in replaced:
        opened.let_go(job)
