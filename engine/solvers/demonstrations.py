"""What searches begin from: games of the heuristics, and a bound. XLA's own plan is never shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.game.moves import SIMPLE_RULES, Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import replay
from engine.plan.bounds import Bound, lower_bound
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.baselines import play_greedily
from engine.solvers.registry import Budget
from engine.solvers.xla_msa.solver import xla_like

ALL_RULES_FROM_S = 200.0
"""Seconds from which a search plays under every place rule; before, it keeps to one."""
BOUND_SHARE = 0.1
"""Most of a search's time that the linear program behind the bound may take."""


@dataclass(frozen=True)
class Demonstrations:
    """Games of one place rule, best first; `rewards` are shares of `all_slow_s`."""

    rules: Rules
    actions: tuple[tuple[int, ...], ...]
    rewards: tuple[float, ...]


def demonstrate(
    program: Program,
    places: Sequence[str] = SIMPLE_RULES,
    goes_on: Callable[[], bool] = lambda: True,
) -> tuple[Demonstrations, ...]:
    """Greedy play, and the re-implemented XLA heuristic replayed as moves.

    Both are played under each of the place rules, as long as it `goes_on`, but under one at least;
    first comes the rule whose better game is best.
    """
    plan = xla_like(program, Budget())
    games: list[Demonstrations] = []
    for place in places:
        if games and not goes_on():
            break
        games.append(_under(program, Rules(place=place), plan))
    return tuple(sorted(games, key=lambda d: -d.rewards[0]))


def shown(
    program: Program, seconds: float, goes_on: Callable[[], bool] = lambda: True
) -> tuple[Demonstrations, ...]:
    """The demonstrations under the place rule with the best game; under all if there is time."""
    games = demonstrate(program, goes_on=goes_on)
    return games if seconds >= ALL_RULES_FROM_S else games[:1]


def quick_bound(program: Program, seconds: float) -> Bound:
    """The bound that a search of so many seconds can spare the time for."""
    return lower_bound(program, max(1.0, seconds * BOUND_SHARE))


def _under(program: Program, rules: Rules, plan: Plan) -> Demonstrations:
    games: list[ReferenceGame] = [play_greedily(program, rules), replay(program, plan, rules)]
    games.sort(key=lambda game: -game.total_reward)
    return Demonstrations(
        rules=rules,
        actions=tuple(tuple(game.actions) for game in games),
        rewards=tuple(game.total_reward for game in games),
    )
