"""Letting somebody else go on from a position: at once, or as a job for who needs time.

The agent plays the whole rest of the game in a process of its own, of which as many moves are taken
over as were asked for; what it thought on the way can then be looked at in Search. A solver's plan
is followed as far as the rules allow; where there is none yet, the solver runs first.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import EngineError
from engine.plan.model import Plan
from ui import caching
from ui.jobs import Job, Order
from ui.session import OpenPlan, Session
from ui.viewmodel.line import Line
from ui.viewmodel.players import PlanPlayer, Player, players
from ui.viewmodel.search_state import Thought
from ui.viewmodel.search_weights import FRESH, PRACTISED, shipped
from ui.worker import MUZERO, PLAY, SOLVE

AGENT, PRACTISED_AGENT = "the agent", "the agent, practised"
LIKE = "like "
"""Before the name of a plan or a solver."""
_SOLVER_SECONDS = 10.0
_AGENT_SECONDS = 45.0
"""As far as the bar is concerned; much of it is getting ready, the first time."""


@dataclass
class Errand:
    """A job that is to play on: for whom, on which plan's line, from where, how far.

    `begun`: the actions before it. `number`, `tip`: the variation that was shown, and its end.
    """

    player: str
    job: Job
    plan: str
    begun: tuple[int, ...]
    num_moves: int
    number: int
    tip: int


def names(here: Session, line: Line) -> list[str]:
    """Everybody who can go on, those who answer at once first."""
    opened = here.open
    own = here.plan.name if here.plan else ""
    solvers = caching.solver_names(opened.identity, opened.program)
    known = dict.fromkeys([*opened.plans, *solvers])
    likes = [LIKE + name for name in known if name not in (own, MUZERO, *players(line.film))]
    agents = [AGENT, *([PRACTISED_AGENT] if _practised(here) else [])]
    return [*players(line.film), *agents, *likes]


def go_on(here: Session, line: Line, begin: int, name: str, num_moves: int) -> int | None:
    """Let `name` decide `num_moves` moves from `begin` on; the next move, None if it takes a while.

    An unknown name does nothing.
    """
    if name not in names(here, line):
        return begin
    player = _at_once(here, line, name)
    if player is not None:
        return line.let(begin, player, num_moves)
    begun = line.actions_before(begin)
    job = _order_agent(here, line, begun, name) if name in (AGENT, PRACTISED_AGENT) else None
    if job is None:
        order = Order(SOLVE, name.removeprefix(LIKE), _SOLVER_SECONDS)
        job = caching.workshop().order(here.open.program, order, here.identity)
    if here.open.errand is not None:
        here.open.errand.job.stop()
    plan = here.plan
    assert plan is not None, "a line belongs to a plan"
    here.open.errand = Errand(
        name, job, plan.identity, begun, num_moves, line.tree.current, line.tip
    )
    return None


def take_result(here: Session) -> str:
    """Take over what an errand that is over has played; what went wrong with it, else empty.

    The result is shown if the visitor still looks at the line from which it was asked for; else it
    is only listed among the variations.
    """
    opened, errand = here.open, here.open.errand
    if errand is None or not errand.job.is_over:
        return ""
    opened.errand = None
    line, played = opened.lines.get(errand.plan), errand.job.plan
    if line is None or played is None:
        return errand.job.error
    try:
        actions = _actions(here, line, errand, played)
    except EngineError as error:
        return str(error)
    _show(here, line, errand, actions)
    return ""


def _actions(here: Session, line: Line, errand: Errand, played: Plan) -> tuple[int, ...]:
    """The game from its first move to the last of those that were asked for."""
    opened = here.open
    if errand.job.order.kind == SOLVE:
        opened.add_plan(errand.job.solver, played)
        player = _like(here, opened.plans[errand.job.solver], errand.player)
        return line.continued(errand.begun, player, errand.num_moves)
    opened.searches.add(_thought(errand), is_shown=not opened.searches.thoughts)
    film = caching.film_of(opened.identity_of(played), opened.program, played)
    return film.actions[: len(errand.begun) + errand.num_moves]


def _at_once(here: Session, line: Line, name: str) -> Player | None:
    found = players(line.film).get(name)
    plan = here.open.plans.get(name.removeprefix(LIKE))
    return found or (_like(here, plan, name) if name.startswith(LIKE) and plan else None)


def _like(here: Session, plan: OpenPlan, name: str) -> Player:
    return PlanPlayer(caching.film_of(plan.identity, here.open.program, plan.plan), name)


def _practised(here: Session) -> Thought | None:
    """The last game of which the weights are at hand."""
    thoughts = reversed(here.open.searches.thoughts.values())
    return next((thought for thought in thoughts if thought.weights), None)


def _order_agent(here: Session, line: Line, begun: tuple[int, ...], name: str) -> Job:
    practised = _practised(here) if name == PRACTISED_AGENT else None
    weights = PRACTISED if practised else next(iter(shipped()), FRESH)
    details = (
        ("weights", weights),
        ("place", line.film.game_at(0).rules.place),
        ("begun", "".join(map(str, begun))),
    )
    basis = practised.identity if practised else ""
    order = Order(PLAY, name, _AGENT_SECONDS, basis=basis, details=details)
    given = practised.weights if practised else {}
    return caching.workshop().order(here.open.program, order, here.identity, given=given)


def _thought(errand: Errand) -> Thought:
    plan = errand.job.plan
    assert plan is not None, "a finished game of the agent has a plan"
    name = f"{errand.player} from move {len(errand.begun) + 1:,}"
    return Thought.of_game(name, plan, errand.job.files, errand.job.result)


def _show(here: Session, line: Line, errand: Errand, actions: tuple[int, ...]) -> None:
    is_here = here.plan is not None and here.plan.identity == errand.plan
    is_looking = is_here and (line.tree.current, line.tip) == (errand.number, errand.tip)
    before = line.tree.current
    line.branch(actions, errand.player)
    if is_looking:
        here.question = here.eviction = None
        here.cursor.jump(min(line.tip, line.film.num_moves - 1), here.cursor.selected)
    else:
        line.go(before)
