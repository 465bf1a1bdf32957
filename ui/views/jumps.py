"""From a row of any table to the move in Play."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ui import caching
from ui.session import Session
from ui.viewmodel.differences import instruction_name, move_at


def jump_buttons(here: Session, plans: Sequence[str], time: int, group: int, key: str) -> None:
    """One button per plan, which opens it in Play at the move of `group` in slot `time`.

    `group` -1: the first move of the slot.
    """
    where = instruction_name(here.open.program, time)
    places = st.columns(len(plans))
    for number, (place, name) in enumerate(zip(places, plans, strict=True)):
        if place.button(
            f"Play “{name}” at {where}",
            key=f"{key}_{number}",
            icon=":material/memory:",
            width="stretch",
            help=f"Open the plan “{name}” on the map at slot {time:,}",
        ):
            go_to(here, name, time, group)


def go_to(here: Session, plan: str, time: int, group: int) -> None:
    """Switch to Play, on a plan, at a slot, with a tensor selected."""
    opened = here.open
    moves = caching.moves_of(opened.identity, opened.program)
    here.show_plan(plan)
    here.cursor.jump(move_at(moves, time, group), group)
    st.switch_page(here.pages["play"])
