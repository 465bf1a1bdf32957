"""What searches begin from: games of the heuristics, and a bound. XLA's own plan is never shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.game.moves import PLACE_RULES, Rules
from engine.game.observation.static import Wishes
from engine.game.reference.game import ReferenceGame
from engine.game.replay import follow_plan, replay
from engine.plan.bounds import Bound, lower_bound
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.baselines import play_greedily
from engine.solvers.draft import Draft
from engine.solvers.registry import Budget
from engine.solvers.xla_msa.solver import xla_like

EVERY_PLACE_RULE = tuple(Rules(place=place) for place in PLACE_RULES)
ALL_RULES_FROM_S = 200.0
"""Seconds from which a search plays under every place rule; before, it keeps to one."""
BOUND_SHARE = 0.1
"""Most of a search's time that the linear program behind the bound may take."""


@dataclass(frozen=True)
class Demonstrations:
    """Games under the same rules, best first; `rewards` are shares of `all_slow_s`.

    `wishes`: of the draft whose planned places the rules have.
    """

    rules: Rules
    actions: tuple[tuple[int, ...], ...]
    rewards: tuple[float, ...]
    wishes: Wishes | None = None


def demonstrate(
    program: Program,
    rules: Sequence[Rules] = EVERY_PLACE_RULE,
    goes_on: Callable[[], bool] = lambda: True,
) -> tuple[Demonstrations, ...]:
    """Greedy play, and the re-implemented XLA heuristic replayed as moves.

    Both are played under each of the rules, as long as it `goes_on`, but under one at least; first
    come the rules whose better game is best.
    """
    plan = xla_like(program, Budget())
    games: list[Demonstrations] = []
    for each in rules:
        if games and not goes_on():
            break
        games.append(_under(program, each, plan))
    return tuple(sorted(games, key=lambda d: -d.rewards[0]))


def shown(
    program: Program, seconds: float, goes_on: Callable[[], bool] = lambda: True
) -> tuple[Demonstrations, ...]:
    """The demonstrations under the place rule with the best game; under all if there is time."""
    games = demonstrate(program, goes_on=goes_on)
    return games if seconds >= ALL_RULES_FROM_S else games[:1]


def drafted(program: Program, draft: Draft, rules: Rules | None = None) -> Demonstrations:
    """The game that follows a draft, and a greedy one, in its planned places.

    Under other `rules` than the draft's the same without its wishes.
    """
    is_own = rules is None or rules == draft.rules
    rules = rules or draft.rules
    games = [follow_plan(program, rules, draft.plan), play_greedily(program, rules)]
    return _best_first(rules, games, draft.wishes(program) if is_own else None)


def quick_bound(program: Program, seconds: float) -> Bound:
    """The bound that a search of so many seconds can spare the time for."""
    return lower_bound(program, max(1.0, seconds * BOUND_SHARE))


def _under(program: Program, rules: Rules, plan: Plan) -> Demonstrations:
    return _best_first(rules, [play_greedily(program, rules), replay(program, plan, rules)])


def _best_first(
    rules: Rules, games: list[ReferenceGame], wishes: Wishes | None = None
) -> Demonstrations:
    games = sorted(games, key=lambda game: -game.total_reward)
    return Demonstrations(
        rules=rules,
        actions=tuple(tuple(game.actions) for game in games),
        rewards=tuple(game.total_reward for game in games),
        wishes=wishes,
    )
