"""The references of a plan's value curve: the bound, the best known latency, another plan."""

from __future__ import annotations

import hashlib
from operator import itemgetter

from ui.components.memory_map.board import References, estimates_of, saved_before
from ui.components.units import NOTHING_S
from ui.model.compare.ranking import VALID, Row
from ui.model.play.line import Line
from ui.session import caching
from ui.session.opening import COMPILED, title_of
from ui.session.reading_view import unmeasured
from ui.session.state import OpenPlan, Session

_BEST = "best known"
"""The name of the mark at the best latency known."""


def references_of(session: Session, plan: OpenPlan, line: Line | None) -> References:
    """The curve's references for a plan of the program in use, or for the variation shown of it.

    A variation is compared with the plan that it leaves, as the game plays that.
    """
    program, rival = session.open.program, rival_of(session, plan)
    moves = caching.moves_of(session.open.identity, program)
    if line is not None and not line.is_on_plan:
        film = line.film
        simulation = caching.simulation_of(f"{plan.identity}-moves", program, film.plan)
        own = saved_before(program, moves, film.actions, simulation)
        return References(_marks(session), plan.name, tuple(own.tolist()))
    saved: tuple[float, ...] = ()
    if rival is not None:
        simulation = caching.simulation_of(rival.identity, program, rival.plan)
        identity = session.open.identity
        actions = caching.actions_of_plan(rival.identity, identity, program, rival.plan)
        saved = tuple(saved_before(program, moves, actions, simulation).tolist())
    estimates = estimates_of(plan.plan, len(moves))
    marks = _marks(session)
    if saved:
        # Where the rival is the best plan known, its curve says so: no second line at its end.
        marks = tuple(m for m in marks if m[0] != _BEST or m[1] > saved[-1] + NOTHING_S)
    return References(marks, title_of(rival) if rival else "", saved, estimates)


def references_tag(session: Session, plan: OpenPlan) -> str:
    """A short hash that changes when the plan's references does."""
    rival = rival_of(session, plan)
    text = repr((_marks(session), rival and rival.identity))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def rival_of(session: Session, plan: OpenPlan) -> OpenPlan | None:
    """The plan to compare with: the compiler's, else the best other one; None if there is none.

    The compiler's plan is no rival where it was read in part only: a lead over it means nothing.
    """
    lost = unmeasured(session.open.program)
    compiled = session.open.plans.get(COMPILED)
    if compiled is not None and compiled.identity != plan.identity and not lost:
        return compiled
    plans = session.open.plans.values()
    others = [p for p in plans if p.identity != plan.identity and p.name != lost]
    rows = [(_row(session, p), p) for p in others]
    valid = [(row.latency_s, p) for row, p in rows if row.verdict == VALID]
    return min(valid, key=itemgetter(0), default=(0.0, None))[1]


def _marks(session: Session) -> tuple[tuple[str, float], ...]:
    all_slow_s = session.open.program.all_slow_s
    marks = []
    if session.open.bound_s is not None:
        marks.append(("bound", all_slow_s - session.open.bound_s))
    rows = [_row(session, plan) for plan in session.open.plans.values()]
    known = [row.latency_s for row in rows if row.verdict == VALID]
    known += [
        e.best_s for e in caching.sample_index() if e.name == session.program_name and e.best_s
    ]
    if known:
        marks.append((_BEST, all_slow_s - min(known)))
    return tuple(marks)


def _row(session: Session, plan: OpenPlan) -> Row:
    return caching.row_of(plan.identity, session.open.program, plan.plan, plan.name)
