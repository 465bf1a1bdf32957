"""What the value curve of a plan is compared with: the bound, the best known, another plan."""

from __future__ import annotations

import hashlib

from ui import caching
from ui.opening import COMPILED
from ui.session import OpenPlan, Session
from ui.viewmodel.board import Company
from ui.viewmodel.curve import estimates_of, saved_before
from ui.viewmodel.line import Line
from ui.viewmodel.ranking import VALID, Row


def company_of(here: Session, plan: OpenPlan, line: Line) -> Company:
    """The curve's company for a plan of the program in use, or for the variation shown of it.

    A variation is compared with the plan that it leaves, as the game plays that.
    """
    program, rival = here.open.program, rival_of(here, plan)
    moves = caching.moves_of(here.open.identity, program)
    if not line.is_on_plan:
        film = line.film
        simulation = caching.simulation_of(f"{plan.identity}-moves", program, film.plan)
        own = saved_before(moves, film.actions, simulation)
        return Company(_marks(here), plan.name, tuple(own.tolist()))
    saved: tuple[float, ...] = ()
    if rival is not None:
        simulation = caching.simulation_of(rival.identity, program, rival.plan)
        identity = here.open.identity
        actions = caching.actions_of_plan(rival.identity, identity, program, rival.plan)
        saved = tuple(saved_before(moves, actions, simulation).tolist())
    estimates = estimates_of(plan.plan, len(moves))
    return Company(_marks(here), rival.name if rival else "", saved, estimates)


def company_tag(here: Session, plan: OpenPlan) -> str:
    """Changes when the company does; a few characters."""
    rival = rival_of(here, plan)
    text = repr((_marks(here), rival and rival.identity))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def rival_of(here: Session, plan: OpenPlan) -> OpenPlan | None:
    """The compiler's plan, or beside that the best other one."""
    compiled = here.open.plans.get(COMPILED)
    if compiled is not None and compiled.identity != plan.identity:
        return compiled
    others = [
        p for p in here.open.plans.values() if p.identity != plan.identity and _is_valid(here, p)
    ]
    return min(others, key=lambda p: _row(here, p).latency_s, default=None)


def _marks(here: Session) -> tuple[tuple[str, float], ...]:
    all_slow_s = here.open.program.all_slow_s
    marks = []
    if here.open.bound_s is not None:
        marks.append(("bound", all_slow_s - here.open.bound_s))
    known = [_row(here, p).latency_s for p in here.open.plans.values() if _is_valid(here, p)]
    known += [e.best_s for e in caching.sample_index() if e.name == here.program_name and e.best_s]
    if known:
        marks.append(("best known", all_slow_s - min(known)))
    return tuple(marks)


def _is_valid(here: Session, plan: OpenPlan) -> bool:
    return _row(here, plan).verdict == VALID


def _row(here: Session, plan: OpenPlan) -> Row:
    return caching.row_of(plan.identity, here.open.program, plan.plan, plan.name)
