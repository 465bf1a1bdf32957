"""Baselines: everything slow, greedy play, random play, and the plan that XLA compiled."""

from __future__ import annotations

import random
import time

from engine.errors import SolverError
from engine.game.moves import Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.plan.io import plan_from_json
from engine.plan.model import Plan
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.provenance import has_compiled_plan
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
    """At least one game, at most `MAX_GAMES`, until the seconds are over."""
    rng = random.Random(budget.seed)
    deadline = time.perf_counter() + budget.seconds
    best: ReferenceGame | None = None
    games = 0
    while games < MAX_GAMES and (best is None or time.perf_counter() < deadline):
        game = play_randomly(program, rng)
        games += 1
        if best is None or game.total_reward > best.total_reward:
            best = game
        if not budget.progress(games / MAX_GAMES, f"{games} games"):
            break
    assert best is not None
    return best.plan("random", {"games": games})


def play_randomly(program: Program, rng: random.Random) -> ReferenceGame:
    """One game of uniformly random legal actions."""
    game = ReferenceGame(program)
    while not game.is_over:
        game.step(rng.choice(game.legal_actions()))
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
