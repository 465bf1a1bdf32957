"""Links that restore a view: program, plan, line, move, selection; and what the map looked like.

The map itself adds its window, axis and colours when the user copies a link (`share.js`), since
these never leave the browser otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from ui.components.memory_map.actions import telling_move
from ui.model.play.line import Line
from ui.session import caching
from ui.session.link_query import index_of, move_of
from ui.session.opening import COMPILED
from ui.session.state import OpenPlan, Session

LOOK = ("window", "axis", "colour", "curve")
"""Parameters that only the map reads."""
_LONGEST = 300
"""Characters of a line that the address bar carries at every step; copied links carry any."""


def line_of(session: Session, plan: OpenPlan) -> Line:
    """The visitor's play on a plan; begun at the first call."""
    lines = session.open.lines
    if plan.identity not in lines:
        lines[plan.identity] = Line(caching.film_of(plan.identity, session.open.program, plan.plan))
    return lines[plan.identity]


def follow(session: Session, line: Line, query: Mapping[str, str]) -> None:
    """Take up line, move, selection and look from the link with which the visitor came."""
    if query.get("program") != session.program_name:
        return
    session.look = {name: query[name] for name in LOOK if name in query}
    begin = line.follow(query["line"]) if "line" in query else None
    at, _ = move_of(query, line.film.num_moves)
    if at is None:
        moves = caching.moves_of(session.open.identity, session.open.program)
        at = telling_move(moves) if begin is None else begin
    last = min(line.tip, line.film.num_moves - 1)
    selected = index_of(query.get("select", ""), len(session.open.program.groups))
    session.cursor.jump(max(0, min(at, last)), selected)


def query(session: Session, plan: OpenPlan, line: Line) -> dict[str, str]:
    """The link parameters of the current view, for the address bar."""
    parameters = {
        "program": session.program_name,
        "plan": plan.name,
        "move": str(session.cursor.move + 1),
    }
    if session.cursor.selected >= 0:
        parameters["select"] = str(session.cursor.selected)
    text = line.text()
    if text and len(text) <= _LONGEST:
        parameters["line"] = text
    return parameters


def for_browser(session: Session, plan: OpenPlan, line: Line) -> dict[str, object]:
    """The target of the copy-link button: a plan that every visitor has, and `from`.

    From that move on the link spells out the actions; -1: it spells out none, it is that plan.
    """
    lasting = COMPILED if COMPILED in session.open.plans else next(iter(session.open.plans))
    path = line.path
    if plan.name != lasting:
        begin = 0
    else:
        begin = path.fork if path else -1
    return {"program": session.program_name, "plan": lasting, "from": begin}
