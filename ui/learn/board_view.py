"""A board that is played on: the memory map of the Play page, and a panel of a page's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.game.moves import NUM_ACTIONS
from engine.game.reference.explain import explain
from engine.game.reference.game import ReferenceGame
from engine.lessons.refutation import Refutation
from ui.components.memory_map.board import References
from ui.components.memory_map.component import MEMORY_MAP
from ui.learn.progress_view import save_quietly
from ui.model.learn.explanation import RIGHT, WRONG, ShownLine, line_html
from ui.model.learn.state import Seat
from ui.model.play.ghosts import blockers, ghosts
from ui.session import caching, map_cursor
from ui.session.state import current_session


class Scene(Protocol):
    """A page's own part of a board: panel, commands, and what a decision leads to."""

    key: str
    """The widget key of the map."""
    title: str
    references: References
    is_hidden: bool
    """Whether the map must not show what the actions would do."""
    look: Mapping[str, str]
    """What the map looks like at first, as in links."""
    is_plain: bool
    """Whether shapes and kinds of instructions are left out."""

    @property
    def board(self) -> str:
        """The name under which the visitor's game on it is kept."""

    def panel(self, seat: Seat) -> str:
        """The HTML beside the map."""

    def explained(self, seat: Seat) -> tuple[ReferenceGame, Refutation] | None:
        """What was wrong, if anything was, and the position in which it was."""

    def carry_out(self, seat: Seat, command: Mapping[str, Any]) -> bool:
        """Carry out a command of the page's own; returns whether the whole page must rerun."""

    def decide(self, seat: Seat, action: int) -> bool:
        """Play a legal action at the cursor; returns whether the whole page must rerun."""


def show(scene: Scene, seat: Seat, place: DeltaGenerator, side: DeltaGenerator) -> None:
    """Show the board in `place`, its panel in `side`."""
    panel = side.empty()
    with place:
        draft, _ = seat.on_board.draw(_held(scene, seat))
        plan = draft.whole.plan
        seat.stored = _identity(scene, draft.identity)
        program = seat.on_board.tip.game.program
        packed = caching.packed_board(
            seat.stored, program, plan, plan.program_hash, scene.references
        )
        with st.container(key=f"{scene.key}_hidden_store"):
            MEMORY_MAP.store(packed, key=f"{scene.key}_store")
        _board(scene, seat, panel)


def current_game(seat: Seat) -> ReferenceGame:
    """The position of the last decision at or before the cursor; the end if none is left."""
    return seat.on_board.points[seat.on_board.at(seat.cursor.move)].game


@st.fragment
def _board(scene: Scene, seat: Seat, panel: DeltaGenerator) -> None:
    is_news = _take(scene, seat)
    learning = current_session().learning
    learning.save_game(scene.board)
    if is_news:
        st.rerun()
    save_quietly(learning, "board")
    draft, message = seat.on_board.draw(_held(scene, seat))
    if _identity(scene, draft.identity) != seat.stored:
        st.rerun()
    shown = seat.line
    panel.html(
        scene.panel(seat)
        if shown is None
        else line_html(shown.attempt.points[0].game, shown, seat.cursor.move)
    )
    MEMORY_MAP.show(
        {
            "plan": seat.stored,
            **map_cursor.answer(current_session(), scene.key, seat.cursor),
            "board": seat.board,
            "overlay": _overlay(scene, seat),
            "draft": message,
            "tree": {"name": scene.title, "current": -1, "rows": [], "can": _can(seat)},
            "players": [],
            "link": {},
            "look": dict(scene.look),
            "is_lesson": True,
            "is_plain": scene.is_plain,
        },
        key=scene.key,
    )


def _can(seat: Seat) -> list[str]:
    """Which of undo and redo would change the board; who looks at a line goes back by both."""
    attempt = seat.attempt
    is_line = seat.line is not None
    known = {"undo": attempt.is_begun or is_line, "redo": bool(attempt.undone) or is_line}
    return [name for name, would_do in known.items() if would_do]


def _overlay(scene: Scene, seat: Seat) -> dict[str, Any] | None:
    game = current_game(seat)
    if game.is_over or scene.is_hidden or seat.line is not None:
        return None
    return ghosts(game) if seat.cursor.question is None else blockers(game, seat.cursor.question)


def _identity(scene: Scene, draft: str) -> str:
    return f"{draft}~{scene.references.rival_name}{len(scene.references.marks)}"


def _held(scene: Scene, seat: Seat) -> int:
    return map_cursor.held(scene.key, seat.on_board.draft)


def _take(scene: Scene, seat: Seat) -> bool:
    """Take over what the visitor did on the map; returns whether the whole page must rerun."""
    session = current_session()
    command = map_cursor.take(session, scene.key, seat.cursor, seat.stored, seat.board)
    return command is not None and _dispatch(scene, seat, command)


def _dispatch(scene: Scene, seat: Seat, command: Mapping[str, Any]) -> bool:
    name = str(command.get("do"))
    if name == "line":
        return _show_line(scene, seat, str(command.get("which")))
    if name == "go":
        seat.jump(int(command["to"]))
        return False
    if seat.line is not None:
        # Whoever plays, undoes or goes back leaves the line.
        seat.close_line()
        return False
    if name == "play":
        return _play(scene, seat, int(command["action"]))
    if name in ("undo", "redo"):
        seat.jump(seat.attempt.undo() if name == "undo" else seat.attempt.redo())
        return False
    if name == "ask":
        action = int(command["action"])
        seat.cursor.question = None if seat.cursor.question == action else action
        return False
    return scene.carry_out(seat, command)


def _show_line(scene: Scene, seat: Seat, which: str) -> bool:
    """Show one of the two lines of what the scene explains."""
    explained = scene.explained(seat)
    if explained is not None and which in (WRONG, RIGHT):
        game, refutation = explained
        seat.show_line(ShownLine.of(game, refutation, which))
    return False


def _play(scene: Scene, seat: Seat, action: int) -> bool:
    game = current_game(seat)
    if game.is_over or not 0 <= action < NUM_ACTIONS:
        return False
    if not game.legal()[action]:
        seat.cursor.refusal = explain(game, action).reason
        return False
    return scene.decide(seat, action)
