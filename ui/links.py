"""Links that restore a view: program, plan, line, move, selection; and what the map looked like.

The map itself adds its window, axis and colours when the user copies a link (`link.js`), since
these never leave the browser otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from ui import caching
from ui.opening import COMPILED
from ui.session import OpenPlan, Session
from ui.viewmodel.line import Line
from ui.viewmodel.turns import telling_move

LOOK = ("window", "axis", "colour", "curve")
"""Parameters that only the map reads."""
_LONGEST = 300
"""Characters of a line that the address bar carries at every step; copied links carry any."""


def line_of(here: Session, plan: OpenPlan) -> Line:
    """What the visitor has played on a plan; begun at the first call."""
    lines = here.open.lines
    if plan.identity not in lines:
        lines[plan.identity] = Line(caching.film_of(plan.identity, here.open.program, plan.plan))
    return lines[plan.identity]


def follow(here: Session, line: Line, query: Mapping[str, str]) -> None:
    """Take up line, move, selection and look from the link with which the visitor came."""
    if query.get("program") != here.program_name:
        return
    here.look = {name: query[name] for name in LOOK if name in query}
    begin = line.follow(query["line"]) if "line" in query else None
    move, select = query.get("move", ""), query.get("select", "")
    if move.isdecimal():
        at = int(move) - 1
    else:
        moves = caching.moves_of(here.open.identity, here.open.program)
        at = telling_move(moves) if begin is None else begin
    num_groups = len(here.open.program.groups)
    is_known = select.isdecimal() and int(select) < num_groups
    last = min(line.tip, line.film.num_moves - 1)
    here.cursor.jump(max(0, min(at, last)), int(select) if is_known else -1)


def query(here: Session, plan: OpenPlan, line: Line) -> dict[str, str]:
    """What the address bar says."""
    found = {"program": here.program_name, "plan": plan.name, "move": str(here.cursor.move + 1)}
    if here.cursor.selected >= 0:
        found["select"] = str(here.cursor.selected)
    text = line.text()
    if text and len(text) <= _LONGEST:
        found["line"] = text
    return found


def for_browser(here: Session, plan: OpenPlan, line: Line) -> dict[str, object]:
    """For the copy-link button: a plan that every visitor has, and the move from which on the link
    spells out the actions (-1: none, it is that plan).
    """
    lasting = COMPILED if COMPILED in here.open.plans else next(iter(here.open.plans))
    path = line.path
    if plan.name != lasting:
        begin = 0
    else:
        begin = path.fork if path else -1
    return {"program": here.program_name, "plan": lasting, "from": begin}
