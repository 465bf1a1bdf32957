"""Baselines: everything slow, greedy play, random play, and the plan that XLA compiled."""

from __future__ import annotations

import random
from collections.abc import Callable

from engine.errors import SolverError
from engine.game.moves import Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.plan.io import plan_from_json
from engine.plan.model import Plan
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.provenance import has_compiled_plan
from engine.solvers.clock import Clock
from engine.solvers.registry import Budget


def all_slow(program: Program, budget: Budget) -> Plan:
    """The plan without stays and copies."""
    del budget
    return Plan(content_hash(program), "all_slow", (False,) * len(program.accesses), (), ())


def greedy(program: Program, budget: Budget) -> Plan:
    """One game; ties go to NoCopy, then Copy, then Drop. All slow if it is ended early."""
    game = ReferenceGame(program, Rules())
    while not game.is_over:
        game.step(best_action(game))
        played = len(game.actions)
        if played % ASK_EVERY == 0 and not budget.progress(played / game.num_moves, "plays"):
            return all_slow(program, budget)
    return game.plan("greedy")


ASK_EVERY = 64
"""Moves of a game between two questions whether to go on."""


def play_greedily(program: Program, rules: Rules) -> ReferenceGame:
    """Play every move greedily; returns the finished game."""
    game = ReferenceGame(program, rules)
    while not game.is_over:
        game.step(best_action(game))
    return game


MAX_GAMES = 1000
"""Enough for a baseline; more blind luck teaches nothing."""


def random_play(program: Program, budget: Budget) -> Plan:
    """At most `MAX_GAMES`, until the seconds are over. All slow if the first one is ended early."""
    rng = random.Random(budget.seed)
    clock = Clock(budget)
    best: ReferenceGame | None = None
    games = 0

    def is_in_time() -> bool:
        return clock.is_in_time(f"{games} games")

    while games < MAX_GAMES:
        game = play_randomly(program, rng, is_in_time)
        if not game.is_over:
            break
        games += 1
        if best is None or game.total_reward > best.total_reward:
            best = game
        if not clock.goes_on(f"{games} games"):
            break
    return all_slow(program, budget) if best is None else best.plan("random", {"games": games})


def play_randomly(
    program: Program, rng: random.Random, goes_on: Callable[[], bool] = lambda: True
) -> ReferenceGame:
    """One game of uniformly random legal actions; it is not over if it is ended early."""
    game = ReferenceGame(program)
    while not game.is_over:
        game.step(rng.choice(game.legal_actions()))
        if len(game.actions) % ASK_EVERY == 0 and not goes_on():
            break
    return game


def xla_compiled(program: Program, budget: Budget) -> Plan:
    """The stored plan. Raises SolverError if the program came without one."""
    del budget
    if not has_compiled_plan(program):
        raise SolverError(
            f"{program.name}: no compiler plan came with this program;"
            " capture it, or import it with both --slow and --fast"
        )
    return plan_from_json(program.provenance["xla_plan"], f"{program.name}: provenance.xla_plan")
