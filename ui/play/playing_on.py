"""Letting another player go on from a position: at once, or in a job if it needs time.

The agent plays the whole rest of the game in a process of its own, of which as many moves are taken
over as were asked for; what it thought on the way can then be looked at in Search. A solver's plan
is followed as far as the rules allow; where there is none yet, the solver runs first, and where it
takes long to find how the game follows it, a job does that.
"""

from __future__ import annotations

import json
from dataclasses import replace

from engine.errors import EngineError
from engine.game.notes import options_of
from ui.jobs.protocol import DONE, FOLLOW, MUZERO, PLAY, SOLVE, Order
from ui.jobs.run import Job
from ui.jobs.weights import FRESH, PRACTISED, shipped
from ui.model.play.line import Line, PlanPlayer, Player, players
from ui.model.search.state import Thought, played_on
from ui.session import caching, films
from ui.session.state import OpenPlan, OpenProgram, PlayRequest, Session

AGENT, PRACTISED_AGENT = "the agent", "the agent, practised"
LIKE = "like "
"""Before the name of a plan or a solver."""
_SOLVER_SECONDS = 10.0
_AGENT_SECONDS = 45.0
"""Expected time, for the job's bar; much of it is getting ready, the first time."""


def names(session: Session, line: Line) -> list[str]:
    """The names of all players who can go on, those who answer at once first."""
    opened = session.open
    own = session.plan.name if session.plan else ""
    solvers = caching.solver_names(opened.identity, opened.program)
    known = dict.fromkeys([*opened.plans, *solvers])
    likes = [LIKE + name for name in known if name not in (own, MUZERO, *players(line.film))]
    agents = [AGENT, *([PRACTISED_AGENT] if _practised(session) else [])]
    return [*players(line.film), *agents, *likes]


def go_on(session: Session, line: Line, begin: int, name: str, num_moves: int) -> int | None:
    """Let `name` decide `num_moves` moves from `begin` on; returns the next move.

    None if a job is started for them. An unknown name does nothing.
    """
    if name not in names(session, line):
        return begin
    player = _at_once(session, line, name)
    if player is not None:
        return line.let(begin, player, num_moves)
    begun, known = line.actions_before(begin), session.open.plans.get(name.removeprefix(LIKE))
    if name in (AGENT, PRACTISED_AGENT):
        job = _order_agent(session, line, begun, name)
    elif known is not None:
        job = films.follow(session, known, again=True)
    else:
        order = Order(SOLVE, name.removeprefix(LIKE), _SOLVER_SECONDS)
        job = caching.workshop().order(session.open.program, order, session.identity)
    before, plan = session.open.play_request, session.plan
    assert plan is not None, "a line belongs to a plan"
    session.open.play_request = PlayRequest(
        name, job, plan.identity, begun, num_moves, line.tree.current, line.tip
    )
    if before is not None:
        session.open.let_go(before.job)
    return None


def take_result(session: Session) -> str:
    """Take over the moves of a finished request; returns its error, or an empty text.

    The moves are shown if the visitor still looks at the line from which they were asked for; else
    they are only listed among the variations.
    """
    opened, request = session.open, session.open.play_request
    if request is None or not request.job.is_over:
        return ""
    session.collect()
    opened.play_request = None
    line, job = opened.lines.get(request.plan), request.job
    liked = _liked(opened, job)
    if line is None or (liked is None and job.plan is None):
        return job.error
    if liked is not None and job.order.kind == SOLVE and not films.is_soon(opened, liked):
        opened.play_request = replace(request, job=films.follow(session, liked, again=True))
        return ""
    try:
        actions = _actions(session, line, request, liked)
    except EngineError as error:
        return str(error)
    _show(session, line, request, actions)
    return ""


def _liked(opened: OpenProgram, job: Job) -> OpenPlan | None:
    """The plan that a solver made, or that a job has followed; None if it did neither."""
    if job.order.kind == SOLVE and job.plan is not None:
        return opened.plans[opened.add_solved(job, job.plan)]
    is_followed = job.order.kind == FOLLOW and job.state == DONE
    plans = opened.plans.values() if is_followed else ()
    return next((plan for plan in plans if plan.identity == job.order.basis), None)


def _actions(
    session: Session, line: Line, request: PlayRequest, liked: OpenPlan | None
) -> tuple[int, ...]:
    """The actions from the game's first move to the last of those that were asked for."""
    opened, played = session.open, request.job.plan
    if liked is not None:
        player = _like(session, liked, request.player)
        return line.continued(request.begun, player, request.num_moves)
    assert played is not None, "the agent has played"
    opened.searches.add(played_on(request.job), is_shown=not opened.searches.thoughts)
    film = films.film_of(opened, played, opened.identity_of(played))
    return film.actions[: len(request.begun) + request.num_moves]


def _at_once(session: Session, line: Line, name: str) -> Player | None:
    """The player of a name, if it needs no job to decide its moves."""
    player = players(line.film).get(name)
    plan = session.open.plans.get(name.removeprefix(LIKE)) if name.startswith(LIKE) else None
    is_soon = plan is not None and films.is_soon(session.open, plan)
    return player or (_like(session, plan, name) if plan is not None and is_soon else None)


def _like(session: Session, plan: OpenPlan, name: str) -> Player:
    return PlanPlayer(films.film_of(session.open, plan.plan, plan.identity), name)


def _practised(session: Session) -> Thought | None:
    """The last game of which the weights are at hand."""
    thoughts = reversed(session.open.searches.thoughts.values())
    return next((thought for thought in thoughts if thought.weights), None)


def _order_agent(session: Session, line: Line, begun: tuple[int, ...], name: str) -> Job:
    practised = _practised(session) if name == PRACTISED_AGENT else None
    weights = PRACTISED if practised else next(iter(shipped()), FRESH)
    rules = line.film.game_at(0).rules
    details = (
        ("weights", weights),
        ("rules", json.dumps(options_of(rules))),
        ("begun", "".join(map(str, begun))),
    )
    basis = practised.identity if practised else ""
    order = Order(PLAY, name, _AGENT_SECONDS, basis=basis, details=details)
    given = practised.weights if practised else {}
    return caching.workshop().order(session.open.program, order, session.identity, given=given)


def _show(session: Session, line: Line, request: PlayRequest, actions: tuple[int, ...]) -> None:
    is_here = session.plan is not None and session.plan.identity == request.plan
    is_looking = is_here and (line.tree.current, line.tip) == (request.number, request.tip)
    before = line.tree.current
    line.branch(actions, request.player)
    if is_looking:
        session.cursor.question = session.eviction = None
        session.cursor.jump(min(line.tip, line.film.num_moves - 1), session.cursor.selected)
    else:
        line.go(before)
