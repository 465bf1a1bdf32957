"""Links that restore a view: program, plan, line, move, selection; and what the map looked like.

The map itself adds its window, axis and colours when the user copies a link (`share.js`), since
these never leave the browser otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from ui.components.memory_map.plan_actions import telling_move
from ui.model.play.film import Film
from ui.model.play.line import Line
from ui.session import caching
from ui.session.link_query import content_part, game_text, index_of, look_of, move_of
from ui.session.opening import file_of, is_everybodys
from ui.session.state import OpenPlan, Session

_LONGEST = 300
"""Characters of a line that the address bar carries at every step, else its number; copied links
carry any."""
_LONGEST_GAME = 16_000
"""Characters of a game in a copied link: browsers and servers take no address much longer."""


def follow(session: Session, line: Line | None, query: Mapping[str, str]) -> None:
    """Take up line, move, selection and look from the link with which the visitor came.

    Without a `line` the plan itself is all there is to go through as yet. The link's line leaves
    the link's plan; where that cannot be shown, another plan is, and its line is no part of that.
    """
    wanted = query.get("program", "")
    if not wanted or wanted not in (session.program_name, session.linked):
        return
    session.look = look_of(query)
    moves = caching.moves_of(session.open.identity, session.open.program)
    is_of_plan = "line" in query and bool(session.plan_name or not query.get("plan"))
    begin = line.follow(query["line"]) if line and is_of_plan else None
    if line is not None and is_of_plan and begin is None:
        session.notices.append(
            f"The link's line “{query['line'][:30]}” is none of this game; you see the plan itself."
        )
    at, _ = move_of(query, len(moves))
    if at is None:
        at = telling_move(moves) if begin is None else begin
    last = min(line.tip if line else len(moves), len(moves) - 1)
    selected = index_of(query.get("select", ""), len(session.open.program.groups))
    session.cursor.jump(max(0, min(at, last)), selected)


def address(session: Session) -> dict[str, str]:
    """The link parameters of the program in use: its name, and the content of a file it comes from.

    By that the receiver's file is known to be the same.
    """
    parameters = {"program": session.program_name}
    file = file_of(session.open)
    if file:
        parameters["content"] = content_part(file)
    return parameters


def query(session: Session, plan: OpenPlan, line: Line | None) -> dict[str, str]:
    """The link parameters of the current view, for the address bar."""
    parameters = {
        **address(session),
        "plan": plan.name,
        "move": str(session.cursor.move + 1),
    }
    if session.cursor.selected >= 0:
        parameters["select"] = str(session.cursor.selected)
    text = line.text() if line else ""
    if line is not None and text:
        parameters["line"] = text if len(text) <= _LONGEST else line.number()
    return parameters


def for_browser(session: Session, plan: OpenPlan, line: Line | None) -> dict[str, object]:
    """The target of the copy-link button: the plan, and `from`.

    From that move on the link spells out the actions, those of a variation; -1: of none. `game`: a
    plan that others do not have, spelled out. `unfit`: why there can be no link.
    """
    path = line.path if line else None
    target = {**address(session), "plan": plan.name, "from": path.fork if path else -1}
    if is_everybodys(plan):
        return target
    if line is None:
        return {**target, "unfit": "The link follows once the game has played the plan"}
    game = _game_text(plan.identity, line.film)
    if len(game) > _LONGEST_GAME:
        return {**target, "unfit": "This plan is too long for a link: save it with JSON"}
    return {**target, "game": game}


@st.cache_resource(max_entries=64, show_spinner=False)
def _game_text(identity: str, _film: Film) -> str:
    """The game of a film in letters; `identity` names the plan that it follows."""
    return game_text(_film.notes)
