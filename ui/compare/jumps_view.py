"""From a row of any table to the move in Play."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ui.components.markdown import plain
from ui.components.names import instruction_name
from ui.model.compare.differences import move_at
from ui.session import caching
from ui.session.state import Session


def jump_buttons(session: Session, plans: Sequence[str], time: int, group: int, key: str) -> None:
    """One button per plan, which opens it in Play at the move of `group` in slot `time`.

    `group` -1: the first move of the slot.
    """
    where = plain(instruction_name(session.open.program, time))
    places = st.columns(len(plans))
    for number, (place, name) in enumerate(zip(places, plans, strict=True)):
        if place.button(
            f"Play “{plain(name)}” at {where}",
            key=f"{key}_{number}",
            icon=":material/memory:",
            width="stretch",
            help=f"Open the plan “{plain(name)}” on the map at slot {time:,}",
        ):
            go_to(session, name, time, group)


def go_to(session: Session, plan: str, time: int, group: int) -> None:
    """Switch to Play, on a plan, at a slot, with a tensor selected."""
    opened = session.open
    moves = caching.moves_of(opened.identity, opened.program)
    session.show_plan(plan)
    session.cursor.jump(move_at(moves, time, group), group)
    st.switch_page(session.pages["play"])
