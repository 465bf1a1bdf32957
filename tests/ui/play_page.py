"""Play without a browser: what the map sends, and what stands on the page."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.ui.apps import open_view, session_of
from ui.model.play.line import Line
from ui.session import films


def _play() -> None:
    from ui.play import page as play

    play.render()


def opened(program: str, **query: str) -> AppTest:
    """Play on a program, as a link opens it."""
    return open_view(_play, program=program, **query)


def panel_text(at: AppTest) -> str:
    return " ".join(element.proto.body for element in at.get("html"))


def tell(at: AppTest, move: int, **command: object) -> None:
    """What the map sends: the move shown, and a command if there is one."""
    here = session_of(at)
    cursor = {
        "plan": here.stored,
        "held": 0,
        "move": move,
        "selected": here.cursor.selected,
        "nonce": here.cursor.nonce,
    }
    if command:
        cursor["command"] = {**command, "move": move, "serial": here.handled.get("map", 0) + 1}
    at.session_state["map"] = {"cursor": cursor}
    at.run()
    assert not at.exception


def line_of(at: AppTest) -> Line:
    here = session_of(at)
    assert here.plan is not None
    return films.line_of(here, here.plan)


def first_refused(line: Line) -> tuple[int, int]:
    """A move of the plan, and an action that is not legal there."""
    return next(
        (m, a)
        for m in range(line.film.num_moves)
        for a, is_legal in enumerate(line.game_at(m).legal())
        if not is_legal
    )


def first_choice(at: AppTest) -> tuple[int, int]:
    """A move with an action that the plan does not play, and that action."""
    line = line_of(at)
    for move in range(line.film.num_moves):
        for action, is_legal in enumerate(line.game_at(move).legal()):
            if is_legal and action != line.action_at(move):
                return move, action
    raise AssertionError("the program leaves no choice")
