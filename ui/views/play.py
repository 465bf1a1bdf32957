"""Play: step through any plan on the memory map, or take over and play on."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.game.reference import ReferenceGame
from engine.plan.model import Plan
from ui import caching, opening
from ui.components.memory_map import memory_map, store_plan
from ui.session import OpenPlan, Session, session
from ui.viewmodel.film import Film
from ui.viewmodel.ghosts import blockers, ghosts
from ui.viewmodel.line import Line
from ui.viewmodel.ranking import VALID, share_saved
from ui.viewmodel.units import share_text, time_text
from ui.views.parts import program_picker
from ui.views.turn import line_panel, watch_panel

MAP_KEY = "map"
_HEIGHT_PX = 540


@dataclass(frozen=True)
class _Shown:
    """What is on the map: a plan as it is, as moves of the game, or the line being played."""

    identity: str
    plan: Plan
    film: Film
    has_ghosts: bool


def render() -> None:
    """The page."""
    here = session()
    opening.ensure_open(here)
    plan = _header(here)
    if plan is not None:
        shown = _shown(here, plan)
        program, identity = here.open.program, here.open.identity
        store_plan(caching.packed_board(shown.identity, program, shown.plan, identity), key="store")
        here.stored = shown.identity
        _board()


def _shown(here: Session, plan: OpenPlan) -> _Shown:
    film = caching.film_of(plan.identity, here.open.program, plan.plan)
    if here.line is not None:
        return _Shown(here.line.identity, here.line.base, film, True)
    if here.is_as_moves:
        return _Shown(f"{plan.identity}-moves", film.plan, film, True)
    return _Shown(plan.identity, plan.plan, film, film.is_exact)


def _header(here: Session) -> OpenPlan | None:
    """Pickers and the plan's figures; None while the program has no plan."""
    first, second, *figures = st.columns([2.3, 1.7, 1.15, 1.15, 1, 1], vertical_alignment="bottom")
    with first:
        program_picker(here)
    if not here.open.plans:
        opening.first_plan(here)
    plan = here.plan
    if plan is None:
        return None
    names = list(here.open.plans)
    chosen = second.selectbox("Plan", names, index=names.index(plan.name))
    if chosen != plan.name:
        here.show_plan(chosen)
        st.rerun()
    _figures(here, plan, figures)
    return plan


def _figures(here: Session, plan: OpenPlan, places: list[DeltaGenerator]) -> None:
    program, bound_s = here.open.program, here.open.bound_s
    row = caching.row_of(plan.identity, program, plan.plan, plan.name)
    share = share_text(share_saved(program, row.latency_s, bound_s))
    of = "the lower bound" if bound_s is not None else "all fast"
    texts = [
        ("Runtime", time_text(row.latency_s), "Simulated time of one run under this plan"),
        ("Saved", share, f"Part of the saving that is possible between all slow and {of}"),
        ("Stalls", time_text(row.stall_s), "Time in which compute waits for a copy"),
        (
            "Checker",
            "✓ valid" if row.verdict == VALID else f"✗ {row.verdict}",
            "The referee's word",
        ),
    ]
    for place, (label, value, explanation) in zip(places, texts, strict=True):
        place.metric(label, value, help=explanation)


@st.fragment
def _board() -> None:
    """The map and what is said about the current move; steps rerun only this."""
    here = session()
    plan = here.plan
    if plan is None:
        return
    shown = _shown(here, plan)
    if shown.identity != here.stored:
        # The browser needs another plan, which only a run of the whole page sends.
        st.rerun()
    _take_cursor(here, shown)
    left, right = st.columns([2.75, 1], gap="medium")
    with right, st.container(key="panel", gap="small"):
        if here.line is not None:
            line_panel(here, here.line, shown.film)
            game = here.line.game
        else:
            game = shown.film.game_at(here.cursor.move)
            watch_panel(here, shown.plan, shown.film, game)
    with left:
        memory_map(_map_data(here, shown, game), key=MAP_KEY)
    st.query_params.from_dict(
        {"program": here.program_name, "plan": plan.name, "move": str(here.cursor.move + 1)}
    )


def _take_cursor(here: Session, shown: _Shown) -> None:
    """What the user did on the map, unless the script has moved the cursor since."""
    told = st.session_state.get(MAP_KEY, {}).get("cursor")
    if told and told["nonce"] == here.cursor.nonce and told["plan"] == shown.identity:
        if told["move"] != here.cursor.move:
            here.question = None
        here.cursor.move, here.cursor.selected = int(told["move"]), int(told["selected"])


def _map_data(here: Session, shown: _Shown, game: ReferenceGame) -> dict[str, object]:
    overlay = None
    if here.question is not None:
        overlay = blockers(game, here.question)
    elif shown.has_ghosts:
        overlay = ghosts(game)
    line: Line | None = here.line
    return {
        "plan": shown.identity,
        "move": here.cursor.move,
        "selected": here.cursor.selected,
        "nonce": here.cursor.nonce,
        "overlay": overlay,
        "draft": line.draft() if line else None,
        "height": _HEIGHT_PX,
    }
